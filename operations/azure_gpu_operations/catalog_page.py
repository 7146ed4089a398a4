"""docs/catalog.md: the whole catalog as one page, as of the day on which its facts were gathered.

python -m azure_gpu_operations.catalog_page > docs/catalog.md
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from azure_gpu.catalog import container_cuda, drivers, facts, lifecycle, offers, sources, successors, tables
from azure_gpu.catalog.prices import notes, packaged
from azure_gpu.catalog.services import container_apps, container_instances, driver_extension, stack_edge, vm_images
from azure_gpu.catalog.services.aks import dcgm, kubernetes_versions, sizes, systems as aks_systems
from azure_gpu.catalog.services.batch import images, requirements as batch_requirements, sizes as batch
from azure_gpu.catalog.services.machine_learning import compute as machine_learning_sizes, endpoints
from azure_gpu.catalog.size_use import Service
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Series, Size
from azure_gpu.catalog.sources import FACTS_DAY
from azure_gpu.catalog.tables import Table
from azure_gpu_operations.markdown import table

_DOCS = Path(__file__).parents[2] / "docs"
# What the page shows and the program doesn't read, so that the library comes without it.
_FACTS = Table(str(_DOCS / "facts.csv"), facts.TABLE.columns)
_LEFT_OUT = Table(
    str(_DOCS / "left_out.csv"),
    {"what": "a fact, or a kind of fact", "reason": "why the catalog doesn't have it"},
)

INTRODUCTION = f"""# What is known about GPUs on Azure

Generated from the tables in [`azure_gpu/catalog/`](../components/azure_gpu/catalog) and of this folder by `make renew`;
a test fails if they differ. Statuses and replacements are those of {FACTS_DAY.isoformat()}, the last day of gathering facts;
`python -m operations sizes` answers for any other day, region and service, with prices. *Valid from* is the day on
which something began or ended, by the source; *observed on* is the day on which the source said so; earlier days are unknown.

**Add a size**: one row in [`sizes/sizes.csv`](../components/azure_gpu/catalog/sizes/sizes.csv), its prices as rows of
[`prices/vm_prices.csv`](../components/azure_gpu/catalog/prices/vm_prices.csv) (`python -m operations catalog refresh --size SIZE`
writes them), then `make renew`. A new series is also a row in `sizes/series.csv` and one in `sizes/lifecycles.csv`, whose `end`
is its retirement; a new source is a row in `sources.csv`, a new region one in `regions.csv`. `sizes/size_tables.py` describes the
columns; an invalid cell is reported with file, line and column. Empty: no source gives the value. 0: there is none.
"""


@cache
def known_facts() -> Mapping[str, tuple[facts.Fact, ...]]:
    """The facts of the page by what they are about: a subject of the catalog, or Azure itself."""
    return facts.read([*tables.read(facts.TABLE), *tables.read(_FACTS)], sources.named())


def left_out() -> list[dict[str, str]]:
    """What the catalog doesn't have, and why; for prices, the facts about `prices.left_out`."""
    return [{column: row.filled(column) for column in _LEFT_OUT.columns} for row in tables.read(_LEFT_OUT)]


def page() -> str:
    """The whole page."""
    return "\n".join([INTRODUCTION, *_sizes(), *_services(), *_drivers(), *_prices(), *_left_out()])


def _sizes() -> Iterator[str]:
    series = {size.series.name: size.series for size in SIZES}
    gpus = {one.gpu.model: one.gpu for one in series.values() if one.gpu}
    yield "## GPUs\n\nMemory of one whole GPU as a machine sees it: half a card where Azure offers halves.\n"
    yield table(list(gpus.values()))
    yield from _told("## Series", [_series(one) for one in series.values()])
    yield "## Sizes\n\nGPU memory is what the machine sees, all its GPUs together."
    yield from _told("Instead: what works on a plain virtual machine, best first.", [_size(size) for size in SIZES])


