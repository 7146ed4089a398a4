"""The NC line: GPUs for compute, one to four in a machine, from K80 to H100.

`ROWS`. The RTX PRO 6000 sizes of the line are in `nc_rtx`.
"""

from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.sizes import gpus
from azure_gpu.catalog.sizes.model import Driver, Series
from azure_gpu.catalog.sizes.rows import (
    AGENT_BAKER,
    AZURE_DOCS,
    BATCH_ARTICLE,
    BOTH,
    CUDA,
    GEN1,
    GEN2,
    GENERATIONS_2020,
    GENERATIONS_2024,
    GPU_PAGES,
    GUIDES,
    KAITO_SKUS,
    KARPENTER_GPUS,
    KARPENTER_SKUS,
    LINUX_DRIVERS,
    N_SERIES_ALSO_GIVEN,
    N_SERIES_MIGRATION,
    RETIREMENTS,
    SKU_LIST,
    WINDOWS_DRIVERS,
    WORKBENCH_ARTICLE,
    observed,
    size,
    valid_from,
)

_NC_ANNOUNCED = observed(f"{AZURE_DOCS}/nc-series-retirement.md", 2021, 9, 1)
_NC_END = valid_from(f"{AZURE_DOCS}/sizes/migration-guides/nc-series-retirement.md", 2023, 9, 6)
_NCV3_GUIDE = f"{GUIDES}/ncv3-retirement.md"
_NCV3_ANNOUNCED = observed(f"{AZURE_DOCS}/ncv3-nc6s-nc12s-nc24s-retirement.md", 2024, 3, 19)
_NCV3_US_GOVERNMENT = valid_from(_NCV3_GUIDE, 2026, 12, 31)
_NCV3_INDIA_AND_CHINA = valid_from(_NCV3_GUIDE, 2027, 6, 30)

