"""A Batch pool as the catalog's rules take it, and whether its image fits."""

import re
from datetime import timedelta

from azure_gpu.batch.account.spec import AccountFacts
from azure_gpu.batch.pool.args import (
    DEFAULT_COMMUNICATION,
    DEFAULT_PUBLIC_ADDRESSES,
    BatchPoolSettings,
    ContainersArgs,
    StartTaskArgs,
)
from azure_gpu.batch.pool.spec import Scale, minutes
from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services.batch.installs import installs_driver
from azure_gpu.catalog.services.batch.request import ContainerTasks, PackageReference, PoolRequest, StartTask
from azure_gpu.catalog.services.batch.scale import DEFAULT_TASK_SLOTS
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import Size, VmGeneration
from azure_gpu.catalog.sources import observed
from azure_gpu.images.args import DEFAULT_SYSTEM
from azure_gpu.images.choice import ImageChoice
from azure_gpu.shared.validation import written

_REPLICAS = observed("Microsoft Learn, azure-arm-batch: id of ImageReference", 2026, 11, 25)


def system_of(settings: BatchPoolSettings, choice: ImageChoice, size: Size | None) -> OperatingSystem:
    """Returns the configured operating system, else the image's, else the only one that the size supports, else Linux."""
    if "os_type" in settings:
        return settings["os_type"]
    if choice.operating_system is not None:
        return choice.operating_system
    return "Windows" if size is not None and size.series.windows_only else DEFAULT_SYSTEM


def fit_problems(
    settings: BatchPoolSettings, choice: ImageChoice, size: Size | None, path: str, location: str = ""
) -> list[Problem]:
    """Validates a custom image, which isn't in the catalog, against the rest of the pool. `location`: the account's region, empty
    where it isn't known."""
    problems: list[Problem] = []
    if choice.key == "image_id" and choice.image_id and not settings.get("node_agent"):
        problems.append(
            Problem(
                path=f"{path}.node_agent",
                message="required for a custom image, whose node agent isn't known",
                allowed="the agent for the operating system in it, such as batch.node.ubuntu 24.04",
                fix="add node_agent",
            )
        )
    if choice.of_gallery is None:
        return problems
    if not settings.get("node_agent") and not choice.node_agent:
        problems.append(
            Problem(
                path=f"{path}.node_agent",
                message="required for a custom image, whose node agent isn't known",
                allowed="the agent for the operating system in it, such as batch.node.ubuntu 24.04",
                fix=f"add gallery_images.{choice.gallery_image}.node_agent, or node_agent here",
            )
        )
    if "os_type" in settings and settings["os_type"] != choice.operating_system:
        problems.append(
            Problem(
                path=f"{path}.os_type",
                message=f"gallery_images.{choice.gallery_image} has {choice.operating_system}",
                value=str(settings["os_type"]),
                allowed=str(choice.operating_system),
                fix="remove it",
            )
        )
    available = choice.of_gallery["regions"]
    if location and available and location not in available:
        problems.append(
            Problem(
                path=f"{path}.gallery_image",
                message=f"gallery_images.{choice.gallery_image} isn't copied to {location}, the region of the Batch account",
                value=choice.gallery_image,
                allowed=f"an image with {location} among its regions, beside {', '.join(available)}",
                fix=f"add gallery_images.{choice.gallery_image}.regions: [{location}]",
                source=str(_REPLICAS),
                code=Code.NOT_IN_REGION,
            )
        )
    boots = size.series.generations if size is not None else ()
    generation: VmGeneration = choice.of_gallery["generation"]
    if size is not None and boots and generation not in boots:
        problems.append(
            Problem(
                path=f"{path}.gallery_image",
                message=f"{size.name} boots {' and '.join(boots)} images; gallery_images.{choice.gallery_image} is {generation}",
                value=choice.gallery_image,
                allowed=f"an image of {' or '.join(boots)}",
                fix="make the image of a machine of that generation, or choose another size",
                source="; ".join(str(source) for source in size.series.sources),
                code=Code.IMPOSSIBLE,
            )
        )
    return problems


