"""Sizes without a GPU that are built for MPI: the A8 to A11, H, HB, HC and HX lines, most of them with InfiniBand.

`ROWS`. Constrained-core sizes give the guest fewer vCPUs than count against the quota.
"""

from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.sizes.model import Series, VmGeneration
from azure_gpu.catalog.sizes.rows import (
    AZURE_DOCS,
    BATCH_ARTICLE,
    BOTH,
    COMPUTE_DOCS,
    GEN1,
    GEN2,
    GENERATIONS_2020,
    GUIDES,
    NO_DRIVER,
    PREVIOUS_SIZES_2020,
    RETIREMENTS,
    SKU_LIST,
    observed,
    size,
    valid_from,
)
from azure_gpu.catalog.sources import Source

_PAGES = f"{COMPUTE_DOCS}/sizes/high-performance-compute"
_H_GUIDE = f"{AZURE_DOCS}/h-series-retirement.md"
_HB_PAGE = observed(f"{AZURE_DOCS}/hb-series.md", 2023, 5, 30)
_HB_GUIDE = f"{AZURE_DOCS}/sizes/migration-guides/hb-series-retirement.md"
_HC_GUIDE = f"{GUIDES}/hc-series-retirement.md"
_ADVISOR = observed("Azure Advisor, recommendations for Azure Batch; Azure updates, ids 548525 and 548543", 2026, 6, 9)


def _series(
    name: str,
    quota_family: str,
    lifecycle: Lifecycle,
    generations: tuple[VmGeneration, ...],
    *sources: Source,
    successors: tuple[str, ...] = (),
    note: str = "",
) -> Series:
    return Series(
        name=name,
        gpu=None,
        drivers=NO_DRIVER,
        quota_family=quota_family,
        lifecycle=lifecycle,
        generations=generations,
        successors=successors,
        note=note,
        sources=sources,
    )


A8_A11 = _series(
    "A8-A11",
    "standardA8_A11Family",
    Lifecycle(
        seen=BATCH_ARTICLE,
        announced=PREVIOUS_SIZES_2020,
        end=valid_from("Azure updates, a8-a11-azure-virtual-machine-sizes-will-be-retired-on-march-1-2021", 2021, 3, 1),
    ),
    GEN1,
    PREVIOUS_SIZES_2020,
    GENERATIONS_2020,
    successors=("H", "HB", "HC", "HBv2"),
    note="a page of 2020 gives the month of the end, 2021-03, and links the announcement that gives the day; "
    "A10 and A11 are A8 and A9 without InfiniBand",
)
H = _series(
    "H",
    "standardHFamily",
    Lifecycle(seen=BATCH_ARTICLE, announced=observed(_H_GUIDE, 2021, 8, 2), end=valid_from(_H_GUIDE, 2022, 8, 31)),
    GEN1,
    observed(f"{AZURE_DOCS}/h-series.md", 2020, 3, 10),
    GENERATIONS_2020,
    successors=("HC", "HBv2", "HBv3", "HBv5", "HX"),
    note="the guide of 2021 names HC, HBv2 and HBv3, whose InfiniBand needs CentOS 7.5, Windows Server 2016 or later; "
    "HBv5 and HX are today's (inferred)",
)
HB = _series(
    "HB",
    "",
    Lifecycle(
        seen=observed(f"{AZURE_DOCS}/hb-series.md", 2020, 2, 3),
        announced=observed(f"{AZURE_DOCS}/hb-series-retirement.md", 2021, 8, 2),
        end=valid_from("Azure/EOL, service_list.json, and the series' retirement guide", 2024, 8, 31),
    ),
    BOTH,
    _HB_PAGE,
    observed(_HB_GUIDE, 2023, 12, 7),
    successors=("HBv2", "HBv3"),
    note="no source gives the quota family",
)
HBV2 = _series(
    "HBv2",
    "standardHBrsv2Family",
    Lifecycle(
        seen=observed(f"{AZURE_DOCS}/hbv2-series.md", 2020, 10, 9),
        announced=_ADVISOR,
        end=valid_from(RETIREMENTS.where, 2027, 5, 31),
    ),
    BOTH,
    observed(f"{_PAGES}/hbv2-series.md", 2025, 11, 24),
    SKU_LIST,
    RETIREMENTS,
    successors=("HBv5", "HX"),
)
HBV3 = _series(
    "HBv3",
    "standardHBv3Family",
    Lifecycle(seen=observed(f"{AZURE_DOCS}/hbv3-series.md", 2021, 3, 12)),
    BOTH,
    observed(f"{AZURE_DOCS}/hbv3-series.md", 2024, 7, 25),
    SKU_LIST,
    note="the page says 448 GiB of memory; the SKU API, which is followed here, 456",
)
HBV4 = _series(
    "HBv4",
    "standardHBv4Family",
    Lifecycle(
        seen=observed(f"{AZURE_DOCS}/hbv4-series.md, preview", 2022, 11, 1),
        preview=True,
        general=observed(f"{_PAGES}/hbv4-series.md", 2025, 11, 24),
    ),
    GEN2,
    observed(f"{_PAGES}/hbv4-series.md", 2025, 11, 24),
    SKU_LIST,
)
HBV5 = _series(
    "HBv5",
    "standardHBv5Family",
    Lifecycle(seen=observed(f"{_PAGES}/hbv5-series.md", 2025, 9, 15)),
    GEN2,
    observed(f"{_PAGES}/hbv5-series.md", 2025, 9, 15),
    SKU_LIST,
    note="the page says 432 GiB of memory; the SKU API, which is followed here, 448",
)
HC = _series(
    "HC",
    "standardHCSFamily",
    Lifecycle(
        seen=observed(f"{AZURE_DOCS}/hc-series.md", 2020, 9, 9),
        announced=observed(_HC_GUIDE, 2026, 1, 6),
        end=valid_from(_HC_GUIDE, 2027, 5, 31),
    ),
    BOTH,
    observed(f"{_PAGES}/hc-series.md", 2025, 11, 24),
    SKU_LIST,
    RETIREMENTS,
    successors=("HBv5", "HBv4", "HX", "HBv3"),
)
HX = _series(
    "HX",
    "standardHXFamily",
    Lifecycle(
        seen=observed(f"{AZURE_DOCS}/hx-series.md, preview", 2022, 11, 1),
        preview=True,
        general=observed(f"{_PAGES}/hx-series.md", 2025, 11, 24),
    ),
    GEN2,
    observed(f"{_PAGES}/hx-series.md", 2025, 11, 24),
    SKU_LIST,
)

