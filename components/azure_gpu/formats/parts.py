"""The kinds of parts that a stack file can have: what is known of each without its code, in the order in which they are declared.

The row of `azure_gpu.stack.kinds` adds how a part is resolved. What only needs a kind's section, component, names or types in
Azure reads it here, without Pulumi: names that are taken, paths of parts, what an update can't lose, ends, and the graph.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from azure_gpu.formats import azure_types
from azure_gpu.formats.azure_types import AzureType

_IN_GROUP = ("resource_group_name", "foundation")


class Drawn(NamedTuple):
    """How the graph shows the parts of a kind."""

    noun: str
    layer: str  # the name of its group
    used: str  # the words of a dependency on it


@dataclass(frozen=True, kw_only=True)
class PartKind:
    section: str  # of the stack file
    component: str  # the public name of its class
    module: str  # of this class, below `azure_gpu`; its arguments are in `args` beside it
    noun: str  # for messages
    name: str = ""  # logical name where the section is one part; empty: the user's name of each, or a region
    by_name: bool = True  # whether the section has entries by name
    is_work: bool = False  # whether its name is unique among all kinds, as outputs and commands identify parts by it
    requires: str = ""  # the section without which it can't be
    azure_types: tuple[AzureType, ...] = ()  # to which the engine's options apply, and not to others of a part, such as roles
    overridden: AzureType | None = None  # the one whose properties `overrides` set; None: the first, if it has any
    name_key: str = ""  # the key that sets its name in Azure
    name_within: tuple[str, ...] = _IN_GROUP  # keys that set where this name has to be the only one
    inner: tuple[str, ...] = ()  # keys with parts inside of one, by name, that can be switched off
    ends: bool = False  # whether it has `expires_after`, and an hourly cost
    can_be_kept: bool = False  # whether it may stay in Azure when the stack is destroyed
    writes_blobs: bool = False  # whether it reads and writes blobs as the stack's identity
    drawn: Drawn | None  # None: its resources are parts of their own in the graph

    @property
    def token(self) -> str:
        """Pulumi's type of the component."""
        return f"azuregpu:index:{self.component}"

    @property
    def of_overrides(self) -> AzureType | None:
        return self.overridden or next(iter(self.azure_types), None)

    def path(self, name: str) -> str:
        """Returns the path of a part in the stack file."""
        return f"{self.section}.{name}" if self.by_name else self.section


