"""Everything that a stack file, `Pulumi.<stack>.yaml`, can say to this program.

`StackFile`. How it is read is in `settings`; what is below its keys, in the components' own settings. `opts` and `enabled` are a
stack file's only: no component takes them.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, NotRequired, TypedDict

from azure_gpu.aks.args import GpuClusterSettings, GpuPoolArgs
from azure_gpu.batch.account.args import BatchAccountSettings
from azure_gpu.batch.pool.args import BatchPoolSettings
from azure_gpu.budget.args import BudgetSettings
from azure_gpu.container_apps.environment.args import GpuModelName
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
from azure_gpu.shared.validation import OpenInput
from azure_gpu.stack.entry_options import Entry
from azure_gpu.stack.keep import Kept
from azure_gpu.stack.switches import Switched
from azure_gpu.vm.args import GpuVmSettings


class FoundationEntry(FoundationSettings, Entry):
    """The foundation, and the engine's options for it."""


class BudgetEntry(BudgetSettings, Entry, Switched):
    """What a month may cost, who is told, and the engine's options for it."""

    in_azure: NotRequired[bool]
    """False makes no budget in Azure, such as where the subscription's offer has none or the right to make one is missing: the
    amount counts for `operations review` alone. Default: true."""


class ContainerGroupEntry(ContainerGroupSettings, Entry, Switched):
    """A container group, and the engine's options for it."""


class JobEntry(ServerlessGpuJobSettings, Entry, Switched):
    """A job, and the engine's options for it."""


class JobEnvironmentEntry(PartArgs, Entry, Kept):
    """The environment of jobs, and the engine's options for it."""

    gpus: NotRequired[Sequence[GpuModelName]]
    """GPUs that an environment which is created has beside those that jobs name, T4 and A100: its quota of a GPU can be requested
    before a job uses it. Default: none."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.MANAGED_ENVIRONMENT)]]
    """azure-native properties of the environment, set last and judged only by Azure; null removes one. Default: none."""


class BatchAccountEntry(BatchAccountSettings, Entry, Switched, Kept):
    """The Batch account, and the engine's options for it."""


class GalleryImageEntry(GalleryImageSettings, Entry, Switched):
    """An image, and the engine's options for it."""


class PoolEntry(BatchPoolSettings, Entry, Switched):
    """A pool, and the engine's options for it."""


class GpuPoolEntry(GpuPoolArgs, Switched):
    """A pool of GPU nodes, an agent pool of its own. Plain, all of it."""


class ClusterEntry(GpuClusterSettings, Entry, Switched):
    """A cluster, and the engine's options for it."""

    gpu_pools: NotRequired[Mapping[str, GpuPoolEntry]]  # pyright: ignore[reportIncompatibleVariableOverride] - with switches
    """GPU pools by name, at most 12 lower-case letters and digits. Each is a resource of its own: changing one replaces that one
    alone. Default: none."""


class EdgeEntry(EdgeSharingSettings, Switched):
    """A cluster given by its kubeconfig."""


class ComputeEntry(ComputeArgs, Switched):
    """A compute: machines of the workspace's own, said by `size`; or a cluster of the stack, said by `cluster`; or a virtual
    machine of the stack, said by `vm`. Exactly one of the three."""


class EnvironmentEntry(EnvironmentArgs, Switched):
    """A version of an environment, which never changes: another content is another version. All of it is plain."""


class MlWorkspaceEntry(MlWorkspaceSettings, Entry, Switched):
    """The workspace, and the engine's options for it."""

    computes: NotRequired[Mapping[str, ComputeEntry]]  # pyright: ignore[reportIncompatibleVariableOverride] - with switches
    """Computes by name: clusters of machines, Kubernetes clusters and virtual machines. Default: none."""
    environments: NotRequired[Mapping[str, EnvironmentEntry]]  # pyright: ignore[reportIncompatibleVariableOverride] - with switches
    """Versions of environments by name. Default: none."""


class DeploymentEntry(MlDeploymentArgs, Switched):
    """One deployment: a model on machines, under a name such as `blue`. All of it is plain."""


class MlEndpointEntry(MlEndpointSettings, Entry, Switched):
    """An endpoint, and the engine's options for it."""

    deployments: Mapping[str, DeploymentEntry]  # pyright: ignore[reportIncompatibleVariableOverride] - with switches
    """Deployments by name, at most 20. One that is taken out or is off is deleted after its share has gone to the others."""


