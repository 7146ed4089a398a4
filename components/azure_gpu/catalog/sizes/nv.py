"""The NV line: GPUs for drawing and for light compute, from an eighth of one to four in a machine.

`ROWS`.
"""

from fractions import Fraction

from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.sizes import gpus
from azure_gpu.catalog.sizes.model import Driver, Series
from azure_gpu.catalog.sizes.rows import (
    AZURE_DOCS,
    BATCH_ARTICLE,
    BOTH,
    COMPUTE_DOCS,
    GEN1,
    GEN2,
    GENERATIONS_2020,
    GENERATIONS_2024,
    GPU_PAGES,
    GUIDES,
    KARPENTER_GPUS,
    KARPENTER_SKUS,
    LINUX_DRIVERS,
    N_SERIES_ALSO_GIVEN,
    PREVIOUS_SIZES_2020,
    RETIREMENTS,
    SKU_LIST,
    WINDOWS_DRIVERS,
    observed,
    size,
    valid_from,
)

_NV_PAGE = observed(f"{AZURE_DOCS}/nv-series.md", 2022, 3, 29)
_NV_ANNOUNCED = valid_from(f"{AZURE_DOCS}/nv-series-retirement.md", 2021, 9, 1)
_NV_END = valid_from(f"{AZURE_DOCS}/nv-series-retirement.md", 2023, 9, 6)
_PREVIOUS_SIZES_2019 = observed("MicrosoftDocs/azure-docs, includes/virtual-machines-common-sizes-previous-gen.md", 2019, 5, 16)
_NVV3_GUIDE = f"{GUIDES}/nvv3-series-retirement.md"
_NVV4_GUIDE = f"{GUIDES}/nvv4-retirement.md"
_NVV3_NVV4_ANNOUNCED = valid_from(f"{RETIREMENTS.where}: Azure updates, id 516070", 2025, 4, 15)
_A10_PAGE = observed(f"{GPU_PAGES}/nvadsa10v5-series.md", 2024, 7, 31)
_V710_PAGE = observed(f"{GPU_PAGES}/nvadsv710-v5-series.md", 2024, 9, 16)
_ENDPOINT_SIZES = observed("Microsoft Learn, machine-learning/reference-managed-online-endpoints-vm-sku-list", 2023, 10, 18)
_AMD_ON_LINUX = observed(f"{COMPUTE_DOCS}/linux/azure-n-series-amd-gpu-driver-linux-installation-guide.md", 2025, 1, 27)

_M60_DRIVERS = (Driver.GRID, Driver.CUDA)  # Azure hands out GRID; CUDA is optional, and what AKS installs
_FROM_NV = ("NVadsA10_v5", "NVads_V710_v5")
_FROM_NV_INFERRED = "1 GPU is half an M60 card; the successors are inferred: the guide names NVv3 and NVv4, both retired now"