NC = Series(
    name="NC",
    gpu=gpus.K80,
    drivers=CUDA,
    quota_family="standardNCFamily",
    lifecycle=Lifecycle(seen=WORKBENCH_ARTICLE, announced=_NC_ANNOUNCED, end=_NC_END, also_given=N_SERIES_ALSO_GIVEN),
    generations=GEN1,
    successors=("NCasT4_v3",),
    note="1 GPU is half a K80 card",
    sources=(observed(f"{AZURE_DOCS}/nc-series.md", 2020, 2, 3), N_SERIES_MIGRATION, GENERATIONS_2024, KARPENTER_GPUS),
)
NC_PROMO = Series(
    name="NC Promo",
    gpu=gpus.K80,
    drivers=CUDA,
    quota_family="standardNCPromoFamily",
    lifecycle=Lifecycle(seen=_NC_ANNOUNCED, announced=_NC_ANNOUNCED, end=_NC_END, also_given=N_SERIES_ALSO_GIVEN),
    generations=GEN1,
    successors=("NCasT4_v3",),
    note="1 GPU is half a K80 card",
    sources=(N_SERIES_MIGRATION, GENERATIONS_2024, KARPENTER_GPUS),
)
NCV2 = Series(
    name="NCv2",
    gpu=gpus.P100,
    drivers=CUDA,
    quota_family="standardNCSv2Family",
    lifecycle=Lifecycle(
        seen=BATCH_ARTICLE,
        announced=observed(f"{AZURE_DOCS}/ncv2-series-retirement.md", 2021, 9, 1),
        end=valid_from(f"{AZURE_DOCS}/sizes/migration-guides/ncv2-series-retirement.md", 2023, 9, 6),
        also_given=N_SERIES_ALSO_GIVEN,
    ),
    generations=BOTH,
    successors=("NC_A100_v4",),
    sources=(observed(f"{AZURE_DOCS}/ncv2-series.md", 2020, 2, 3), N_SERIES_MIGRATION, GENERATIONS_2020, KARPENTER_GPUS),
)
NCV3 = Series(
    name="NCv3",
    gpu=gpus.V100,
    drivers=CUDA,
    quota_family="standardNCSv3Family",
    lifecycle=Lifecycle(
        seen=BATCH_ARTICLE,
        announced=_NCV3_ANNOUNCED,
        end=valid_from(_NCV3_GUIDE, 2025, 9, 30),
        end_elsewhere={
            "usgovvirginia": _NCV3_US_GOVERNMENT,
            "usgovarizona": _NCV3_US_GOVERNMENT,
            "jioindiawest": _NCV3_INDIA_AND_CHINA,
            "chinanorth3": _NCV3_INDIA_AND_CHINA,
        },
    ),
    generations=BOTH,
    successors=("NCads_H100_v5", "NCasT4_v3", "NVadsA10_v5", "NVads_V710_v5"),
    note="the guide names the successors by workload: H100 for most, T4 for cheap inference, the NV series for graphics",
    sources=(observed(f"{GPU_PAGES}/ncv3-series.md", 2024, 7, 31), observed(_NCV3_GUIDE, 2025, 5, 28), RETIREMENTS, SKU_LIST),
)
NCAS_T4_V3 = Series(
    name="NCasT4_v3",
    gpu=gpus.T4,
    drivers=(Driver.CUDA, Driver.GRID),
    quota_family="Standard NCASv3_T4 Family",
    lifecycle=Lifecycle(seen=observed(f"{AZURE_DOCS}/nct4-v3-series.md", 2020, 8, 10)),
    generations=BOTH,
    sources=(
        observed(f"{GPU_PAGES}/ncast4v3-series.md", 2024, 7, 31),
        LINUX_DRIVERS,
        WINDOWS_DRIVERS,
        SKU_LIST,
        KARPENTER_SKUS,
    ),
)
NCADS_A10_V4 = Series(
    name="NCads_A10_v4",
    gpu=gpus.A10,
    drivers=(Driver.GRID,),
    quota_family="StandardNCADSA10v4Family",
    lifecycle=Lifecycle(seen=SKU_LIST),
    note="no page of Microsoft's was found; the number of GPUs is what the SKU API reports and may stand for a share of one",
    sources=(SKU_LIST, AGENT_BAKER),
)
NC_A100_V4 = Series(
    name="NC_A100_v4",
    gpu=gpus.A100_PCIE,
    drivers=CUDA,
    quota_family="StandardNCADSA100v4Family",
    lifecycle=Lifecycle(
        seen=observed(f"{AZURE_DOCS}/nc-a100-v4-series.md, preview", 2022, 3, 1),
        preview=True,
        general=observed(f"{AZURE_DOCS}/nc-a100-v4-series.md", 2023, 9, 19),
    ),
    generations=GEN2,
    sources=(observed(f"{GPU_PAGES}/nca100v4-series.md", 2024, 7, 31), SKU_LIST, KAITO_SKUS),
)
NCADS_H100_V5 = Series(
    name="NCads_H100_v5",
    gpu=gpus.H100_NVL,
    drivers=CUDA,
    quota_family="StandardNCadsH100v5Family",
    lifecycle=Lifecycle(seen=_NCV3_ANNOUNCED),
    generations=GEN2,
    sources=(observed(f"{GPU_PAGES}/ncadsh100v5-series.md", 2024, 7, 31), SKU_LIST, KAITO_SKUS),
)
NCCADS_H100_V5 = Series(
    name="NCCads_H100_v5",
    gpu=gpus.H100_NVL,
    drivers=CUDA,
    quota_family="StandardNCCads2023Family",
    lifecycle=Lifecycle(seen=observed(f"{GPU_PAGES}/nccadsh100v5-series.md", 2024, 8, 6)),
    generations=GEN2,
    note="confidential virtual machine",
    sources=(observed(f"{GPU_PAGES}/nccadsh100v5-series.md", 2024, 8, 6), SKU_LIST),
)

_FROM_NC6 = ("Standard_NC4as_T4_v3", "Standard_NC8as_T4_v3")
_FROM_NC12 = ("Standard_NC16as_T4_v3",)
_FROM_NC24 = ("Standard_NC64as_T4_v3",)
_TO_A100 = ("Standard_NC96ads_A100_v4",)
_NO_INFINIBAND = "the successor that the guide names has no InfiniBand"
_NC24RS_V3 = NCV3.lifecycle._replace(
    announced=observed(f"{AZURE_DOCS}/ncv3-nc24rs-retirement.md", 2024, 3, 19),
    also_given=(valid_from("Azure/EOL, service_list.json, and the guide as first announced", 2025, 3, 31),),
)

