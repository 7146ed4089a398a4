"""The arguments of a foundation, with their defaults."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NotRequired, TypedDict

from azure_gpu.formats import azure_types
from azure_gpu.shared.context import StackArgs, WorkloadChoice
from azure_gpu.shared.overrides import Overrides, OverridesOf
from azure_gpu.shared.part import NamedPartArgs
from azure_gpu.shared.principals import PrincipalsArgs
from azure_gpu.shared.private_link_scope import PrivateLinkScopeArgs
from azure_gpu.shared.private_network import PrivateNetworkArgs
from azure_gpu.shared.program import OwnerArgs
from azure_gpu.shared.validation import Choice, OpenInput


class ResourceGroupArgs(NamedPartArgs):
    """The resource group. `create` is short for all defaults."""

    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.RESOURCE_GROUP)]]
    """azure-native properties of the resource group, set last and validated only by Azure; null removes one. Default: none."""


class IdentityArgs(NamedPartArgs):
    """The identity. `create` is short for all defaults."""

    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.USER_ASSIGNED_IDENTITY)]]
    """azure-native properties of the identity, set last and validated only by Azure; null removes one. Default: none."""


class FoundationRegistryArgs(NamedPartArgs):
    """The registry. `create` is short for all defaults."""

    purge: NotRequired[bool]
    """Plain: whether old builds are deleted from it once a week: images of workloads and of scripts that are older than 60 days,
    but those that the stack uses and the three newest others of each repository, and what their tags have left behind. Pull them
    by their tags, not by digests. Default: true where it builds workloads, as that requires a subscription that may run tasks in
    registries; else false."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.REGISTRY)]]
    """azure-native properties of the registry, set last and validated only by Azure; null removes one. Default: none."""


Diagnostics = Annotated[Literal["own", "policy"], Choice("Diagnostics", "Who creates diagnostic settings.")]


class LogWorkspaceArgs(NamedPartArgs):
    """The log workspace. `create` is short for all defaults."""

    diagnostics: NotRequired[Diagnostics]
    """Plain: who creates the diagnostic settings, which send logs of the stack's resources to it. own: the stack; policy: a
    policy of the company, so that the stack creates none. Azure refuses two settings of a resource that send one category to the
    same workspace. Default: own."""
    private_link_scope: NotRequired[PrivateLinkScopeArgs | Literal["create"]]
    """How the private network reaches the workspace and Application Insights, which are closed to all others then: `create`, a
    scope with a private endpoint, or `existing: <id>`, such as that of a hub, which has one. Requires `network`. Names of Azure
    Monitor lead to the scope in every network that asks the same zones, for workspaces of others, too; a network has one scope.
    Default: none; they have public addresses, which require a login."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.LOG_WORKSPACE)]]
    """azure-native properties of the log workspace, set last and validated only by Azure; null removes one. Default: none."""


class StorageAccountArgs(NamedPartArgs):
    """The storage account. `create` is short for all defaults."""

    data_access: NotRequired[PrincipalsArgs]
    """Principals that get the role Storage Blob Data Contributor on it, which owners of a subscription don't have automatically;
    it is required to run scripts on the stack's services, fetch their files or push packages. Default: only the stack's
    identity."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.STORAGE_ACCOUNT)]]
    """azure-native properties of the storage account, set last and validated only by Azure; null removes one. Default: none."""