PARTS = (
    PartKind(
        section="foundation",
        component="Foundation",
        module="foundation.foundation",
        noun="the foundation",
        name="foundation",
        by_name=False,
        azure_types=(
            azure_types.RESOURCE_GROUP,
            azure_types.USER_ASSIGNED_IDENTITY,
            azure_types.REGISTRY,
            azure_types.LOG_WORKSPACE,
            azure_types.STORAGE_ACCOUNT,
        ),
        drawn=None,
        can_be_kept=True,
    ),
    PartKind(
        section="budget",
        component="Budget",
        module="budget.budget",
        noun="a budget",
        name="budget",
        by_name=False,
        azure_types=(azure_types.BUDGET,),
        drawn=Drawn("budget", "PLACE", "counts in"),
    ),
    PartKind(
        section="container_groups",
        component="ContainerGroup",
        module="container_instances.group",
        noun="a container group",
        is_work=True,
        azure_types=(azure_types.CONTAINER_GROUP,),
        name_key="group_name",
        ends=True,
        drawn=Drawn("container group", "WORK", "uses"),
    ),
    PartKind(
        section="job_environment",  # one for each region of the jobs, which is its logical name
        component="JobEnvironment",
        module="container_apps.environment.environment",
        noun="an environment of jobs",
        by_name=False,
        azure_types=(azure_types.MANAGED_ENVIRONMENT,),
        can_be_kept=True,
        drawn=Drawn("job environment", "PLACE", "runs in"),
    ),
    PartKind(
        section="jobs",
        component="ServerlessGpuJob",
        module="container_apps.job.job",
        noun="a job",
        is_work=True,
        azure_types=(azure_types.JOB,),
        name_key="job_name",
        ends=True,
        writes_blobs=True,
        drawn=Drawn("GPU job", "WORK", "starts"),
    ),
    PartKind(
        section="gallery_images",
        component="GalleryImage",
        module="images.gallery_image",
        noun="an image",
        azure_types=(azure_types.GALLERY, azure_types.GALLERY_IMAGE, azure_types.GALLERY_IMAGE_VERSION),
        overridden=azure_types.GALLERY_IMAGE,
        drawn=Drawn("gallery image", "DATA", "starts from"),
    ),
    PartKind(
        section="batch_account",
        component="BatchAccount",
        module="batch.account.account",
        noun="a Batch account",
        name="batch",
        by_name=False,
        azure_types=(azure_types.BATCH_ACCOUNT,),
        name_key="account_name",
        name_within=("location",),
        can_be_kept=True,
        writes_blobs=True,
        drawn=Drawn("Batch account", "PLACE", "runs in"),
    ),
    PartKind(
        section="pools",
        component="BatchPool",
        module="batch.pool.pool",
        noun="a pool",
        is_work=True,
        requires="batch_account",
        azure_types=(azure_types.BATCH_POOL,),
        name_key="pool_name",
        name_within=("batch_account",),
        ends=True,
        drawn=Drawn("Batch pool", "WORK", "uses"),
    ),
    PartKind(
        section="clusters",
        component="GpuCluster",
        module="aks.cluster",
        noun="a cluster",
        is_work=True,
        azure_types=(azure_types.MANAGED_CLUSTER, azure_types.AGENT_POOL),
        name_key="cluster_name",
        inner=("gpu_pools",),
        ends=True,
        drawn=Drawn("AKS cluster", "PLACE", "runs on"),
    ),
    PartKind(
        section="edges",
        component="EdgeSharing",
        module="edge.sharing",
        noun="an edge",
        is_work=True,
        drawn=Drawn("edge cluster", "PLACE", "runs on"),
    ),
    PartKind(
        section="vms",
        component="GpuVm",
        module="vm.vm",
        noun="a virtual machine",
        is_work=True,
        azure_types=(azure_types.VIRTUAL_MACHINE,),
        name_key="vm_name",
        ends=True,
        writes_blobs=True,
        drawn=Drawn("virtual machine", "WORK", "runs on"),
    ),
    PartKind(
        section="ml_workspace",
        component="MlWorkspace",
        module="ml.workspace.workspace",
        noun="an Azure Machine Learning workspace",
        name="ml",
        by_name=False,
        azure_types=(azure_types.ML_WORKSPACE, azure_types.ML_COMPUTE),
        name_key="workspace_name",
        inner=("computes", "environments"),
        writes_blobs=True,
        drawn=Drawn("ML workspace", "PLACE", "runs in"),
    ),
    PartKind(
        section="ml_endpoints",
        component="MlEndpoint",
        module="ml.endpoint.endpoint",
        noun="an endpoint",
        is_work=True,
        requires="ml_workspace",
        azure_types=(azure_types.ML_ONLINE_ENDPOINT, azure_types.ML_ONLINE_DEPLOYMENT),
        name_key="endpoint_name",
        name_within=("workspace",),
        inner=("deployments",),
        ends=True,
        drawn=Drawn("ML endpoint", "WORK", "uses"),
    ),
)
BY_SECTION: Mapping[str, PartKind] = {part.section: part for part in PARTS}
BY_COMPONENT: Mapping[str, PartKind] = {part.component: part for part in PARTS}


def path_of_part(component: str, name: str) -> str:
    """Returns the path of a part in the stack file; "" for a component of somebody's own."""
    return BY_COMPONENT[component].path(name) if component in BY_COMPONENT else ""
