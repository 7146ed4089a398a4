"""`StackFile`: the schema of a stack file, `Pulumi.<stack>.yaml`.

The keys below its sections are in the settings of the components; `opts`, `enabled` and `keep` exist only in a stack file. How
the parts of a section are planned and declared is in `kinds`.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NotRequired, TypedDict

from azure_gpu.aks.args import GpuClusterSettings, GpuPoolArgs
from azure_gpu.batch.account.args import BatchAccountSettings
from azure_gpu.batch.pool.args import BatchPoolSettings
from azure_gpu.budget.args import BudgetSettings
from azure_gpu.container_apps.environment.args import GpuModel
from azure_gpu.container_apps.job.args import ServerlessGpuJobSettings
from azure_gpu.container_instances.args import ContainerGroupSettings
from azure_gpu.edge.args import EdgeSharingSettings
from azure_gpu.formats import azure_types
from azure_gpu.foundation.args import FoundationSettings
from azure_gpu.images.args import GalleryImageSettings
from azure_gpu.ml.endpoint.args import MlDeploymentArgs, MlEndpointSettings
from azure_gpu.ml.workspace.args import ComputeArgs, EnvironmentArgs, MlWorkspaceSettings
from azure_gpu.shared.overrides import Overrides, OverridesOf
from azure_gpu.shared.part import PartArgs
from azure_gpu.shared.validation import Choice, OpenInput
from azure_gpu.vm.args import GpuVmSettings

Unchecked = Annotated[Literal["region"], Choice("StackUnchecked", "What lists say of it refuses nothing.")]


class TimeoutsArgs(TypedDict):
    """Timeouts of the engine for each resource in Azure, such as 90m or 1h30m."""

    create: NotRequired[str]
    """For its creation. Default: the provider's."""
    update: NotRequired[str]
    """For its update. Default: the provider's."""
    delete: NotRequired[str]
    """For its deletion. Default: the provider's."""


class EntryOptions(TypedDict):
    """Options of the engine for all resources of an entry in Azure."""

    protect: NotRequired[bool]
    """True keeps the engine from deleting or replacing it, until it is false or `pulumi state unprotect` was run. Default: false,
    and `protect_data` for resources that hold data."""
    ignore_changes: NotRequired[Sequence[str]]
    """Properties by azure-native's names whose differences an update ignores, such as `scaleSettings.fixedScale`; they are set
    only when the resource is created. Default: none."""
    custom_timeouts: NotRequired[TimeoutsArgs]
    """Timeouts of the engine. Default: the provider's."""


class Entry(TypedDict):
    """Keys that every entry has."""

    opts: NotRequired[EntryOptions]
    """The engine's options for its resources. Default: none."""


class Switched(TypedDict):
    """A part that can be switched off."""

    enabled: NotRequired[bool]
    """False declares nothing of it: only its keys and types are validated. `pulumi up` deletes what was declared before. Default:
    true."""


class Kept(TypedDict):
    """A part that can be kept when its stack is destroyed."""

    keep: NotRequired[bool]
    """True keeps it in Azure, with its resource group and everything that it depends on, when the stack is destroyed; the next
    `up` of the stack adopts it again. If it were deleted, its granted quota would be lost. Default: false."""


class FoundationEntry(FoundationSettings, Entry):
    """The foundation, with the engine's options for it."""


class BudgetEntry(BudgetSettings, Entry, Switched):
    """The budget of a month with its recipients, and the engine's options for it."""

    in_azure: NotRequired[bool]
    """False creates no budget in Azure, such as where the subscription's offer has none or the permission is missing: the amount
    is then only used by `operations review`. Default: true."""


class ContainerGroupEntry(ContainerGroupSettings, Entry, Switched):
    """A container group, with the engine's options for it."""


class JobEntry(ServerlessGpuJobSettings, Entry, Switched):
    """A job, with the engine's options for it."""