SIZE_NAME = re.compile(r"[A-Za-z]+_[\w-]+", re.ASCII)  # Standard_…, Basic_…
# Paths below a pool that differ between the catalog and a stack file.
_RESPELT = {
    "start_task.command_line": "start_task.command",
    "start_task.driver_version": "driver_version",
    "containers.type": "containers",
    "containers.elevated": "containers",
    "containers.run_options": "containers",
}


def build(
    settings: BatchPoolSettings,
    path: str,
    size: Size | None,
    system: OperatingSystem,
    image: ImageChoice,
    scale: Scale,
    account: AccountFacts,
) -> PoolRequest:
    """Builds the request of the pool at `path`, before the catalog chooses the installation method."""
    packages = settings.get("packages", {})
    containers = containers_of(settings)
    return PoolRequest(
        path=path,
        size=size,
        size_name=settings["size"] if SIZE_NAME.fullmatch(settings["size"]) else None,  # an invalid name is reported elsewhere
        written=_written(settings, path, image, account),
        region=account.location,
        allocation_mode=account.allocation_mode,
        auto_storage=account.auto_storage,
        operating_system=system,
        image_kind=image.kind,
        image=image.reference,
        node_agent=settings.get("node_agent", image.node_agent),
        cloud_services=settings.get("cloud_services", False),
        dedicated_nodes=settings.get("dedicated_nodes"),
        spot_nodes=settings.get("spot_nodes"),
        resize_timeout=_resize_timeout(settings),
        autoscale_formula=scale.formula,
        evaluation_interval=scale.interval if scale.formula else None,
        most_nodes=sum(scale.most or ()),
        task_slots=int(settings.get("task_slots", DEFAULT_TASK_SLOTS)),
        inter_node=settings.get("inter_node", "mpi" in settings),
        multi_instance="mpi" in settings or settings.get("autoscale", {}).get("nodes_per_task", 1) > 1,
        rdma=settings.get("rdma", "mpi" in settings),
        mpi=settings.get("mpi"),
        containers=None if containers is None else ContainerTasks(elevated=system == "Windows"),
        packages=len(packages),
        package_references=tuple(PackageReference(name, version) for name, version in sorted(packages.items())),
        start_task=_start_task(settings["start_task"], settings.get("driver_version", "")) if "start_task" in settings else None,
        communication=str(settings.get("communication", DEFAULT_COMMUNICATION)),
        public_addresses=settings.get("public_addresses", DEFAULT_PUBLIC_ADDRESSES),
        explicit_outbound=settings.get("explicit_outbound", False),
    )


def _written(settings: BatchPoolSettings, path: str, image: ImageChoice, account: AccountFacts) -> dict[str, str]:
    autoscale = "formula" if "formula" in settings.get("autoscale", {}) else "scenario"
    return {
        "image": f"{path}.{image.key}" if image.key in settings else f"{path}.size",
        "resize_timeout": f"{path}.resize_timeout_minutes",
        "autoscale_formula": f"{path}.autoscale.{autoscale}"
        if autoscale in settings.get("autoscale", {})
        else f"{path}.autoscale",
        "evaluation_interval": f"{path}.autoscale.interval_minutes",
        "region": account.location_path,
        "multi_instance": f"{path}.mpi",
        "name": f"{path}.pool_name",
    }


def _resize_timeout(settings: BatchPoolSettings) -> timedelta | None:
    if "resize_timeout_minutes" not in settings:
        return None
    return minutes(int(settings["resize_timeout_minutes"]))


def _start_task(settings: StartTaskArgs, driver_version: str) -> StartTask:
    return StartTask(
        command_line=settings["command"],
        elevated=settings.get("elevated", False),
        wait_for_success=settings.get("wait_for_success", True),
        installs_driver=installs_driver(settings["command"]),
        driver_version=driver_version,
    )


def containers_of(settings: BatchPoolSettings) -> ContainersArgs | None:
    """Returns the container settings; None where tasks are programs on the node."""
    given = written(settings["containers"]) if "containers" in settings else None
    return given if given is not None and given.get("enabled", True) else None


def respelt(problem_path: str, path: str) -> str:
    """Converts a path of the catalog to that of a stack file."""
    below = problem_path.removeprefix(f"{path}.")
    return f"{path}.{_RESPELT[below]}" if below in _RESPELT else problem_path
