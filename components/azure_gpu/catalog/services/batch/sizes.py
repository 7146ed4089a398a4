"""Which VM sizes Azure Batch supports and where, and the parts of Batch that have been or will be retired.

The rules for a whole pool are in `pools`, those for its image in `images`.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import NamedTuple

from azure_gpu.catalog import lifecycle, listed, tables
from azure_gpu.catalog.lifecycle import Lifecycle, Status
from azure_gpu.catalog.problems import Problem, not_listed
from azure_gpu.catalog.services.batch import sources
from azure_gpu.catalog.size_use import SizeUse
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.catalog.sources import BATCH_ARTICLE, valid_from

_REGIONS_END = valid_from("Azure Advisor recommendations for Batch", 2026, 3, 31)

# Batch as a whole, with the regions where it has ended.
SERVICE = Lifecycle(
    seen=sources.TEMPLATE_2017,
    end_elsewhere={name: _REGIONS_END for name in ("westindia", "chinanorth", "chinaeast", "usdodeast", "usdodcentral")},
)


class Feature(NamedTuple):
    """A part of Batch with a lifecycle."""

    what: str  # in the user's words, for messages
    lifecycle: Lifecycle
    fix: str  # what to do once it has ended


CLOUD_SERVICES = Feature(
    what="a Batch pool in Cloud Services configuration",
    lifecycle=Lifecycle(seen=sources.TEMPLATE_2017, announced=sources.SIZES, end=sources.end(sources.SPOT_2023, 2024, 2, 29)),
    fix="declare a virtual machine configuration: an image and its node agent",
)
CLASSIC_COMMUNICATION = Feature(
    what="classic communication between Batch and its nodes",
    lifecycle=Lifecycle(seen=sources.END_OF_LIFE, end=sources.end(sources.END_OF_LIFE, 2026, 3, 31)),
    fix="write Simplified, and allow outbound 443 to BatchNodeManagement.<region>",
)
MANAGED_IMAGE = Feature(
    what="a Batch pool from a managed image or a VHD",
    lifecycle=Lifecycle(seen=BATCH_ARTICLE, announced=sources.END_OF_LIFE, end=sources.end(sources.END_OF_LIFE, 2026, 3, 31)),
    fix="copy the image into an Azure Compute Gallery and use that version",
)
POOL_CERTIFICATES = Feature(
    what="a certificate that Batch installs on its nodes",
    lifecycle=Lifecycle(seen=sources.TEMPLATE_2017, end=sources.end(sources.PROVIDER, 2024, 2, 29)),
    fix="use the Key Vault extension in the pool",
)
DEFAULT_OUTBOUND = Feature(
    # The list gives 2025-09-30 as its end; the Batch team's notice of 2026-02-26 moves the date without naming the new one.
    what="default outbound access of pools without public addresses",
    lifecycle=Lifecycle(
        seen=sources.END_OF_LIFE,
        doubt=sources.end(sources.END_OF_LIFE, 2025, 9, 30),
    ),
    fix="give the subnet a NAT gateway or other explicit outbound access",
)
LOW_PRIORITY = Feature(
    what="a low-priority node of Batch",
    lifecycle=Lifecycle(seen=sources.LIMITS, end=valid_from("azure.microsoft.com/updates?id=543279", 2025, 9, 30)),
    fix="no change needed: since 2026-03 the same property requests Spot nodes",
)
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


def feature_problems(feature: Feature, as_of: date, path: str, value: object) -> list[Problem]:
    """The problems of using that part of Batch on that day."""
    return lifecycle.check(feature.lifecycle, feature.what, as_of, path=path, value=value, fix=feature.fix)


def size_problems(size: Size, use: SizeUse, as_of: date, series: Mapping[str, Lifecycle] = SERIES) -> Iterator[Problem]:
    """The problems of this size in Batch, in that region, on that day."""
    yield from lifecycle.check(
        SERVICE,
        "Azure Batch",
        as_of,
        path=use.region_path,
        value=use.region,
        region=use.region,
        fix="choose another region",
    )
    in_batch = series.get(size.series.name)
    if in_batch is None:
        if listed.has(listed.Azure.BATCH_SIZES, use.region, size.name):
            return
        fix = "list a region's sizes with `az batch location list-skus --location <region>`"
        yield not_listed(
            use.path,
            f"{size.name} in Batch, which takes almost every size,",
            use.size,
            listed.since(listed.Azure.BATCH_SIZES, use.region, sources.SIZES),
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
