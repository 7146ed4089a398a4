"""The NG line, AMD GPUs for cloud gaming, and the NP line, whose accelerators are FPGAs and no GPUs.

`ROWS`.
"""

from fractions import Fraction

from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.sizes import gpus
from azure_gpu.catalog.sizes.model import Driver, Series
from azure_gpu.catalog.sizes.rows import (
    AZURE_DOCS,
    BOTH,
    COMPUTE_DOCS,
    GEN1,
    GPU_PAGES,
    GUIDES,
    NO_DRIVER,
    RETIREMENTS,
    SKU_LIST,
    observed,
    size,
    valid_from,
)

_V620_PREVIEW = observed(f"{AZURE_DOCS}/ngads-v-620-series.md, preview", 2023, 6, 11)
_V620_PAGE = observed(f"{GPU_PAGES}/ngadsv620-series.md", 2024, 7, 31)
_NP_PAGE = observed(f"{COMPUTE_DOCS}/sizes/fpga-accelerated/np-series.md", 2026, 4, 13)
_NP_MIGRATION = observed(f"{GUIDES}/n-series-migration.md", 2026, 9, 25)

NGADS_V620 = Series(
    name="NGads_V620",
    gpu=gpus.V620,
    drivers=(Driver.AMD_GRAPHICS,),
    quota_family="StandardNGADSV620v1Family",
    lifecycle=Lifecycle(seen=_V620_PREVIEW, preview=True, general=_V620_PAGE),
    generations=BOTH,
    windows_only=True,
    note="the preview's page says that only Windows guests work; the SKU API reports no GPU",
    sources=(_V620_PREVIEW, _V620_PAGE, SKU_LIST),
)
NP = Series(
    name="NP",
    gpu=None,
    drivers=NO_DRIVER,
    quota_family="standardNPSFamily",
    lifecycle=Lifecycle(
        seen=observed(f"{AZURE_DOCS}/np-series.md", 2021, 2, 9),
        announced=valid_from(f"{RETIREMENTS.where}: Azure updates, id 548497", 2026, 4, 2),
        end=valid_from(f"{GUIDES}/np-series-retirement.md", 2027, 5, 31),
    ),
    generations=GEN1,
    successors=("NCasT4_v3", "NDv2", "NCads_H100_v5"),
    note="1, 2 and 4 FPGAs (Alveo U250), which the SKU API counts as GPUs; the guide's successors have GPUs instead",
    sources=(_NP_PAGE, _NP_MIGRATION, RETIREMENTS, SKU_LIST),
)

ROWS = (
    size(NGADS_V620, "Standard_NG8ads_V620_v1", 8, 16, gpus=Fraction(1, 4), gpu_memory=8),
    size(NGADS_V620, "Standard_NG16ads_V620_v1", 16, 32, gpus=Fraction(1, 2), gpu_memory=16),
    size(NGADS_V620, "Standard_NG32ads_V620_v1", 32, 64, gpus=1, gpu_memory=32),
    size(NGADS_V620, "Standard_NG32adms_V620_v1", 32, 176, gpus=1, gpu_memory=32),
    size(NP, "Standard_NP10s", 10, 168, successors=("Standard_NC4as_T4_v3",)),
    size(NP, "Standard_NP20s", 20, 336, successors=("Standard_NC16as_T4_v3", "Standard_ND40rs_v2")),
    size(NP, "Standard_NP40s", 40, 672, successors=("Standard_NC64as_T4_v3", "Standard_NC24ads_A100_v4")),
)
