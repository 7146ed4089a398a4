"""The ND line: GPUs for training, four or eight in a machine, most of them with InfiniBand between machines.

`ROWS`. The variants that no public page offers are in `nd_restricted`.
"""

from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.sizes import gpus
from azure_gpu.catalog.sizes.model import Driver, Series
from azure_gpu.catalog.sizes.rows import (
    AZURE_DOCS,
    BATCH_ARTICLE,
    BOTH,
    CUDA,
    GEN2,
    GPU_PAGES,
    KAITO_SKUS,
    KARPENTER_GPUS,
    KARPENTER_SKUS,
    N_SERIES_ALSO_GIVEN,
    N_SERIES_MIGRATION,
    NO_DRIVER,
    RETIREMENTS,
    SKU_LIST,
    observed,
    size,
    valid_from,
)

_ND_FAMILY = observed(f"{AZURE_DOCS}/sizes/gpu-accelerated/nd-family.md", 2024, 6, 6)
_H200_PAGE = observed(f"{GPU_PAGES}/nd-h200-v5-series.md", 2025, 9, 2)
_MI300X_PAGE = observed(f"{GPU_PAGES}/ndmi300xv5-series.md", 2024, 8, 1)
_GB200_PAGE = observed(f"{GPU_PAGES}/nd-gb200-v6-series.md", 2025, 3, 20)
_GB300_PAGE = observed(f"{GPU_PAGES}/nd-gb300-v6-series.md", 2026, 8, 12)
_NDM_PAGE = observed(f"{AZURE_DOCS}/ndm-a100-v4-series.md", 2023, 3, 13)

ND = Series(
    name="ND",
    gpu=gpus.P40,
    drivers=CUDA,
    quota_family="standardNDSFamily",
    lifecycle=Lifecycle(
        seen=BATCH_ARTICLE,
        announced=observed(f"{AZURE_DOCS}/nd-series-retirement.md", 2021, 9, 1),
        end=valid_from(f"{AZURE_DOCS}/sizes/migration-guides/nd-series-retirement.md", 2023, 9, 6),
        also_given=N_SERIES_ALSO_GIVEN,
    ),
    generations=BOTH,
    sources=(observed(f"{GPU_PAGES}/nd-series.md", 2024, 7, 31), N_SERIES_MIGRATION, KARPENTER_GPUS),
)
NDV2 = Series(
    name="NDv2",
    gpu=gpus.V100_NVLINK,
    drivers=CUDA,
    quota_family="standardNDSv2Family",
    lifecycle=Lifecycle(seen=BATCH_ARTICLE),
    generations=GEN2,
    note="in 2018 the series had ND40s_v2, a preview with 16 GiB a GPU; a page of 2020-02-03 says that ND40rs_v2 replaced it",
    sources=(
        observed(f"{AZURE_DOCS}/ndv2-series.md", 2020, 2, 3),
        observed(f"{GPU_PAGES}/ndv2-series.md", 2024, 9, 17),
        SKU_LIST,
        RETIREMENTS,
    ),
)
NDV3 = Series(
    name="NDv3",
    gpu=None,
    drivers=NO_DRIVER,
    quota_family="standardNDSv3Family",
    lifecycle=Lifecycle(seen=KARPENTER_GPUS, doubt=KARPENTER_GPUS),
    note="one list names its size, and no source says anything else of it",
    sources=(KARPENTER_GPUS,),
)
NDASR_A100_V4 = Series(
    name="NDasrA100_v4",
    gpu=gpus.A100_40,
    drivers=CUDA,
    quota_family="Standard NDASv4_A100 Family",
    lifecycle=Lifecycle(seen=observed(f"{AZURE_DOCS}/nda100-v4-series.md", 2021, 5, 26)),
    generations=GEN2,
    sources=(observed(f"{GPU_PAGES}/ndasra100v4-series.md", 2024, 7, 31), SKU_LIST),
)
NDM_A100_V4 = Series(
    name="NDm_A100_v4",
    gpu=gpus.A100_80,
    drivers=CUDA,
    quota_family="standard NDAMSv4_A100Family",
    lifecycle=Lifecycle(seen=_NDM_PAGE),
    generations=GEN2,
    sources=(_NDM_PAGE, SKU_LIST, KAITO_SKUS),
)
ND_H100_V5 = Series(
    name="ND_H100_v5",
    gpu=gpus.H100,
    drivers=CUDA,
    quota_family="standardNDSH100v5Family",
    lifecycle=Lifecycle(seen=_ND_FAMILY),
    generations=GEN2,
    sources=(observed(f"{GPU_PAGES}/ndh100v5-series.md", 2025, 9, 2), SKU_LIST, KAITO_SKUS),
)
ND_H200_V5 = Series(
    name="ND_H200_v5",
    gpu=gpus.H200,
    drivers=CUDA,
    quota_family="standardNDISRH200V5Family",
    lifecycle=Lifecycle(seen=_H200_PAGE),
    generations=GEN2,
    note="a comment in karpenter's list calls the quota family standardNDSH200v5Family",
    sources=(_H200_PAGE, SKU_LIST, KARPENTER_GPUS),
)
ND_MI300X_V5 = Series(
    name="ND_MI300X_v5",
    gpu=gpus.MI300X,
    drivers=(Driver.ROCM,),
    quota_family="standardNDISv5MI300XFamily",
    lifecycle=Lifecycle(seen=_ND_FAMILY),
    generations=GEN2,
    sources=(_MI300X_PAGE, SKU_LIST),
)
ND_MI300X_V5_NO_RDMA = Series(
    name="ND_MI300X_v5 (no RDMA)",
    gpu=gpus.MI300X,
    drivers=(Driver.ROCM,),
    quota_family="standardNDISv5MI300XFamily",
    lifecycle=Lifecycle(seen=SKU_LIST),
    note="the SKU API reports no GPU",
    sources=(SKU_LIST,),
)
ND_GB200_V6 = Series(
    name="ND_GB200_v6",
    gpu=gpus.GB200,
    drivers=CUDA,
    quota_family="standardNDISRGB200V6NDRFamily",
    lifecycle=Lifecycle(seen=_GB200_PAGE),
    generations=GEN2,
    architecture="Arm64",
    note="the page gives the memory of one GPU, 192 GB",
    sources=(_GB200_PAGE, KARPENTER_SKUS),
)
ND_GB300_V6 = Series(
    name="ND_GB300_v6",
    gpu=gpus.GB300,
    drivers=CUDA,
    quota_family="standardNDISRGB300V6Family",
    lifecycle=Lifecycle(seen=_GB300_PAGE),
    generations=GEN2,
    architecture="Arm64",
    note="the page gives the memory of one GPU, 288 GB",
    sources=(_GB300_PAGE, KARPENTER_SKUS),
)
ND_GB300_V6_G5 = Series(
    name="ND_GB300_v6 (G5)",
    gpu=gpus.GB300,
    drivers=CUDA,
    quota_family="",
    lifecycle=Lifecycle(seen=_GB300_PAGE),
    generations=GEN2,
    architecture="Arm64",
    note="on the page of ND_GB300_v6; no source gives the quota family of this size",
    sources=(_GB300_PAGE,),
)

