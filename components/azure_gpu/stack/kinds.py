"""The kinds of parts that a stack file can have: one row for each, in the order in which the program declares them.

What reads, plans, declares, exports, keeps or ends parts iterates over `KINDS`. A row's keys in the stack file are those of
`StackFile` in `file`, its arguments those of its component.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pulumi

import azure_gpu
from azure_gpu.batch.pool.args import BatchPoolSettings, ContainersArgs
from azure_gpu.container_instances import resolve as group_resolve
from azure_gpu.edge import resolve as edge_resolve
from azure_gpu.formats import azure_types
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.kubernetes.gpu_objects import resolve as gpu_objects_resolve
from azure_gpu.ml.workspace import assets as workspace_assets
from azure_gpu.shared import private_network
from azure_gpu.shared.context import StackArgs
from azure_gpu.shared.validation import written
from azure_gpu.shared.wired import Wired
from azure_gpu.shared.workloads import Workload
from azure_gpu.stack import resolving
from azure_gpu.stack.resolving import Parts, Planning, region_of

Args = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of part."""

    section: str  # of the stack file
    component: str  # the public name of its class
    noun: str  # for messages
    resolve: Callable[[Planning, str, Any], Any]  # logical name and arguments to spec
    name: str = ""  # logical name where the section is one part; empty: the user's name of each, or a region
    by_name: bool = True  # whether the section has entries by name
    planned_last: bool = False
    is_work: bool = False  # whether its name is unique among all kinds, as outputs and commands identify parts by it
    requires: str = ""  # the section without which it can't be
    azure_types: tuple[AzureType, ...] = ()  # to which the engine's options apply, and not to others of a part, such as roles
    azure_name: tuple[str, str] | None = None  # the key that sets its name in Azure, and the attribute of its spec
    inner: tuple[str, ...] = ()  # keys with parts inside of one, by name, that can be switched off
    ends: bool = False  # whether it has `expires_after`
    can_be_kept: bool = False  # whether it may stay in Azure when the stack is destroyed
    writes_blobs: bool = False  # whether it reads and writes blobs as the stack's identity
    workloads: Callable[[Any], Iterable[Workload]] = lambda _: ()  # that the registry builds for one, by its arguments
    depends_on: Callable[[Args, Parts, str], Args] = lambda _args, _declared, _location: {}  # what else the constructor takes
    outputs: Mapping[str, str] = field(default_factory=dict[str, str])  # the stack's outputs, with the component's attribute
    mapped_outputs: Mapping[str, str] = field(default_factory=dict[str, str])  # the same of attributes that are maps by name

    @property
    def token(self) -> str:
        """Pulumi's type of the component."""
        return f"azuregpu:index:{self.component}"

    def declare(self, name: str, args: Wired[Any, Any], opts: pulumi.ResourceOptions | None) -> pulumi.ComponentResource:
        """Declares a part. Its class is loaded now, as only those that a stack uses have to be."""
        return getattr(azure_gpu, self.component)(name, args, opts)

    def wiring(self, args: Args, declared: Parts, stack: StackArgs) -> Args:
        """Returns what the constructor takes beside its own arguments. `declared`: the components before it."""
        found: dict[str, Any] = {}
        for part in declared["foundation"].values():
            found |= {**part.dependencies, "stack": stack}
        for part in declared.get(self.requires, {}).values():
            found |= part.dependencies
        found |= private_network.keys_of(self.component, args, found.get("private_network"))
        return {**found, **self.depends_on(args, declared, stack["location"])}

    def path(self, name: str) -> str:
        """Returns the path of a part in the stack file."""
        return f"{self.section}.{name}" if self.by_name else self.section


def _of_all(declared: Parts, section: str, attribute: str) -> Args:
    return {name: getattr(each, attribute) for name, each in declared[section].items()}


def _job_environment(job: Args, declared: Parts, location: str) -> Args:
    return declared["job_environment"][region_of(job, location)].dependencies


def _images(_: Args, declared: Parts, _location: str) -> Args:
    return {"images": _of_all(declared, "gallery_images", "of_pool")}


def _of_pool(pool: BatchPoolSettings) -> Iterable[Workload]:
    return (Workload(each) for each in written(pool.get("containers", ContainersArgs())).get("workloads", []))


