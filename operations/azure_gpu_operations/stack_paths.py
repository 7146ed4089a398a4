"""Where the parts of a stack stand in its file, by the components that declare them."""

from typing import NamedTuple

from azure_gpu.formats import azure_types


class Place(NamedTuple):
    """The place of a component's parts."""

    path: str  # in the stack file; {} is the name of an entry
    overridden: str = ""  # the ARM type of the resource that the part's `overrides` change; "": it has none


PLACES = {
    "Foundation": Place("foundation"),
    "Budget": Place("budget", azure_types.BUDGET.arm_type),
    "JobEnvironment": Place("job_environment", azure_types.MANAGED_ENVIRONMENT.arm_type),
    "ServerlessGpuJob": Place("jobs.{}", azure_types.JOB.arm_type),
    "BatchAccount": Place("batch_account", azure_types.BATCH_ACCOUNT.arm_type),
    "BatchPool": Place("pools.{}", azure_types.BATCH_POOL.arm_type),
    "GalleryImage": Place("gallery_images.{}"),
    "GpuCluster": Place("clusters.{}", azure_types.MANAGED_CLUSTER.arm_type),
    "EdgeSharing": Place("edges.{}"),
    "MlWorkspace": Place("ml_workspace", azure_types.ML_WORKSPACE.arm_type),
    "MlEndpoint": Place("ml_endpoints.{}", azure_types.ML_ONLINE_ENDPOINT.arm_type),
    "GpuVm": Place("vms.{}", azure_types.VIRTUAL_MACHINE.arm_type),
    "ContainerGroup": Place("container_groups.{}", azure_types.CONTAINER_GROUP.arm_type),
}


def path_of_part(component: str, name: str) -> str:
    """The path of a part; "" for a component of somebody's own."""
    return PLACES[component].path.format(name) if component in PLACES else ""