class FoundationSettings(TypedDict):
    """Settings of a foundation's parts."""

    resource_group: NotRequired[ResourceGroupArgs | Literal["create"]]
    """The group for all resources of the stack. Default: create."""
    identity: NotRequired[IdentityArgs | Literal["create"]]
    """The user-assigned identity that containers run as and pull images as. Default: none."""
    serving_identity: NotRequired[IdentityArgs | Literal["create"]]
    """A second user-assigned identity, for serving. Endpoints of Azure Machine Learning without a separate identity, and services
    on clusters that fetch a model, run as it in place of `identity`. Unless `assign_roles` is false, it gets the role to pull
    from the registry and Storage Blob Data Reader on the storage account: read access to every blob, but no write access.
    Services require a created one. An existing endpoint is replaced when its identity changes, which `operations up` rejects
    without `--replace`. Default: none; these run as `identity`."""
    registry: NotRequired[FoundationRegistryArgs | Literal["create"]]
    """The container registry; only a created one builds workloads. Requires `identity`, which gets the role AcrPull on it while
    the stack exists, or Container Registry Repository Reader where an existing registry supports only that, unless it has it
    already or `assign_roles` is false. Default: none."""
    log_workspace: NotRequired[LogWorkspaceArgs | Literal["create"]]
    """The Log Analytics workspace that containers send their logs to. Default: none."""
    network: NotRequired[PrivateNetworkArgs | Literal["private"]]
    """`private`: the stack creates a network, and everything that it creates is reachable only from there: registry, storage
    account, vault and Batch account by private endpoints, environments, clusters and machines in its subnets. Such a registry is
    Premium, and doesn't build workloads. A key that a component sets itself takes precedence. NAT gateway, endpoints and registry
    are billed by the hour. Default: none; the services have public addresses, which require a login."""
    customer_managed_key: NotRequired[str]
    """Plain: ARM id of a key in a vault of yours, without a version, such as
    /subscriptions/<id>/resourceGroups/<name>/providers/Microsoft.KeyVault/vaults/<name>/keys/<name>. It encrypts, in place of
    keys of Azure, what the stack creates: storage account, registry, which is Premium then, Batch account, workspace of Azure
    Machine Learning, and disks of clusters. Requires `identity`, which gets the role Key Vault Crypto Service Encryption User on
    the key, unless `assign_roles` is false. Its vault requires purge protection. Registries, Batch accounts, workspaces and
    clusters get a key only when they are created: those that exist would be replaced. Default: none."""
    storage: NotRequired[StorageAccountArgs | Literal["create"]]
    """The storage account for data and models. If the stack has a Batch account, jobs, an Azure Machine Learning workspace,
    virtual machines or a cluster whose pods run as the identity, the identity gets the role Storage Blob Data Contributor on it,
    unless `assign_roles` is false. Default: none."""


class _Workloads(TypedDict):
    """Workloads to build, and role assignments."""

    workloads: NotRequired[Sequence[WorkloadChoice]]
    """Plain: the workloads whose images the registry builds. Default: none."""
    image_source: NotRequired[str]
    """Plain: the sources of `workloads`: `https://…/repository.git#<commit>`, or `upload`, which uploads them from the
    checkout or package that the program runs from. Default: none."""
    assign_roles: NotRequired[bool]
    """Plain: false leaves the role assignments to an administrator and prints the commands. Default: true."""


class FoundationArgs(FoundationSettings, _Workloads, OwnerArgs):
    """Arguments of Foundation, whose parts are shared by the components that get it."""

    location: NotRequired[OpenInput[str]]
    """Azure region of its resources, such as westeurope. Required where it creates the resource group; else that group's."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Tags on everything that takes tags, also of the components that get this foundation. Default: none."""
    protect_data: NotRequired[bool]
    """Plain: whether its storage account, registry and log workspace are protected from deletion and replacement, and so what
    holds data of the components that get this foundation, and deleted blobs are kept for 7 days. Default: true."""
    lock_data: NotRequired[bool]
    """Plain: whether its storage account, registry and log workspace, and the vault of a workspace that gets this foundation,
    have a lock in Azure that keeps everybody from deleting them. Roles on these can't be taken away either, until it is false.
    Requires Owner or User Access Administrator. Default: false."""
    write_blobs: NotRequired[bool]
    """Plain: whether the identity gets the role Storage Blob Data Contributor on the storage account, which Batch, Azure Machine
    Learning, virtual machines and runs with files require. The serving identity gets read access in both cases. Default: true."""
    share_files: NotRequired[bool]
    """Plain: whether principals of `storage.data_access` also get the role Storage File Data Privileged Contributor, which people
    need for notebooks and computes of Azure Machine Learning. Default: false."""


class FoundationWiring(FoundationSettings, _Workloads):
    """Arguments of Foundation, including the stack's."""

    stack: StackArgs
    """What all components of the stack share."""
    write_blobs: NotRequired[bool]
    """Plain: true gives the identity the role Storage Blob Data Contributor on the storage account. Default: false."""
    share_files: NotRequired[bool]
    """Plain: true gives those of `storage.data_access` the role Storage File Data Privileged Contributor, too. Default: false."""