NV = Series(
    name="NV",
    gpu=gpus.M60,
    drivers=_M60_DRIVERS,
    quota_family="standardNVFamily",
    lifecycle=Lifecycle(seen=BATCH_ARTICLE, announced=_NV_ANNOUNCED, end=_NV_END, also_given=N_SERIES_ALSO_GIVEN),
    generations=GEN1,
    successors=_FROM_NV,
    note=_FROM_NV_INFERRED,
    sources=(_NV_PAGE, _NV_END, GENERATIONS_2024, WINDOWS_DRIVERS),
)
NV_PROMO = Series(
    name="NV Promo",
    gpu=gpus.M60,
    drivers=_M60_DRIVERS,
    quota_family="standardNVPromoFamily",
    lifecycle=Lifecycle(seen=_NV_ANNOUNCED, announced=_NV_ANNOUNCED, end=_NV_END, also_given=N_SERIES_ALSO_GIVEN),
    generations=GEN1,
    successors=_FROM_NV,
    note=_FROM_NV_INFERRED,
    sources=(_NV_PAGE, _NV_END, GENERATIONS_2024, WINDOWS_DRIVERS),
)
NVV2 = Series(
    name="NVv2",
    gpu=gpus.M60,
    drivers=_M60_DRIVERS,
    quota_family="standardNVSv2Family",
    lifecycle=Lifecycle(seen=BATCH_ARTICLE, preview=True, general=PREVIOUS_SIZES_2020, doubt=KARPENTER_GPUS),
    generations=GEN1,
    successors=("NVv3", "NVadsA10_v5"),
    note="1 GPU is half an M60 card; a preview in 2019, and no page tells of its end. A page of 2020 recommends NVv3 instead; "
    "what follows NVv3 is inferred",
    sources=(PREVIOUS_SIZES_2020, _PREVIOUS_SIZES_2019, GENERATIONS_2020, WINDOWS_DRIVERS, SKU_LIST),
)
NVV3 = Series(
    name="NVv3",
    gpu=gpus.M60,
    drivers=_M60_DRIVERS,
    quota_family="standardNVSv3Family",
    lifecycle=Lifecycle(
        seen=_PREVIOUS_SIZES_2019,
        preview=True,
        general=observed(f"{AZURE_DOCS}/nvv3-series.md", 2020, 2, 3),
        announced=_NVV3_NVV4_ANNOUNCED,
        end=valid_from(_NVV3_GUIDE, 2026, 9, 30),
        end_elsewhere={"uaenorth": valid_from(_NVV3_GUIDE, 2027, 1, 31)},
    ),
    generations=BOTH,
    successors=("NVadsA10_v5", "NC_RTXPRO6000BSE_v6", "NCasT4_v3"),
    note="1 GPU is half an M60 card, with 8 GiB; one page prints 16 GB a board",
    sources=(observed(f"{GPU_PAGES}/nvv3-series.md", 2024, 7, 31), WINDOWS_DRIVERS, RETIREMENTS, SKU_LIST),
)
NVV4 = Series(
    name="NVv4",
    gpu=gpus.MI25,
    drivers=(Driver.AMD_GRAPHICS,),
    quota_family="standardNVSv4Family",
    lifecycle=Lifecycle(
        seen=observed(f"{AZURE_DOCS}/nvv4-series.md, preview", 2020, 2, 3),
        preview=True,
        general=observed(f"{AZURE_DOCS}/nvv4-series.md, translation of 2020-03-04", 2020, 3, 4),
        announced=_NVV3_NVV4_ANNOUNCED,
        end=valid_from(_NVV4_GUIDE, 2026, 9, 30),
    ),
    generations=BOTH,
    windows_only=True,
    successors=("NVads_V710_v5", "NVadsA10_v5", "NGads_V620"),
    sources=(observed(f"{GPU_PAGES}/nvv4-series.md", 2024, 7, 31), RETIREMENTS, SKU_LIST),
)
NVADS_A10_V5 = Series(
    name="NVadsA10_v5",
    gpu=gpus.A10,
    drivers=(Driver.GRID,),
    quota_family="StandardNVADSA10v5Family",
    lifecycle=Lifecycle(
        seen=observed(f"{AZURE_DOCS}/nva10v5-series.md, preview", 2022, 2, 1), preview=True, general=_ENDPOINT_SIZES
    ),
    generations=BOTH,
    note="GRID alone, which serves graphics and compute; the SKU API rounds a share of a GPU up to 1",
    sources=(_A10_PAGE, LINUX_DRIVERS, WINDOWS_DRIVERS, SKU_LIST, _ENDPOINT_SIZES),
)
NVADS_V710_V5 = Series(
    name="NVads_V710_v5",
    gpu=gpus.V710,
    drivers=(Driver.AMD_GRAPHICS, Driver.ROCM),
    quota_family="StandardNVadsV710v5Family",
    lifecycle=Lifecycle(seen=_V710_PAGE),
    generations=GEN2,
    note="ROCm on Linux; the SKU API reports no GPU",
    sources=(_V710_PAGE, _AMD_ON_LINUX, SKU_LIST, KARPENTER_SKUS),
)

_ONLY_LISTED = "named in one list of the AKS node provisioner alone; InfiniBand is the r of its name"
_ONLY_IN_GUIDE = "named in the retirement guide; no source gives its figures"

