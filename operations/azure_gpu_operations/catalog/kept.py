"""What the catalog keeps, by list: its kind, the day on which it was read, its source, and how it is read again."""

from collections.abc import Iterable, Iterator
from datetime import date
from typing import NamedTuple

from azure_gpu.catalog import listed, regions, sources, tables
from azure_gpu.catalog.prices import container_apps as meters, price_table
from azure_gpu.catalog.services import container_apps, driver_extension, stack_edge, vm_images
from azure_gpu.catalog.services.aks import clusters, kubernetes_versions, sizes
from azure_gpu.catalog.services.batch import images, sources as batch
from azure_gpu.catalog.services.machine_learning import compute as machine_learning, endpoints
from azure_gpu.catalog.sources import Knowledge, Source

_REFRESH = "operations catalog refresh"
_PRICES, _PAGES, _AZURE = (f"{_REFRESH} --from {each}" for each in ("prices", "pages", "azure"))
_BY_HAND = "by hand, from the page"


class Kept(NamedTuple):
    """One list."""

    what: str
    kind: Knowledge
    source: Source  # its day is the day of the reading
    refresh: str  # the command that reads it again

    @property
    def last_day(self) -> date:
        """The last on which it proves something."""
        return date.fromordinal(self.source.day.toordinal() + sources.DAYS[self.kind])


def lists() -> list[Kept]:
    """All lists, those that are due first at the top."""
    return sorted([*_prices(), *_of_services(), *_of_azure(), *_ends()], key=lambda one: (one.last_day, one.what))


def _prices() -> Iterator[Kept]:
    """The prices of each source: what a later source has as well is its own."""
    machines = price_table.read(tables.text_of(price_table.TABLE.path))
    for what, rows, named in (
        ("VM prices", [(row.source, row.day) for row in machines], price_table.SOURCES),
        ("prices of Container Apps", _meter_rows(), meters.SOURCES),
    ):
        for source in dict.fromkeys(name for name, _ in rows):
            days = [day for name, day in rows if name == source]
            yield Kept(f"{len(days)} {what}", "prices", sources.observed(named[source], *_parts(max(days))), _PRICES)
    of_system_pools = sum(1 for _ in tables.read(clusters.PRICE_TABLE))
    yield Kept(f"{of_system_pools} prices of system pools", "prices", clusters.PRICES, _BY_HAND)


def _meter_rows() -> list[tuple[str, date]]:
    return [(row.source, row.day) for row in meters.read(tables.text_of(meters.METER_PRICES))]


def _of_services() -> Iterator[Kept]:
    of_regions = (source for each in regions.known().values() for source in each.sources)
    for what, source, azure, refresh in (
        ("regions", _newest(of_regions), "locations", _AZURE),
        (
            "workload profiles of Container Apps by region",
            container_apps.REGIONS_PAGE,
            "workload profiles of Container Apps",
            _AZURE,
        ),
        ("VM sizes of Batch", batch.SIZES, "VM sizes of Batch", _AZURE),
        ("series of Azure Machine Learning compute", machine_learning.TARGETS_PAGE, "VM sizes of Azure Machine Learning", _AZURE),
        ("sizes of managed online endpoints", endpoints.LIST, None, _BY_HAND),
        ("Kubernetes versions of AKS", kubernetes_versions.source(), None, _PAGES),
        (
            "Kubernetes patches of AKS",
            _newest(each.source for each in kubernetes_versions.SEEN),
            "Kubernetes versions of AKS",
            _PAGES,
        ),
        ("GPU series of AKS", _newest(each.lifecycle.seen for each in sizes.LISTED.values()), None, _BY_HAND),
        ("node agents of Batch", _newest(each.lifecycle.seen for each in images.AGENTS), None, _BY_HAND),
        ("NVIDIA GPUs on AKS", sizes.NVIDIA_PAGE, None, _BY_HAND),
        ("AMD GPUs on AKS", sizes.AMD_PAGE, None, _BY_HAND),
        ("versions of the NVIDIA driver extension", driver_extension.NEWEST_LIST, None, _BY_HAND),
        *(
            (f"series of AMD's driver extension for {of}", each, None, _BY_HAND)
            for of, each in driver_extension.AMD_LISTS.items()
        ),
        ("GPUs and sizes of Azure Stack Edge", stack_edge.VM_PAGE, None, _BY_HAND),
        ("images of virtual machines and Batch", vm_images.HPC_IMAGES, None, _BY_HAND),
    ):
        if azure is None or not any(what_listed is azure for what_listed, _ in listed.known()):
            yield Kept(what, "lists", source, refresh)


def _of_azure() -> Iterator[Kept]:
    for reading in listed.known().values():
        yield Kept(reading.source.where, "lists", reading.source, _AZURE)


def _ends() -> Iterator[Kept]:
    yield Kept("ends of VM series", "ends", sources.RETIREMENTS, _PAGES)
    yield Kept("ends and announcements of services", "ends", machine_learning.EOL, _BY_HAND)


def _newest(found: Iterable[Source]) -> Source:
    return max(found, key=lambda source: source.day)


def _parts(day: date) -> tuple[int, int, int]:
    return day.year, day.month, day.day
