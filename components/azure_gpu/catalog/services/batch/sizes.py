"""Which VM sizes Azure Batch supports and where. The parts of Batch that have been or will be retired are `lifecycle.PARTS`.

The rules for a whole pool are in `pools`, those for its image in `images`.
"""

from collections.abc import Iterator, Mapping
from datetime import date

from azure_gpu.catalog import lifecycle, listed, tables
from azure_gpu.catalog.lifecycle import Lifecycle, Status
from azure_gpu.catalog.problems import Problem, not_listed
from azure_gpu.catalog.services.batch import sources
from azure_gpu.catalog.size_use import SizeUse
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.catalog.sources import valid_from

# From here on `targetLowPriorityNodes` means Spot nodes in both allocation modes.
CONVERTED = valid_from("azure.microsoft.com/updates?id=543279, summaries of 2026-03", 2026, 3, 1)

# What communication needs, by mode: the mode, ports inward, service tags outward at 443.
INBOUND_PORTS: Mapping[str, tuple[int, ...]] = {"Simplified": (), "Classic": (29876, 29877)}
OUTBOUND_TAGS: Mapping[str, tuple[str, ...]] = {
    "Simplified": ("BatchNodeManagement.<region>",),
    "Classic": ("BatchNodeManagement.<region>", "Storage.<region>"),
}


# NDv2 is in its tables of 2018, "not yet available" in those of 2021. HBv4, HBv5 and HX are what its recommendations name to move
# to from HBv2 and HC.
SERIES = lifecycle.of_series(tables.beside(__file__, "batch_series.csv"))


def size_problems(size: Size, use: SizeUse, as_of: date, series: Mapping[str, Lifecycle] = SERIES) -> Iterator[Problem]:
    """The problems of this size in Batch, in that region, on that day."""
    yield from lifecycle.of_part("batch.service", as_of, use.region_path, use.region, use.region)
    in_batch = series.get(size.series.name)
    if in_batch is None:
        if listed.has("VM sizes of Batch", use.region, size.name):
            return
        fix = "list a region's sizes with `az batch location list-skus --location <region>`"
        yield not_listed(
            use.path,
            f"{size.name} in Batch, which takes almost every size,",
            use.size,
            listed.since("VM sizes of Batch", use.region, sources.SIZES),
            fix,
        )
        return
    if as_of < in_batch.seen.day and size.lifecycle.status(as_of, use.region) is Status.UNKNOWN:
        return  # the size's own rule reports it
    yield from lifecycle.check(
        _without_later_end(in_batch, size, use.region),
        f"{size.name} in Batch",
        as_of,
        path=use.path,
        value=use.size,
        region=use.region,
    )


def _without_later_end(in_batch: Lifecycle, size: Size, region: str) -> Lifecycle:
    """The lifecycle without an end in Batch that isn't before the size's end, which the size's own rule reports."""
    own_end = size.lifecycle.end_in(region)
    if own_end is not None and in_batch.end is not None and own_end.day <= in_batch.end.day:
        return in_batch._replace(end=None)
    return in_batch