_FROM_ND6S = ("Standard_NC4as_T4_v3", "Standard_NC8as_T4_v3")
_FROM_ND12S = ("Standard_NC16as_T4_v3",)
_FROM_ND24S = ("Standard_NC64as_T4_v3",)
_FROM_ND24RS = ("Standard_ND96amsr_A100_v4",)
_PRINTED_24 = "a page of 2020 prints 24 GiB of GPU memory; it is 4 x 24"
_PRINTED_1900 = "the page says 1900 GiB of memory; the SKU API, which is followed here, 1800"

ROWS = (
    size(ND, "Standard_ND6s", 6, 112, gpus=1, gpu_memory=24, successors=_FROM_ND6S),
    size(ND, "Standard_ND12s", 12, 224, gpus=2, gpu_memory=48, successors=_FROM_ND12S),
    size(ND, "Standard_ND24s", 24, 448, gpus=4, gpu_memory=96, successors=_FROM_ND24S, note=_PRINTED_24),
    size(ND, "Standard_ND24rs", 24, 448, gpus=4, gpu_memory=96, rdma=True, successors=_FROM_ND24RS),
    size(NDV2, "Standard_ND40rs_v2", 40, 672, gpus=8, gpu_memory=256, rdma=True),
    size(NDV3, "Standard_ND40s_v3", None, None, gpus=None, note="no r in the name, so without InfiniBand (inferred)"),
    size(NDASR_A100_V4, "Standard_ND96asr_v4", 96, 900, gpus=8, gpu_memory=320, rdma=True),
    size(NDM_A100_V4, "Standard_ND96amsr_A100_v4", 96, 1800, gpus=8, gpu_memory=640, rdma=True, note=_PRINTED_1900),
    size(ND_H100_V5, "Standard_ND96isr_H100_v5", 96, 1900, gpus=8, gpu_memory=640, rdma=True),
    size(ND_H200_V5, "Standard_ND96isr_H200_v5", 96, 1850, gpus=8, gpu_memory=1128, rdma=True),
    size(ND_MI300X_V5, "Standard_ND96isr_MI300X_v5", 96, 1850, gpus=8, gpu_memory=1536, rdma=True),
    size(ND_MI300X_V5_NO_RDMA, "Standard_ND96is_MI300X_v5", 96, 1850, gpus=8, gpu_memory=1536),
    size(ND_GB200_V6, "Standard_ND128isr_NDR_GB200_v6", 128, 900, gpus=4, gpu_memory=768, rdma=True),
    size(ND_GB300_V6, "Standard_ND128isr_GB300_v6", 128, 864, gpus=4, gpu_memory=1152, rdma=True),
    size(ND_GB300_V6_G5, "Standard_ND128isrG5_GB300_v6", 128, 864, gpus=4, gpu_memory=1152, rdma=True),
)
