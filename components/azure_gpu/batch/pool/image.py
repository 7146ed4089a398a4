"""The image of a Batch pool beside its other arguments: the operating system, the node agent, the generation."""

from datetime import date

from azure_gpu.batch.pool.args import BatchPoolSettings
from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import Size, VmGeneration
from azure_gpu.catalog.sources import Dated, Source
from azure_gpu.images.args import DEFAULT_SYSTEM
from azure_gpu.images.choice import ImageChoice

_REPLICAS = Source("Microsoft Learn, azure-arm-batch: id of ImageReference", Dated.OBSERVED, date(2026, 11, 25))


def system_of(said: BatchPoolSettings, choice: ImageChoice, size: Size | None) -> OperatingSystem:
    """The operating system that is said, else the image's, else the only one that the size runs, else Linux."""
    if "os_type" in said:
        return OperatingSystem(said["os_type"])
    if choice.operating_system is not None:
        return choice.operating_system
    return OperatingSystem.WINDOWS if size is not None and size.series.windows_only else DEFAULT_SYSTEM


def fit_problems(said: BatchPoolSettings, choice: ImageChoice, size: Size | None, path: str, location: str = "") -> list[Problem]:
    """What the image can't be beside the rest of the pool: what the catalog can't know of an image of one's own. `location`: the
    account's region, empty where it isn't known."""
    problems: list[Problem] = []
    if choice.key == "image_id" and choice.image_id and not said.get("node_agent"):
        problems.append(
            Problem(
                path=f"{path}.node_agent",
                message="which node agent fits an image of one's own can't be known",
                allowed="the agent for the operating system in it, such as batch.node.ubuntu 24.04",
                fix="add node_agent",
            )
        )
    if choice.of_gallery is None:
        return problems
    if not said.get("node_agent") and not choice.node_agent:
        problems.append(
            Problem(
                path=f"{path}.node_agent",
                message="which node agent fits an image of one's own can't be known",
                allowed="the agent for the operating system in it, such as batch.node.ubuntu 24.04",
                fix=f"add gallery_images.{choice.gallery_image}.node_agent, or node_agent here",
            )
        )
    if "os_type" in said and OperatingSystem(said["os_type"]) is not choice.operating_system:
        problems.append(
            Problem(
                path=f"{path}.os_type",
                message=f"gallery_images.{choice.gallery_image} is {choice.operating_system}",
                value=str(said["os_type"]),
                allowed=str(choice.operating_system),
                fix="leave it out",
            )
        )
    there = choice.of_gallery["regions"]
    if location and there and location not in there:
        problems.append(
            Problem(
                path=f"{path}.gallery_image",
                message=f"gallery_images.{choice.gallery_image} isn't copied to {location}, the region of the Batch account",
                value=choice.gallery_image,
                allowed=f"an image with {location} among its regions, beside {', '.join(there)}",
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