def _series(series: Series) -> dict[str, object]:
    lifecycle = series.lifecycle
    return {
        "series": series.name,
        "gpu": series.gpu.name if series.gpu else "",
        "drivers": series.drivers,
        "quota_family": series.quota_family or None,
        "generations": series.generations,
        "status": lifecycle.status(FACTS_DAY),
        "first_seen": lifecycle.seen.day,
        "end_announced": lifecycle.announced.day if lifecycle.announced else "",
        "last_day": lifecycle.end.day if lifecycle.end else "",
        "elsewhere": {region: end.day for region, end in lifecycle.end_elsewhere.items()},
        "also_given": [source.day for source in lifecycle.also_given],
        "guides_name": series.successors,
        "restricted": series.restricted,
        "note": series.note,
        "sources": [*series.sources, *([lifecycle.end] if lifecycle.end else [])],
    }


def _size(size: Size) -> dict[str, object]:
    end = size.lifecycle.end
    return {
        "size": size.name,
        "series": size.series.name,
        "gpus": size.gpu_count,
        "gpu_memory_gib": size.gpu_memory_gib,
        "vcpu": size.vcpus,
        "vcpu_of_quota": size.quota_vcpus,
        "memory_gib": size.memory_gib,
        "rdma": size.rdma,
        "status": size.lifecycle.status(FACTS_DAY),
        "last_day": end.day if end else "",
        "instead": _instead(size),
        "note": size.note,
    }


def _instead(size: Size) -> list[str]:
    end = size.lifecycle.end
    if end is None:
        return []
    use = offers.use_of(size, Service.VIRTUAL_MACHINES)
    day = max(FACTS_DAY, end.day)
    return [one.size.name for one in successors.find(size, use, day, SIZES, packaged(), offers.reasons)]


def _services() -> Iterator[str]:
    yield from _told("## Container Instances", _container_limits())
    yield "CUDA that the service's driver ran, by its page of that day:\n"
    yield table([{"newest_CUDA": version, "source": source} for source, version in container_instances.CUDA_BY_DATE])
    yield from _facts("container_instances")
    yield from _told("## Container Apps", list(container_apps.PROFILES.values()))
    yield from _facts("container_apps")
    yield from _told("## Batch\n\nSeries, as Batch's own pages and notices name them:", _lifecycles(batch.SERIES))
    yield from _told("Node agents:", list(images.AGENTS))
    yield "Operating systems, software and settings required by the article of 2018-12-17:\n"
    yield table([*batch_requirements.REQUIREMENTS, *batch_requirements.CLOUD_SERVICES], first=("sizes", "series"))
    yield "Parts of Batch that have been or will be retired:\n"
    parts = [part for name, part in lifecycle.PARTS.items() if name.startswith("batch.") and name != "batch.service"]
    yield table([{"what": part.what, "dates": part.lifecycle, "fix": part.fix} for part in parts])
    service = lifecycle.PARTS["batch.service"].lifecycle
    yield "Regions that Batch has left:\n"
    yield table([{"region": region, "last_day": end.day, "source": end} for region, end in service.end_elsewhere.items()])
    yield from _told(
        "Communication with nodes:",
        [
            {"mode": mode, "ports_inward": batch.INBOUND_PORTS[mode], "443_outward_to": batch.OUTBOUND_TAGS[mode]}
            for mode in batch.INBOUND_PORTS
        ],
    )
    yield from _facts("batch")
    yield "## Images of virtual machines\n"
    yield table(list(vm_images.IMAGES), first=("reference", "distribution", "has", "generations"))
    yield from _facts("vm_images")
    yield from _told("## The GPU driver extension", list(driver_extension.ENTRIES))
    yield from _told(
        "Which driver it installs by default, and which others it can install:",
        [
            {
                "series": series,
                "default": driver,
                "available": [one for one in driver_extension.TAKES if series in driver_extension.TAKES[one]],
            }
            for series, driver in driver_extension.DEFAULTS.items()
        ],
    )
    yield from _told(
        "AMD's, by the list of the system:",
        [
            {"system": system, "series": list(series), "source": driver_extension.AMD_LISTS[system]}
            for system, series in driver_extension.AMD_DEFAULTS.items()
        ],
    )
    yield from _told("## AKS", list(sizes.LISTED.values()), first=("series", "driver", "installs_driver"))
    yield "Driver images:\n"
    yield table(list({row.driver.name: row.driver for row in sizes.LISTED.values() if row.driver}.values()))
    yield "Series that AKS doesn't support, with the source:\n"
    yield table([{"series": series, "source": source} for series, source in sizes.REFUSED_SERIES.items()])
    yield from _told("OS SKUs:", list(aks_systems.OS_SKUS.values()))
    yield from _told("Kubernetes versions, by month:", list(kubernetes_versions.VERSIONS))
    yield "Counters of the DCGM exporter's default set:\n"
    yield table([{"counter": name, "unit": unit} for name, unit in dcgm.COUNTERS.items()])
    yield from _facts("aks", "gpu_sharing")
    yield "## Azure Machine Learning\n\nSeries that compute clusters take:\n"
    yield table(_lifecycles(machine_learning_sizes.COMPUTE_SERIES))
    managed = [{key: value for key, value in each._asdict().items() if key != "vcpus"} for each in endpoints.MANAGED_SIZES]
    yield from _told("Sizes of managed online endpoints:", managed)
    yield from _facts("machine_learning")
    yield from _told("## Azure Stack Edge", [{"model": name, **device._asdict()} for name, device in stack_edge.DEVICES.items()])
    yield from _told("GPUs, and sizes of virtual machines with one:", _lifecycles({**stack_edge.GPUS, **stack_edge.GPU_SIZES}))
    yield from _facts("stack_edge")
    yield "## Virtual machines\n"
    yield from _facts("machines")
    yield "## The provider's API versions, and what else is known\n"
    yield from _facts("virtual_machines", "azure")