ROWS = (
    size(NV, "Standard_NV6", 6, 56, gpus=1, gpu_memory=8),
    size(NV, "Standard_NV12", 12, 112, gpus=2, gpu_memory=16),
    size(NV, "Standard_NV24", 24, 224, gpus=4, gpu_memory=32),
    size(NV, "Standard_NV24r", 24, None, gpus=4, rdma=True, note=_ONLY_LISTED),
    size(NV_PROMO, "Standard_NV6_Promo", 6, 56, gpus=1, gpu_memory=8),
    size(NV_PROMO, "Standard_NV12_Promo", 12, 112, gpus=2, gpu_memory=16),
    size(NV_PROMO, "Standard_NV24_Promo", 24, 224, gpus=4, gpu_memory=32),
    size(NVV2, "Standard_NV6s_v2", 6, 112, gpus=1, gpu_memory=8),
    size(NVV2, "Standard_NV12s_v2", 12, 224, gpus=2, gpu_memory=16),
    size(NVV2, "Standard_NV24s_v2", 24, 448, gpus=4, gpu_memory=32),
    size(NVV3, "Standard_NV12s_v3", 12, 112, gpus=1, gpu_memory=8),
    size(NVV3, "Standard_NV24s_v3", 24, 224, gpus=2, gpu_memory=16),
    size(NVV3, "Standard_NV48s_v3", 48, 448, gpus=4, gpu_memory=32),
    size(NVV3, "Standard_NV12hs_v3", None, None, gpus=None, note=_ONLY_IN_GUIDE),
    size(NVV3, "Standard_NV24ms_v3", None, None, gpus=None, note=_ONLY_IN_GUIDE),
    size(NVV3, "Standard_NV32ms_v3", None, None, gpus=None, note=_ONLY_IN_GUIDE),
    size(NVV4, "Standard_NV4as_v4", 4, 14, gpus=Fraction(1, 8), gpu_memory=2),
    size(NVV4, "Standard_NV8as_v4", 8, 28, gpus=Fraction(1, 4), gpu_memory=4),
    size(NVV4, "Standard_NV16as_v4", 16, 56, gpus=Fraction(1, 2), gpu_memory=8),
    size(NVV4, "Standard_NV32as_v4", 32, 112, gpus=1, gpu_memory=16),
    size(NVV4, "Standard_NV4ahs_v4", None, None, gpus=None, note=_ONLY_IN_GUIDE),
    size(NVV4, "Standard_NV8ahs_v4", None, None, gpus=None, note=_ONLY_IN_GUIDE),
    size(NVV4, "Standard_NV16ahs_v4", None, None, gpus=None, note=_ONLY_IN_GUIDE),
    size(NVV4, "Standard_NV32ahs_v4", None, None, gpus=None, note=_ONLY_IN_GUIDE),
    size(NVADS_A10_V5, "Standard_NV6ads_A10_v5", 6, 55, gpus=Fraction(1, 6), gpu_memory=4),
    size(NVADS_A10_V5, "Standard_NV12ads_A10_v5", 12, 110, gpus=Fraction(1, 3), gpu_memory=8),
    size(NVADS_A10_V5, "Standard_NV18ads_A10_v5", 18, 220, gpus=Fraction(1, 2), gpu_memory=12),
    size(NVADS_A10_V5, "Standard_NV36ads_A10_v5", 36, 440, gpus=1, gpu_memory=24),
    size(NVADS_A10_V5, "Standard_NV36adms_A10_v5", 36, 880, gpus=1, gpu_memory=24),
    size(NVADS_A10_V5, "Standard_NV72ads_A10_v5", 72, 880, gpus=2, gpu_memory=48),
    size(NVADS_V710_V5, "Standard_NV4ads_V710_v5", 4, 16, gpus=Fraction(1, 6), gpu_memory=4),
    size(NVADS_V710_V5, "Standard_NV8ads_V710_v5", 8, 32, gpus=Fraction(1, 3), gpu_memory=8),
    size(NVADS_V710_V5, "Standard_NV12ads_V710_v5", 12, 64, gpus=Fraction(1, 2), gpu_memory=12),
    size(NVADS_V710_V5, "Standard_NV24ads_V710_v5", 24, 128, gpus=1, gpu_memory=24),
    size(NVADS_V710_V5, "Standard_NV28adms_V710_v5", 28, 160, gpus=1, gpu_memory=24),
)