class JobEnvironmentEntry(PartArgs, Entry, Kept):
    """The environment of jobs, with the engine's options for it."""

    gpus: NotRequired[Sequence[GpuModel]]
    """GPUs of a created environment beside those of its jobs, T4 and A100, so that quota can be requested before a job uses one.
    Default: none."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.MANAGED_ENVIRONMENT)]]
    """azure-native properties of the environment, set last and validated only by Azure; null removes one. Default: none."""


class BatchAccountEntry(BatchAccountSettings, Entry, Switched, Kept):
    """The Batch account, with the engine's options for it."""


class GalleryImageEntry(GalleryImageSettings, Entry, Switched):
    """An image, with the engine's options for it."""


class PoolEntry(BatchPoolSettings, Entry, Switched):
    """A pool, with the engine's options for it."""


class GpuPoolEntry(GpuPoolArgs, Switched):
    """A pool of GPU nodes, a separate agent pool. Plain, all of it."""


class ClusterEntry(GpuClusterSettings, Entry, Switched):
    """A cluster, with the engine's options for it."""

    # pyrefly: ignore[bad-override-mutable-attribute]
    gpu_pools: NotRequired[Mapping[str, GpuPoolEntry]]
    """GPU pools by name, at most 12 lower-case letters and digits. Each is a separate resource: a change replaces only that one.
    Default: none."""


class EdgeEntry(EdgeSharingSettings, Switched):
    """A cluster given by its kubeconfig."""


class ComputeEntry(ComputeArgs, Switched):
    """A compute: machines of the workspace, set by `size`; a cluster of the stack, set by `cluster`; or a virtual machine of the
    stack, set by `vm`. Exactly one of the three."""


class EnvironmentEntry(EnvironmentArgs, Switched):
    """A version of an environment, which is immutable: another content is another version. All of it is plain."""


class MlWorkspaceEntry(MlWorkspaceSettings, Entry, Switched):
    """The workspace, with the engine's options for it."""

    # pyrefly: ignore[bad-override-mutable-attribute]
    computes: NotRequired[Mapping[str, ComputeEntry]]
    """Computes by name: clusters of machines, Kubernetes clusters and virtual machines. Default: none."""
    # pyrefly: ignore[bad-override-mutable-attribute]
    environments: NotRequired[Mapping[str, EnvironmentEntry]]
    """Versions of environments by name. Default: none."""


class DeploymentEntry(MlDeploymentArgs, Switched):
    """One deployment: a model on machines, under a name such as `blue`. All of it is plain."""


class MlEndpointEntry(MlEndpointSettings, Entry, Switched):
    """An endpoint, with the engine's options for it."""

    # pyrefly: ignore[bad-override-mutable-attribute]
    deployments: Mapping[str, DeploymentEntry]
    """Deployments by name, at most 20. A removed or disabled one is deleted after its traffic has moved to the others."""


class VmEntry(GpuVmSettings, Entry, Switched):
    """A virtual machine, with the engine's options for it."""


