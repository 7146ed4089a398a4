"""Reads the tables of GPUs, series, lifecycles and sizes in this folder, at their first use.

One row is one thing, one column one fact. An empty cell is unknown; 0 means none. Memory is in GiB. Sources are keys of
`../sources.csv`.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple, get_args

from azure_gpu.catalog import lifecycle, sources, tables
from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.sizes.lookup import PREFIX
from azure_gpu.catalog.sizes.model import Driver, Gpu, MigProfile, Series, Size, Vendor, VmGeneration
from azure_gpu.catalog.sources import Source
from azure_gpu.catalog.tables import Row, Table, text_of

GPUS = Table(
    tables.beside(__file__, "gpus.csv"),
    {
        "model": "in full: NVIDIA A100 80GB PCIe; half a card where Azure gives out halves",
        "name": "what people call it, and what searches compare: A100",
        "vendor": "NVIDIA or AMD",
        "memory_gib": "GiB of one whole GPU",
        "architecture": "its generation: Ampere",
        "compute_capability": "NVIDIA's, such as 8.0; empty for other vendors",
        "mig_memory_gib": "GiB of one instance of MIG1g, MIG2g, MIG3g, MIG4g and MIG7g; empty where AKS can't cut the model",
        "mig_source": "a source of mig_memory_gib",
        "source": "a source of the rest",
    },
)
SERIES = Table(
    tables.beside(__file__, "series.csv"),
    {
        "series": "its name: NCasT4_v3; lifecycles.csv has a row of the same name",
        "gpu": "a model of gpus.csv; empty without a GPU, or where no source names it",
        "drivers": "kinds of driver that work, the usual one first; empty without a GPU",
        "quota_family": "as the service spells it",
        "generations": "of the machines that it runs: Gen1, Gen2",
        "architecture": "of the processor: x64 or Arm64",
        "windows_only": "whether only Windows guests work: yes or no",
        "restricted": "whether no public page offers it: yes or no",
        "successors": "series or sizes that Azure's own guide names, in its order",
        "note": "a note",
        "sources": "sources of the row",
    },
)
LIFECYCLES = Table(
    tables.beside(__file__, "lifecycles.csv"),
    {
        "of": "a series, or a size whose dates differ from those of its series",
        **lifecycle.COLUMNS,
    },
)
SIZES = Table(
    tables.beside(__file__, "sizes.csv"),
    {
        "size": "as Azure spells it: Standard_NC4as_T4_v3",
        "series": "a row of series.csv, whose sources are the size's",
        "vcpus": "that the guest can use",
        "quota_vcpus": "that count against the quota; more than vcpus for constrained sizes",
        "memory_gib": "GiB of memory",
        "gpus": "0 without one, 1/6 where six machines share one",
        "gpu_memory_gib": "GiB that the machine sees, all its GPUs together; 0 without one",
        "rdma": "whether it has InfiniBand: yes or no",
        "successors": "sizes that work instead, best first",
        "note": "a note",
    },
)

# How many instances one GPU yields, by AKS's name of the profile; the same for every model.
_INSTANCES = {"MIG1g": 7, "MIG2g": 3, "MIG3g": 2, "MIG4g": 1, "MIG7g": 1}


class SizeTables(NamedTuple):
    """The four tables, read. Each is in the order of its file."""

    gpus: Mapping[str, Gpu]  # by model
    series: Mapping[str, Series]
    sizes: tuple[Size, ...]


@cache
def packaged() -> SizeTables:
    """The tables that come with the catalog. Their files are read at the first call."""
    texts = (text_of(table.path) for table in (GPUS, SERIES, LIFECYCLES, SIZES))
    return read(*texts, known=sources.named())


def read(gpus: str, series: str, lifecycles: str, sizes: str, *, known: Mapping[str, Source]) -> SizeTables:
    """The tables of four texts, with the sources that they may refer to. TableError where a cell isn't what its column holds."""
    models = {name: _gpu(row, known) for name, row in tables.by_name(tables.rows(GPUS, gpus), "model").items()}
    rows_of_dates = tables.by_name(tables.rows(LIFECYCLES, lifecycles), "of")
    dates = {name: (row, lifecycle.read(row, known)) for name, row in rows_of_dates.items()}
    rows_of_series = tables.by_name(tables.rows(SERIES, series), "series")
    rows_of_sizes = tables.by_name(tables.rows(SIZES, sizes), "size")
    for name, row in rows_of_sizes.items():
        if not name.startswith(PREFIX):
            raise row.wrong("size", f"a name that begins with {PREFIX}")
    named = dict.fromkeys((*rows_of_series, *rows_of_sizes))  # what a successor may be
    for name, (row, _) in dates.items():
        if name not in named:
            raise row.wrong("of", "a series of series.csv or a size of sizes.csv")
    lines: dict[str, Series] = {}
    for name, row in rows_of_series.items():
        if name not in dates:
            raise row.wrong("series", "a series that lifecycles.csv has a row of")
        _check_successors(row, named)
        lines[name] = _series(name, row, models, dates[name][1], known)
    found: list[Size] = []
    for name, row in rows_of_sizes.items():
        _check_successors(row, named)
        found.append(_size(name, row, lines, dates[name][1] if name in dates else None))
    return SizeTables(MappingProxyType(models), MappingProxyType(lines), tuple(found))