ROWS = (
    size(NC, "Standard_NC6", 6, 56, gpus=1, gpu_memory=12, successors=_FROM_NC6),
    size(NC, "Standard_NC12", 12, 112, gpus=2, gpu_memory=24, successors=_FROM_NC12),
    size(NC, "Standard_NC24", 24, 224, gpus=4, gpu_memory=48, successors=_FROM_NC24),
    size(NC, "Standard_NC24r", 24, 224, gpus=4, gpu_memory=48, rdma=True, successors=_FROM_NC24, note=_NO_INFINIBAND),
    size(NC_PROMO, "Standard_NC6_Promo", 6, 56, gpus=1, gpu_memory=12, successors=_FROM_NC6),
    size(NC_PROMO, "Standard_NC12_Promo", 12, 112, gpus=2, gpu_memory=24, successors=_FROM_NC12),
    size(NC_PROMO, "Standard_NC24_Promo", 24, 224, gpus=4, gpu_memory=48, successors=_FROM_NC24),
    size(NC_PROMO, "Standard_NC24r_Promo", 24, 224, gpus=4, gpu_memory=48, rdma=True, successors=_FROM_NC24, note=_NO_INFINIBAND),
    size(NCV2, "Standard_NC6s_v2", 6, 112, gpus=1, gpu_memory=16, successors=("Standard_NC24ads_A100_v4",)),
    size(NCV2, "Standard_NC12s_v2", 12, 224, gpus=2, gpu_memory=32, successors=("Standard_NC48ads_A100_v4",)),
    size(NCV2, "Standard_NC24s_v2", 24, 448, gpus=4, gpu_memory=64, successors=_TO_A100),
    size(NCV2, "Standard_NC24rs_v2", 24, 448, gpus=4, gpu_memory=64, rdma=True, successors=_TO_A100, note=_NO_INFINIBAND),
    size(NCV3, "Standard_NC6s_v3", 6, 112, gpus=1, gpu_memory=16),
    size(NCV3, "Standard_NC12s_v3", 12, 224, gpus=2, gpu_memory=32),
    size(NCV3, "Standard_NC24s_v3", 24, 448, gpus=4, gpu_memory=64),
    size(NCV3, "Standard_NC24rs_v3", 24, 448, gpus=4, gpu_memory=64, rdma=True, lifecycle=_NC24RS_V3, note=_NO_INFINIBAND),
    size(NCAS_T4_V3, "Standard_NC4as_T4_v3", 4, 28, gpus=1, gpu_memory=16),
    size(NCAS_T4_V3, "Standard_NC8as_T4_v3", 8, 56, gpus=1, gpu_memory=16),
    size(NCAS_T4_V3, "Standard_NC16as_T4_v3", 16, 110, gpus=1, gpu_memory=16),
    size(NCAS_T4_V3, "Standard_NC64as_T4_v3", 64, 440, gpus=4, gpu_memory=64),
    size(NCADS_A10_V4, "Standard_NC8ads_A10_v4", 8, 100, gpus=1),
    size(NCADS_A10_V4, "Standard_NC16ads_A10_v4", 16, 200, gpus=1),
    size(NCADS_A10_V4, "Standard_NC32ads_A10_v4", 32, 400, gpus=2),
    size(NC_A100_V4, "Standard_NC24ads_A100_v4", 24, 220, gpus=1, gpu_memory=80),
    size(NC_A100_V4, "Standard_NC48ads_A100_v4", 48, 440, gpus=2, gpu_memory=160),
    size(NC_A100_V4, "Standard_NC96ads_A100_v4", 96, 880, gpus=4, gpu_memory=320),
    size(NCADS_H100_V5, "Standard_NC40ads_H100_v5", 40, 320, gpus=1, gpu_memory=94),
    size(NCADS_H100_V5, "Standard_NC80adis_H100_v5", 80, 640, gpus=2, gpu_memory=188),
    size(NCCADS_H100_V5, "Standard_NCC40ads_H100_v5", 40, 320, gpus=1, gpu_memory=94),
)
