"""A pool as the catalog asks about it: what is said in a stack file, with where each value is written.

In: `BatchPoolSettings` and what is resolved of it. Out: a `PoolRequest`.
"""

import re
from datetime import timedelta

from azure_gpu.batch.account.spec import AccountFacts
from azure_gpu.batch.pool import scale as pool_scale
from azure_gpu.batch.pool.args import BatchPoolSettings, Communication, ContainersArgs, StartTaskArgs
from azure_gpu.batch.pool.scale import Scale
from azure_gpu.catalog.services.batch.installs import installs_driver
from azure_gpu.catalog.services.batch.request import ContainerTasks, Mpi, PackageReference, PoolRequest, StartTask
from azure_gpu.catalog.services.batch.scale import DEFAULT_TASK_SLOTS
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.images.choice import ImageChoice
from azure_gpu.shared.validation import written

SIZE_NAME = re.compile(r"[A-Za-z]+_[\w-]+", re.ASCII)  # Standard_…, Basic_…
# What the catalog calls otherwise than a stack file does, behind the path of a pool.
_RESPELT = {
    "start_task.command_line": "start_task.command",
    "start_task.driver_version": "driver_version",
    "containers.type": "containers",
    "containers.elevated": "containers",
    "containers.run_options": "containers",
}


def build(
    said: BatchPoolSettings,
    path: str,
    size: Size | None,
    system: OperatingSystem,
    image: ImageChoice,
    scale: Scale,
    account: AccountFacts,
) -> PoolRequest:
    """The pool at `path`, before the catalog has chosen how its software comes onto the nodes."""
    packages = said.get("packages", {})
    containers = containers_of(said)
    return PoolRequest(
        path=path,
        size=size,
        size_name=said["size"] if SIZE_NAME.fullmatch(said["size"]) else None,  # that it is none is said elsewhere
        written=_written(said, path, image, account),
        region=account.location,
        allocation_mode=account.allocation_mode,
        auto_storage=account.auto_storage,
        operating_system=system,
        image_kind=image.kind,
        image=image.reference,
        node_agent=said.get("node_agent", image.node_agent),
        cloud_services=said.get("cloud_services", False),
        dedicated_nodes=said.get("dedicated_nodes"),
        spot_nodes=said.get("spot_nodes"),
        resize_timeout=_resize_timeout(said),
        autoscale_formula=scale.formula,
        evaluation_interval=scale.interval if scale.formula else None,
        most_nodes=sum(scale.most or ()),
        task_slots=int(said.get("task_slots", DEFAULT_TASK_SLOTS)),
        inter_node=said.get("inter_node", "mpi" in said),
        multi_instance="mpi" in said or said.get("autoscale", {}).get("nodes_per_task", 1) > 1,
        rdma=said.get("rdma", "mpi" in said),
        mpi=Mpi(said["mpi"]) if "mpi" in said else None,
        containers=None if containers is None else ContainerTasks(elevated=system is OperatingSystem.WINDOWS),
        packages=len(packages),
        package_references=tuple(PackageReference(name, version) for name, version in sorted(packages.items())),
        start_task=_start_task(said["start_task"], said.get("driver_version", "")) if "start_task" in said else None,
        communication=str(said.get("communication", Communication.SIMPLIFIED)),
        public_addresses=said.get("public_addresses", True),
        explicit_outbound=said.get("explicit_outbound", False),
    )


def _written(said: BatchPoolSettings, path: str, image: ImageChoice, account: AccountFacts) -> dict[str, str]:
    autoscale = "formula" if "formula" in said.get("autoscale", {}) else "scenario"
    return {
        "image": f"{path}.{image.key}" if image.key in said else f"{path}.size",
        "resize_timeout": f"{path}.resize_timeout_minutes",
        "autoscale_formula": f"{path}.autoscale.{autoscale}" if autoscale in said.get("autoscale", {}) else f"{path}.autoscale",
        "evaluation_interval": f"{path}.autoscale.interval_minutes",
        "region": account.location_path,
        "multi_instance": f"{path}.mpi",
        "name": f"{path}.pool_name",
    }


def _resize_timeout(said: BatchPoolSettings) -> timedelta | None:
    if "resize_timeout_minutes" not in said:
        return None
    return pool_scale.minutes(int(said["resize_timeout_minutes"]))


def _start_task(said: StartTaskArgs, driver_version: str) -> StartTask:
    return StartTask(
        command_line=said["command"],
        elevated=said.get("elevated", False),
        wait_for_success=said.get("wait_for_success", True),
        installs_driver=installs_driver(said["command"]),
        driver_version=driver_version,
    )


def containers_of(said: BatchPoolSettings) -> ContainersArgs | None:
    """The containers that tasks run in; None where they are programs on the node."""
    given = written(said["containers"]) if "containers" in said else None
    return given if given is not None and given.get("enabled", True) else None


def respelt(problem_path: str, path: str) -> str:
    """A path of the catalog as a stack file has it."""
    below = problem_path.removeprefix(f"{path}.")
    return f"{path}.{_RESPELT[below]}" if below in _RESPELT else problem_path