def _gpu(row: Row, known: Mapping[str, Source]) -> Gpu:
    memory = row.texts("mig_memory_gib")
    if memory and (len(memory) != len(_INSTANCES) or not all(gib.isdecimal() for gib in memory)):
        raise row.wrong("mig_memory_gib", f"{len(_INSTANCES)} integers separated by {tables.SEPARATOR!r}, or empty")
    if bool(memory) != bool(row["mig_source"]):
        raise row.wrong("mig_source", "a source if mig_memory_gib is set, else empty")
    gib = row.whole("memory_gib")
    if not gib:
        raise row.wrong("memory_gib", "an integer above 0")
    return Gpu(
        name=row.filled("name"),
        model=row.filled("model"),
        vendor=row.one_of("vendor", get_args(Vendor)),
        memory_gib=gib,
        architecture=row.filled("architecture"),
        compute_capability=row["compute_capability"],
        mig={
            key: MigProfile(name=f"{key.removeprefix('MIG')}.{each}gb", instances=instances, memory_gib=int(each))
            for (key, instances), each in zip(_INSTANCES.items(), memory, strict=False)
        },
        mig_source=row.maybe("mig_source", known, sources.WHERE),
        source=row.one_of("source", known, sources.WHERE),
    )


def _series(name: str, row: Row, gpus: Mapping[str, Gpu], lifecycle: Lifecycle, known: Mapping[str, Source]) -> Series:
    if not row["sources"]:
        raise row.wrong("sources", "one or more sources")
    return Series(
        name=name,
        gpu=row.maybe("gpu", gpus, "a model of gpus.csv"),
        drivers=row.several("drivers", Driver),
        quota_family=row["quota_family"],
        lifecycle=lifecycle,
        sources=row.several("sources", known, sources.WHERE),
        generations=row.several("generations", get_args(VmGeneration)),
        architecture=row.one_of("architecture", ("x64", "Arm64")),
        windows_only=row.yes("windows_only"),
        restricted=row.yes("restricted"),
        successors=row.texts("successors"),
        note=row["note"],
    )


def _size(name: str, row: Row, series: Mapping[str, Series], own: Lifecycle | None) -> Size:
    vcpus, counted = row.whole("vcpus"), row.whole("quota_vcpus")
    if (vcpus is None) != (counted is None) or (vcpus or 0) > (counted or 0):
        raise row.wrong("quota_vcpus", "at least vcpus, and empty if vcpus is empty")
    return Size(
        name=name,
        series=row.one_of("series", series, "a series of series.csv"),
        vcpus=vcpus,
        quota_vcpus=counted,
        memory_gib=row.whole("memory_gib"),
        gpu_count=row.fraction("gpus"),
        gpu_memory_gib=row.whole("gpu_memory_gib"),
        rdma=row.yes("rdma"),
        successors=row.texts("successors"),
        own_lifecycle=own,
        note=row["note"],
    )


def _check_successors(row: Row, named: Mapping[str, object]) -> None:
    row.several("successors", named, "series of series.csv and sizes of sizes.csv")
