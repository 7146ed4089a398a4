"""Validates the image of a Batch pool against its other arguments: operating system, node agent, generation, region."""

from datetime import date

from azure_gpu.batch.pool.args import BatchPoolSettings
from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import Size, VmGeneration
from azure_gpu.catalog.sources import Dated, Source
from azure_gpu.images.args import DEFAULT_SYSTEM
from azure_gpu.images.choice import ImageChoice

_REPLICAS = Source("Microsoft Learn, azure-arm-batch: id of ImageReference", Dated.OBSERVED, date(2026, 11, 25))


def system_of(settings: BatchPoolSettings, choice: ImageChoice, size: Size | None) -> OperatingSystem:
    """Returns the configured operating system, else the image's, else the only one that the size supports, else Linux."""
    if "os_type" in settings:
        return OperatingSystem(settings["os_type"])
    if choice.operating_system is not None:
        return choice.operating_system
    return OperatingSystem.WINDOWS if size is not None and size.series.windows_only else DEFAULT_SYSTEM


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
    if "os_type" in settings and OperatingSystem(settings["os_type"]) is not choice.operating_system:
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
