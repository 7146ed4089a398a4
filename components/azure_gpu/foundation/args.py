"""The arguments of a foundation, with their defaults."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NotRequired, TypedDict

from azure_gpu.formats import azure_types
from azure_gpu.shared.context import StackArgs
from azure_gpu.shared.overrides import Overrides, OverridesOf
from azure_gpu.shared.part import NamedPartArgs
from azure_gpu.shared.principals import PrincipalsArgs
from azure_gpu.shared.program import OwnerArgs
from azure_gpu.shared.validation import OpenInput
from azure_gpu.shared.workloads import WorkloadName


class ResourceGroupArgs(NamedPartArgs):
    """The resource group. `create` alone stands for all defaults."""

    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.RESOURCE_GROUP)]]
    """azure-native properties of the resource group, set last and judged only by Azure; null removes one. Default: none."""


class IdentityArgs(NamedPartArgs):
    """The identity. `create` alone stands for all defaults."""

    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.USER_ASSIGNED_IDENTITY)]]
    """azure-native properties of the identity, set last and judged only by Azure; null removes one. Default: none."""


class FoundationRegistryArgs(NamedPartArgs):
    """The registry. `create` alone stands for all defaults."""

    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.REGISTRY)]]
    """azure-native properties of the registry, set last and judged only by Azure; null removes one. Default: none."""


class LogWorkspaceArgs(NamedPartArgs):
    """The log workspace. `create` alone stands for all defaults."""

    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.LOG_WORKSPACE)]]
    """azure-native properties of the log workspace, set last and judged only by Azure; null removes one. Default: none."""


class StorageAccountArgs(NamedPartArgs):
    """The storage account. `create` alone stands for all defaults."""

    data_access: NotRequired[PrincipalsArgs]
    """Who gets the role Storage Blob Data Contributor on it, which owners of a subscription don't have by that: whoever runs
    scripts on its services, fetches their files or pushes packages. Default: nobody but the stack's identity."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.STORAGE_ACCOUNT)]]
    """azure-native properties of the storage account, set last and judged only by Azure; null removes one. Default: none."""


class FoundationSettings(TypedDict):
    """The parts of a foundation, as a stack file says them."""

    resource_group: NotRequired[ResourceGroupArgs | Literal["create"]]
    """The group that everything of the stack goes into. Default: create."""
    identity: NotRequired[IdentityArgs | Literal["create"]]
    """The user-assigned identity that containers run as and pull images as. Default: none."""
    serving_identity: NotRequired[IdentityArgs | Literal["create"]]
    """A second user-assigned identity, for what answers requests. Endpoints of Azure Machine Learning, unless they have an
    identity of their own, and services on clusters that fetch a model speak as it in place of `identity`. It gets the role to
    pull from the registry and Storage Blob Data Reader on the storage account, so that it reads every blob there and writes
    none, unless `assign_roles` is false. Services need a created one. An endpoint that exists is replaced when its identity
    changes, which `operations up` refuses without `--replace`. Default: none; these speak as `identity`."""
    registry: NotRequired[FoundationRegistryArgs | Literal["create"]]
    """The container registry; a created one builds the workloads, an existing one doesn't. Needs `identity`, which gets the role
    AcrPull on either while the stack is there, or Container Registry Repository Reader where an existing registry honours only
    that, unless it has it already or `assign_roles` is false. Default: none."""
    log_workspace: NotRequired[LogWorkspaceArgs | Literal["create"]]
    """The Log Analytics workspace that containers send their logs to. Default: none."""
    storage: NotRequired[StorageAccountArgs | Literal["create"]]
    """The storage account for data and models. Where the stack has a Batch account, jobs, an Azure Machine Learning workspace,
    virtual machines or a cluster whose pods speak as the identity, the identity gets the role Storage Blob Data Contributor on
    it, unless `assign_roles` is false. Default: none."""


class _Workloads(TypedDict):
    """What is built, and who may do what."""

    workloads: NotRequired[Sequence[WorkloadName]]
    """Plain: the workloads whose images the registry builds. Default: none."""
    image_source: NotRequired[str]
    """Plain: where the sources of `workloads` are: `https://…/repository.git#<commit>`. Default: nowhere."""
    assign_roles: NotRequired[bool]
    """Plain: false leaves the role assignments to an administrator and prints the commands. Default: true."""


class FoundationArgs(FoundationSettings, _Workloads, OwnerArgs):
    """The parts of a foundation, which all components share that are given it."""

    location: NotRequired[OpenInput[str]]
    """Azure region of what it creates, such as westeurope. Needed where it creates the resource group; else that group's."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Tags on everything that takes tags, also of the components that are given this foundation. Default: none."""
    protect_data: NotRequired[bool]
    """Plain: false protects neither storage account nor key vault and workspace from deletion and replacement, and keeps no
    deleted blobs for 7 days. Default: true."""
    write_blobs: NotRequired[bool]
    """Plain: false doesn't give the identity the role Storage Blob Data Contributor on the storage account, which Batch, Azure
    Machine Learning, virtual machines and runs with files need. What the identity that serves gets is to read, either way.
    Default: true."""


class FoundationWiring(FoundationSettings, _Workloads):
    """The parts of a foundation, with whom it belongs to."""

    stack: StackArgs
    """What all components of the stack share."""
    write_blobs: NotRequired[bool]
    """Plain: true gives the identity the role Storage Blob Data Contributor on the storage account. Default: false."""
