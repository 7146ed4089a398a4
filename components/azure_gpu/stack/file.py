"""Everything that a stack file, `Pulumi.<stack>.yaml`, can say to this program.

`StackFile`. How it is read is in `settings`; what is below its keys, in the components' own settings.
"""

from typing import NotRequired, TypedDict

from azure_gpu.aks.args import GpuClusterSettings
from azure_gpu.batch.account.args import BatchAccountSettings
from azure_gpu.batch.pool.args import BatchPoolSettings
from azure_gpu.container_apps.job.args import ServerlessGpuJobSettings
from azure_gpu.container_instances.args import ContainerGroupSettings
from azure_gpu.edge.args import EdgeSharingSettings
from azure_gpu.foundation.args import FoundationSettings
from azure_gpu.images.args import GalleryImageSettings
from azure_gpu.ml.endpoint.args import MlEndpointSettings
from azure_gpu.ml.workspace.args import MlWorkspaceSettings
from azure_gpu.shared.part import PartArgs
from azure_gpu.vm.args import GpuVmSettings


class StackFile(TypedDict):
    """Everything that a stack file can say to this program."""

    team: str
    """Who owns the stack; part of every name, and the tag `team`."""
    location: str
    """Azure region of everything that isn't given its own, such as westeurope."""
    tags: NotRequired[dict[str, str]]
    """Tags on everything that takes tags, beside the program's own. Default: none."""
    as_of: NotRequired[str]
    """The day at which services, sizes and dates are judged, YYYY-MM-DD, and the tag `as-of`. Default: today, and no tag."""
    image_source: NotRequired[str]
    """Where the workloads' sources are: `https://…/repository.git#<commit>`. Default: nowhere."""
    assign_roles: NotRequired[bool]
    """False leaves the role assignments to an administrator and prints the commands. Default: true."""
    foundation: NotRequired[FoundationSettings]
    """What everything stands on, each part `create` or `existing: <id>`. Default: a resource group."""
    container_groups: NotRequired[dict[str, ContainerGroupSettings]]
    """Container groups by name. Default: none."""
    jobs: NotRequired[dict[str, ServerlessGpuJobSettings]]
    """GPU jobs of Container Apps by name; nothing else that runs has the same one. Default: none."""
    job_environment: NotRequired[PartArgs]
    """The Container Apps environment that jobs run in: `create` makes one for each region that they are in, `existing: <id>` uses
    one that has a workload profile with their GPU. Default: create."""
    batch_account: NotRequired[BatchAccountSettings]
    """The Batch account of all pools: `create`, with applications or without, or `existing: <id>`. One that is created needs
    `identity` and `storage` of the foundation. Default: none."""
    gallery_images: NotRequired[dict[str, GalleryImageSettings]]
    """Images of one's own by name, for pools. Default: none."""
    pools: NotRequired[dict[str, BatchPoolSettings]]
    """Batch pools by name; nothing else that runs has the same one. Default: none."""
    clusters: NotRequired[dict[str, GpuClusterSettings]]
    """AKS clusters with GPU pools by name; nothing else that runs has the same one. Default: none."""
    edges: NotRequired[dict[str, EdgeSharingSettings]]
    """Clusters given by their kubeconfig, such as Azure Stack Edge, whose GPUs jobs share, by name; nothing else that runs has
    the same one. Default: none."""
    ml_workspace: NotRequired[MlWorkspaceSettings]
    """The Azure Machine Learning workspace of all endpoints: `create`, with computes and models or without, or `existing: <id>`.
    One that is created needs `storage` and `log_workspace` of the foundation, its computes `identity`. Default: none."""
    ml_endpoints: NotRequired[dict[str, MlEndpointSettings]]
    """Online endpoints with their deployments and traffic by name; nothing else that runs has the same one. Default: none."""
    vms: NotRequired[dict[str, GpuVmSettings]]
    """Virtual machines with a GPU by name; nothing else that runs has the same one. Default: none."""