def _container_limits() -> list[dict[str, Any]]:
    """The maximum resources of a container group, by GPU SKU and number of GPUs."""
    return [
        {
            "SKU": sku.name,
            "GPUs": count,
            "vcpu": limit.cpu,
            "memory_GB": limit.memory_gb,
            "dates": sku.lifecycle,
            "regions": sku.regions,
            "sources": [limit.source, sku.regions_source],
        }
        for sku in container_instances.GPU_SKUS.values()
        for count, limit in sku.limits.items()
    ]


def _facts(*prefixes: str) -> Iterator[str]:
    """The facts about the things whose names begin so."""
    found = [fact for thing, about in known_facts().items() if thing.startswith(prefixes) for fact in about]
    if found:
        yield table(found)


def _drivers() -> Iterator[str]:
    yield from _told("## CUDA and drivers\n\nThe first driver made for each CUDA version:", list(drivers.TOOLKITS))
    yield from _told("GPU generations:", list(drivers.ARCHITECTURES.values()))
    yield "CUDA in TensorFlow's own GPU images:\n"
    yield table([{"TensorFlow": version, "CUDA": cuda} for version, cuda in container_cuda.TENSORFLOW_CUDA.items()])


def _prices() -> Iterator[str]:
    yield "## Prices\n\nList prices are in `azure_gpu/catalog/prices/`, one row a size, region and source;"
    yield from _told(
        "`python -m operations sizes show SIZE` shows them. What services add:", list(known_facts()["prices.surcharges"])
    )
    yield table(list(known_facts()["prices.container_apps"]))
    yield from _told("Prices that may be wrong:", [{"sizes": doubt.sizes, **doubt.fact._asdict()} for doubt in notes.DOUBTS])
    yield from _told("Names with a price that aren't sizes:", list(facts.about(facts.NOT_SIZES)))


def _left_out() -> Iterator[str]:
    yield from _told("## Left out", left_out())
    yield from _told("Of the price lists:", list(known_facts()["prices.left_out"]))


def _told(text: str, rows: Sequence[Any], first: Sequence[str] = ()) -> Iterator[str]:
    """A text with its table."""
    yield f"{text}\n"
    yield table(rows, first)


def _lifecycles(rows: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"name": name, "dates": lifecycle, "source": lifecycle.seen} for name, lifecycle in rows.items()]


if __name__ == "__main__":
    print(page(), end="")