_FROM_HB60 = ("Standard_HB120rs_v2", "Standard_HB120rs_v3", "Standard_HB120-64rs_v3")
_FROM_HB60_45 = ("Standard_HB120-96rs_v3", "Standard_HB120-64rs_v3", "Standard_HB120-32rs_v3")
_FROM_HB60_30 = ("Standard_HB120-32rs_v3", "Standard_HB120-16rs_v3")
_FROM_HB60_15 = ("Standard_HB120-16rs_v3",)

ROWS = (
    size(A8_A11, "Standard_A8", 8, 56, rdma=True),
    size(A8_A11, "Standard_A9", 16, 112, rdma=True),
    size(H, "Standard_H8", 8, 56),
    size(H, "Standard_H8m", 8, 112),
    size(H, "Standard_H16", 16, 112),
    size(H, "Standard_H16m", 16, 224),
    size(H, "Standard_H16r", 16, 112, rdma=True),
    size(H, "Standard_H16mr", 16, 224, rdma=True),
    size(HB, "Standard_HB60rs", 60, 228, rdma=True, successors=_FROM_HB60),
    size(HB, "Standard_HB60-45rs", 45, 228, counted=60, rdma=True, successors=_FROM_HB60_45),
    size(HB, "Standard_HB60-30rs", 30, 228, counted=60, rdma=True, successors=_FROM_HB60_30),
    size(HB, "Standard_HB60-15rs", 15, 228, counted=60, rdma=True, successors=_FROM_HB60_15),
    size(HBV2, "Standard_HB120rs_v2", 120, 456, rdma=True),
    size(HBV2, "Standard_HB120-16rs_v2", 16, 456, counted=120, rdma=True),
    size(HBV2, "Standard_HB120-32rs_v2", 32, 456, counted=120, rdma=True),
    size(HBV2, "Standard_HB120-64rs_v2", 64, 456, counted=120, rdma=True),
    size(HBV2, "Standard_HB120-96rs_v2", 96, 456, counted=120, rdma=True),
    size(HBV3, "Standard_HB120rs_v3", 120, 456, rdma=True),
    size(HBV3, "Standard_HB120-16rs_v3", 16, 456, counted=120, rdma=True),
    size(HBV3, "Standard_HB120-32rs_v3", 32, 456, counted=120, rdma=True),
    size(HBV3, "Standard_HB120-64rs_v3", 64, 456, counted=120, rdma=True),
    size(HBV3, "Standard_HB120-96rs_v3", 96, 456, counted=120, rdma=True),
    size(HBV4, "Standard_HB176rs_v4", 176, 768, rdma=True),
    size(HBV4, "Standard_HB176-24rs_v4", 24, 768, counted=176, rdma=True),
    size(HBV4, "Standard_HB176-48rs_v4", 48, 768, counted=176, rdma=True),
    size(HBV4, "Standard_HB176-96rs_v4", 96, 768, counted=176, rdma=True),
    size(HBV4, "Standard_HB176-144rs_v4", 144, 768, counted=176, rdma=True),
    size(HBV5, "Standard_HB368rs_v5", 368, 448, rdma=True),
    size(HBV5, "Standard_HB368-48rs_v5", 48, 448, counted=368, rdma=True),
    size(HBV5, "Standard_HB368-96rs_v5", 96, 448, counted=368, rdma=True),
    size(HBV5, "Standard_HB368-144rs_v5", 144, 448, counted=368, rdma=True),
    size(HBV5, "Standard_HB368-192rs_v5", 192, 448, counted=368, rdma=True),
    size(HBV5, "Standard_HB368-240rs_v5", 240, 448, counted=368, rdma=True),
    size(HBV5, "Standard_HB368-288rs_v5", 288, 448, counted=368, rdma=True),
    size(HBV5, "Standard_HB368-336rs_v5", 336, 448, counted=368, rdma=True),
    size(HC, "Standard_HC44rs", 44, 352, rdma=True),
    size(HC, "Standard_HC44-16rs", 16, 352, counted=44, rdma=True),
    size(HC, "Standard_HC44-32rs", 32, 352, counted=44, rdma=True),
    size(HX, "Standard_HX176rs", 176, 1408, rdma=True),
    size(HX, "Standard_HX176-24rs", 24, 1408, counted=176, rdma=True),
    size(HX, "Standard_HX176-48rs", 48, 1408, counted=176, rdma=True),
    size(HX, "Standard_HX176-96rs", 96, 1408, counted=176, rdma=True),
    size(HX, "Standard_HX176-144rs", 144, 1408, counted=176, rdma=True),
)