class VmEntry(GpuVmSettings, Entry, Switched):
    """A virtual machine, and the engine's options for it."""


class StackFile(TypedDict):
    """Everything that a stack file can say to this program."""

    team: str
    """Who owns the stack; part of every name, and the tag `team`."""
    location: str
    """Azure region of everything that isn't given its own, such as westeurope."""
    extends: NotRequired[str]
    """A file with what several stacks have in common, from the project's folder on, such as `Pulumi.common.yaml`: its keys below
    `config` lie under the stack's own. Mappings are merged key by key, any other value is replaced, `null` takes one away. Keys
    of providers, `team` and `location` are the stack's own. Default: none."""
    stacks: NotRequired[Mapping[str, str]]
    """Other stacks of the same backend by names of one's own, each as `organization/project/stack`. With
    `network: acme/network/prod`, `${stacks.network.gpu_subnet}` in a text below a part is that stack's output `gpu_subnet`, read
    before anything is checked; a dot leads into an output that is a mapping. Secret outputs aren't taken. Default: none."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Tags on everything that takes tags, beside the program's own. Default: none."""
    as_of: NotRequired[str]
    """The day at which services, sizes and dates are judged, YYYY-MM-DD, and the tag `as-of`. Default: today, and no tag."""
    image_source: NotRequired[str]
    """Where the workloads' sources are, without a login: `https://…/repository.git#<commit>`. Default: `origin` of the checkout,
    at the last commit that changed the workloads, or the repository that pip has installed this package from."""
    assign_roles: NotRequired[bool]
    """False leaves the role assignments to an administrator and prints the commands. Default: true."""
    protect_data: NotRequired[bool]
    """Whether what holds data is protected: `pulumi` then deletes and replaces no storage account, key vault and Azure Machine
    Learning workspace that the stack created, and the storage account keeps deleted blobs for 7 days and older versions of
    overwritten ones. False for a stack that lives for a day. Default: true."""
    foundation: NotRequired[FoundationEntry]
    """What everything stands on, each part `create` or `existing: <id>`. Default: a resource group."""
    budget: NotRequired[BudgetEntry]
    """What a month of the stack may cost, as `monthly_usd: 500`, and who is told when it is more: a budget in Azure, which
    notifies and stops nothing. Default: none."""
    container_groups: NotRequired[Mapping[str, ContainerGroupEntry]]
    """Container groups by name. Default: none."""
    jobs: NotRequired[Mapping[str, JobEntry]]
    """GPU jobs of Container Apps by name; nothing else that runs has the same one. Default: none."""
    job_environment: NotRequired[JobEnvironmentEntry]
    """The Container Apps environment that jobs run in: `create` makes one for each region that they are in, `existing: <id>` uses
    one that has a workload profile with their GPU. Default: create."""
    batch_account: NotRequired[BatchAccountEntry]
    """The Batch account of all pools: `create`, with applications or without, or `existing: <id>`. One that is created needs
    `identity` and `storage` of the foundation. Default: none."""
    gallery_images: NotRequired[Mapping[str, GalleryImageEntry]]
    """Images of one's own by name, for pools. Default: none."""
    pools: NotRequired[Mapping[str, PoolEntry]]
    """Batch pools by name; nothing else that runs has the same one. Default: none."""
    clusters: NotRequired[Mapping[str, ClusterEntry]]
    """AKS clusters with GPU pools by name; nothing else that runs has the same one. Default: none."""
    edges: NotRequired[Mapping[str, EdgeEntry]]
    """Clusters given by their kubeconfig, such as Azure Stack Edge, whose GPUs jobs share, by name; nothing else that runs has
    the same one. Default: none."""
    ml_workspace: NotRequired[MlWorkspaceEntry]
    """The Azure Machine Learning workspace of all endpoints: `create`, with computes and models or without, or `existing: <id>`.
    One that is created needs `storage` and `log_workspace` of the foundation, its computes `identity`. Default: none."""
    ml_endpoints: NotRequired[Mapping[str, MlEndpointEntry]]
    """Online endpoints with their deployments and traffic by name; nothing else that runs has the same one. Default: none."""
    vms: NotRequired[Mapping[str, VmEntry]]
    """Virtual machines with a GPU by name; nothing else that runs has the same one. Default: none."""