_WORK = {"expires_at": "expires_at", "hourly_cost": "hourly_cost"}
_IDLE = {**_WORK, "idle_cost": "idle_cost"}
KINDS = (
    Kind(
        section="foundation",
        component="Foundation",
        noun="the foundation",
        name="foundation",
        by_name=False,
        resolve=resolving.foundation,
        can_be_kept=True,
        azure_types=(
            azure_types.RESOURCE_GROUP,
            azure_types.USER_ASSIGNED_IDENTITY,
            azure_types.REGISTRY,
            azure_types.LOG_WORKSPACE,
            azure_types.STORAGE_ACCOUNT,
        ),
        outputs={
            "resource_group": "resource_group_name",  # everything of the stack is in it
            "identity": "identity_id",
            "serving_identity": "serving_identity_id",
            "registry": "registry_id",
            "storage": "storage_account_id",
        },
    ),
    Kind(
        section="budget",
        component="Budget",
        noun="a budget",
        name="budget",
        by_name=False,
        resolve=resolving.budget,
        planned_last=True,  # it includes the machines of clusters
        azure_types=(azure_types.BUDGET,),
        outputs={"budget": "budget_id"},
    ),
    Kind(
        section="container_groups",
        component="ContainerGroup",
        noun="a container group",
        is_work=True,
        resolve=resolving.container_group,
        ends=True,
        workloads=group_resolve.workloads,
        azure_types=(azure_types.CONTAINER_GROUP,),
        azure_name=("group_name", "group_name"),
        outputs={"container_groups": "group_id", **_WORK},
    ),
    Kind(
        section="job_environment",  # one for each region of the jobs, which is its logical name
        component="JobEnvironment",
        noun="an environment of jobs",
        by_name=False,
        resolve=resolving.job_environment,
        can_be_kept=True,
        azure_types=(azure_types.MANAGED_ENVIRONMENT,),
        outputs={"job_environments": "environment_id"},
    ),
    Kind(
        section="jobs",
        component="ServerlessGpuJob",
        noun="a job",
        is_work=True,
        resolve=resolving.job,
        depends_on=_job_environment,
        ends=True,
        writes_blobs=True,
        workloads=lambda job: (Workload(job["workload"]),) if "workload" in job else (),
        azure_types=(azure_types.JOB,),
        azure_name=("job_name", "job_name"),
        outputs={"jobs": "job_id", **_WORK},
    ),
    Kind(
        section="gallery_images",
        component="GalleryImage",
        noun="an image",
        resolve=resolving.gallery_image,
        azure_types=(azure_types.GALLERY, azure_types.GALLERY_IMAGE, azure_types.GALLERY_IMAGE_VERSION),
    ),
    Kind(
        section="batch_account",
        component="BatchAccount",
        noun="a Batch account",
        name="batch",
        by_name=False,
        resolve=resolving.batch_account,
        can_be_kept=True,
        writes_blobs=True,
        azure_types=(azure_types.BATCH_ACCOUNT,),
        outputs={"batch_account": "account_id"},
    ),
    Kind(
        section="pools",
        component="BatchPool",
        noun="a pool",
        is_work=True,
        requires="batch_account",
        resolve=resolving.pool,
        depends_on=_images,
        ends=True,
        workloads=_of_pool,
        azure_types=(azure_types.BATCH_POOL,),
        azure_name=("pool_name", "base_name"),
        outputs={"pools": "pool_id", **_WORK},  # by a name which stays when a pool is replaced
    ),
    Kind(
        section="clusters",
        component="GpuCluster",
        noun="a cluster",
        is_work=True,
        resolve=resolving.cluster,
        inner=("gpu_pools",),
        ends=True,
        workloads=gpu_objects_resolve.workloads,
        azure_types=(azure_types.MANAGED_CLUSTER, azure_types.AGENT_POOL),
        outputs={"clusters": "cluster_id", "gpu_pools": "gpu_pools", "namespaces": "namespace", **_IDLE},
    ),
    Kind(
        section="edges",
        component="EdgeSharing",
        noun="an edge",
        is_work=True,
        resolve=resolving.edge,
        workloads=edge_resolve.workloads,
        outputs={"edges": "context", "namespaces": "namespace"},
    ),
    Kind(
        section="vms",
        component="GpuVm",
        noun="a virtual machine",
        is_work=True,
        resolve=resolving.vm,
        depends_on=_images,
        ends=True,
        writes_blobs=True,
        azure_types=(azure_types.VIRTUAL_MACHINE,),
        azure_name=("vm_name", "name"),
        outputs={"vms": "vm_id", **_IDLE},
    ),
    Kind(
        section="ml_workspace",
        component="MlWorkspace",
        noun="an Azure Machine Learning workspace",
        name="ml",
        by_name=False,
        resolve=resolving.ml_workspace,
        depends_on=lambda _workspace, declared, _location: {
            section: _of_all(declared, section, "of_workspace") for section in ("clusters", "vms")
        },
        inner=("computes", "environments"),
        writes_blobs=True,
        workloads=workspace_assets.workloads,
        azure_types=(azure_types.ML_WORKSPACE, azure_types.ML_COMPUTE),
        outputs={"ml_workspace": "workspace_id"},
        mapped_outputs={"ml_computes": "computes", "ml_models": "models", "ml_environments": "environments", **_IDLE},
    ),
    Kind(
        section="ml_endpoints",
        component="MlEndpoint",
        noun="an endpoint",
        is_work=True,
        requires="ml_workspace",
        resolve=resolving.ml_endpoint,
        inner=("deployments",),
        ends=True,
        azure_types=(azure_types.ML_ONLINE_ENDPOINT, azure_types.ML_ONLINE_DEPLOYMENT),
        azure_name=("endpoint_name", "name"),
        outputs={"endpoints": "endpoint_id", "scoring_uris": "scoring_uri", **_IDLE},
    ),
)
BY_SECTION: Mapping[str, Kind] = {kind.section: kind for kind in KINDS}


def outputs(declared: Parts) -> dict[str, Any]:
    """Returns the outputs of a stack with these components: ARM ids and the like, null where there is no such part; where there
    may be several, by their names. `expires_at`: RFC 3339 instants, null: no end. Costs: USD an hour, null: not known."""
    found: dict[str, Any] = {}
    for kind in KINDS:
        parts = declared[kind.section]
        for output, attribute in kind.outputs.items():
            values = {name: getattr(part, attribute) for name, part in parts.items()}
            found[output] = values.get(kind.name) if kind.name else {**found.get(output, {}), **values}
        for output, attribute in kind.mapped_outputs.items():
            found.setdefault(output, {}).update(*(getattr(part, attribute) for part in parts.values()))
    return found
