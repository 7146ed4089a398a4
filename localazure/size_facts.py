"""What is known of a VM size or an image that a service is asked for: facts of the catalog, for the conditions of refusals."""

from collections.abc import Iterator
from datetime import date

from azure_gpu.catalog.lifecycle import PARTS, Lifecycle
from azure_gpu.catalog.services.aks.sizes import REFUSED_SERIES, listing
from azure_gpu.catalog.services.batch import sizes as batch
from azure_gpu.catalog.services.machine_learning import compute as machine_learning, endpoints
from azure_gpu.catalog.services.vm_images import IMAGES, ImageReference, find
from azure_gpu.catalog.size_use import Service
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Size
from localazure.arm.store import Body

MIG_PAGE = date(2026, 5, 22)  # Microsoft Learn, articles/aks/gpu-multi-instance.md


def of(name: str, service: Service, region: str, as_of: date, *, windows: bool = False) -> Body:
    """`ended` is a sentence, where the service doesn't have the size on that day."""
    size = SIZES.find(name)
    if size is None:
        return {"known": False, "location": region}
    row = listing(size)
    amd = size.gpu is not None and size.gpu.vendor == "AMD"
    return {
        "known": True,
        "location": region,
        "ended": ended(size, service, region, as_of, windows=windows),
        "gpu": size.gpu.name if size.gpu else "",
        "newer": size.lifecycle.seen.day > MIG_PAGE,
        "installs_driver": row is not None and row.installs_driver,
        "taken": row is not None or not (amd or size.series.name in REFUSED_SERIES),
        "systems": sorted(row.systems) if row else [],
        "generations": list(size.series.generations),
        "vcpus": size.vcpus,
    }


def ended(size: Size, service: Service, region: str, as_of: date, *, windows: bool = False) -> str:
    """Why the service doesn't have the size there on that day; "" where it has, or where nothing is known."""
    if size.series.windows_only and not windows:
        return f"{size.name} runs Windows guests only."
    for what, lifecycle in _lifecycles(size, service):
        told = outside(lifecycle, what, as_of, region)
        if told:
            return told
    if service is Service.ML_ENDPOINT and not _on_the_list(size, region, as_of):
        return f"Managed online endpoints don't take {size.name}."
    return ""


def outside(lifecycle: Lifecycle, what: str, as_of: date, region: str = "") -> str:
    """A sentence where the day is after the end, or before a beginning that is known; else ""."""
    end = lifecycle.end_in(region)
    if end is not None and as_of > end.day:
        return f"{what} retired on {end.day.isoformat()}."
    if as_of < lifecycle.seen.day and lifecycle.seen.dated == "valid from":
        return f"{what} came on {lifecycle.seen.day.isoformat()}."
    return ""


def of_image(reference: ImageReference | None, as_of: date) -> Body:
    """What is known of a Marketplace image; {} where nothing is."""
    image = find(reference, IMAGES) if reference is not None else None
    if image is None:
        return {}
    return {
        "known": True,
        "ended": outside(image.lifecycle, f"The image {reference}", as_of),
        "generations": list(image.generations),
        "has": sorted(str(each) for each in image.has),
        "system": image.operating_system,
        "distribution": image.distribution,
        "batch_only": image.batch_only,
        "plan": dict(zip(("name", "product", "publisher"), image.plan, strict=True)) if image.plan else None,
    }


def taken(size: Size, service: Service, region: str, as_of: date) -> bool:
    """Whether lists of the service's sizes have it."""
    if service is Service.AKS and listing(size) is None and not of(size.name, service, region, as_of)["taken"]:
        return False
    return not ended(size, service, region, as_of, windows=size.series.windows_only)


def _lifecycles(size: Size, service: Service) -> Iterator[tuple[str, Lifecycle]]:
    yield size.name, size.lifecycle
    match service:
        case Service.BATCH:
            yield "Azure Batch", PARTS["batch.service"].lifecycle
            if size.series.name in batch.SERIES:
                yield f"{size.name} in Batch", batch.SERIES[size.series.name]
        case Service.AKS:
            row = listing(size)
            if row is not None:
                yield f"{size.name} on AKS", row.lifecycle
        case Service.ML_COMPUTE:
            series = machine_learning.COMPUTE_SERIES.get(size.series.name)
            if series is not None:
                yield f"The series {size.series.name} in Azure Machine Learning", series
        case _:
            pass


def _on_the_list(size: Size, region: str, as_of: date) -> bool:
    """A size that was there on the day of the list, and isn't on it, isn't taken; of others the list says nothing."""
    if endpoints.managed(size) is not None or as_of < endpoints.LIST.day:
        return True
    end = size.lifecycle.end_in(region)
    return size.lifecycle.seen.day >= endpoints.LIST.day or (end is not None and end.day < endpoints.LIST.day)