class StackFile(TypedDict):
    """The keys of this project in a stack file."""

    team: str
    """The owner of the stack; part of every name, and the tag `team`."""
    location: str
    """Azure region of everything without its own, such as westeurope."""
    extends: NotRequired[str]
    """A common file of several stacks, relative to the project's folder, such as `Pulumi.common.yaml`: its keys below `config`
    are defaults for the stack's own. Mappings are merged key by key, any other value is replaced, `null` removes one. Keys of
    providers, `team` and `location` belong in the stack's own file. Default: none."""
    stacks: NotRequired[Mapping[str, str]]
    """Other stacks of the same backend by a name of your choice, each as `organization/project/stack`. With
    `network: acme/network/prod`, `${stacks.network.gpu_subnet}` in a text below a part is that stack's output `gpu_subnet`, read
    before validation; a dot selects a key of an output that is a mapping. Secret outputs aren't accepted. Default: none."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Tags on everything that takes tags, beside the program's own. Default: none."""
    as_of: NotRequired[str]
    """The date at which services, sizes and dates are evaluated, YYYY-MM-DD, and the tag `as-of`. Default: today, and no tag."""
    unchecked: NotRequired[Sequence[Unchecked]]
    """What you insist on: with `region`, what a source or Azure's own list says that a region lacks is a warning, also in
    `operations up`. Default: nothing; such a region is refused."""
    image_source: NotRequired[str]
    """The workloads' sources, readable without a login: `https://…/repository.git#<commit>`; or `upload`: the files here are
    uploaded to the registry and built during `up`, once for each content, so that no repository has to be public. Default:
    `origin` of the checkout, at the last commit that changed the workloads, or the repository from which pip installed this
    package."""
    assign_roles: NotRequired[bool]
    """False leaves the role assignments to an administrator and prints the commands. Default: true."""
    protect_data: NotRequired[bool]
    """Whether resources that hold data are protected: `pulumi` then doesn't delete or replace a storage account, registry, log
    workspace, Batch account, key vault or Azure Machine Learning workspace that the stack created, and the storage account keeps
    deleted blobs for 7 days and older versions of overwritten ones. False suits a stack for a day. Default: true."""
    lock_data: NotRequired[bool]
    """Whether Azure keeps everybody from deleting them, by any tool: a lock on the storage account, registry, log workspace and
    key vault that the stack created. Roles on these can't be taken away either, until it is false and `up` has run. Requires
    Owner or User Access Administrator. Default: false."""
    foundation: NotRequired[FoundationEntry]
    """The resources that other parts depend on, each `create` or `existing: <id>`. Default: a resource group."""
    budget: NotRequired[BudgetEntry]
    """The budget of the stack for a month, as `monthly_usd: 500`, with recipients of notifications: a budget in Azure, which
    stops nothing. Default: none."""
    container_groups: NotRequired[Mapping[str, ContainerGroupEntry]]
    """Container groups by name. Default: none."""
    jobs: NotRequired[Mapping[str, JobEntry]]
    """GPU jobs of Container Apps by name, unique across container groups, jobs, pools, clusters, edges, endpoints and virtual
    machines. Default: none."""
    job_environment: NotRequired[JobEnvironmentEntry]
    """The Container Apps environment of the jobs: `create` creates one in each of their regions, `existing: <id>` uses one that
    has a workload profile with their GPU. Default: create."""
    batch_account: NotRequired[BatchAccountEntry]
    """The Batch account of all pools: `create`, with applications or without, or `existing: <id>`. A created one requires
    `identity` and `storage` of the foundation. Default: none."""
    gallery_images: NotRequired[Mapping[str, GalleryImageEntry]]
    """Custom images by name, for pools and virtual machines. Default: none."""
    pools: NotRequired[Mapping[str, PoolEntry]]
    """Batch pools by name, unique as for `jobs`. Default: none."""
    clusters: NotRequired[Mapping[str, ClusterEntry]]
    """AKS clusters with GPU pools by name, unique as for `jobs`. Default: none."""
    edges: NotRequired[Mapping[str, EdgeEntry]]
    """Clusters given by their kubeconfig, such as Azure Stack Edge, whose GPUs jobs share, by name, unique as for `jobs`.
    Default: none."""
    ml_workspace: NotRequired[MlWorkspaceEntry]
    """The Azure Machine Learning workspace of all endpoints: `create`, with computes and models or without, or `existing: <id>`.
    A created one requires `storage` and `log_workspace` of the foundation, its computes `identity`. Default: none."""
    ml_endpoints: NotRequired[Mapping[str, MlEndpointEntry]]
    """Online endpoints with their deployments and traffic by name, unique as for `jobs`. Default: none."""
    vms: NotRequired[Mapping[str, VmEntry]]
    """Virtual machines with a GPU by name, unique as for `jobs`. Default: none."""
