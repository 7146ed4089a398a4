"""The RTX PRO 6000 sizes of the NC line: those that are sold, and the preview's names, which no longer deploy.

`ROWS`.
"""

from fractions import Fraction

from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.sizes import gpus
from azure_gpu.catalog.sizes.model import Driver, Series
from azure_gpu.catalog.sizes.rows import AGENT_BAKER, COMPUTE_DOCS, GEN2, GPU_PAGES, KARPENTER_SKUS, observed, size

_PREVIEW_PAGE = observed(f"{GPU_PAGES}/nc-rtxpro6000-bse-v6-series.md, preview", 2025, 12, 5)
_OVERVIEW = observed(f"{GPU_PAGES}/nc-rtxpro6000-bse-v6-series-overview.md", 2026, 6, 3)
_DRIVER_SETUP = observed(f"{COMPUTE_DOCS}/linux/n-series-driver-setup.md", 2025, 12, 4)
_PRICING = observed("a public table made from the feed of Azure's pricing calculator", 2026, 11, 20)

RTX = Series(
    name="NC_RTXPRO6000BSE_v6",
    gpu=gpus.RTX_PRO_6000,
    drivers=(Driver.GRID,),
    quota_family="StandardNCdsRTXPRO6000BSEv6XLFamily",
    lifecycle=Lifecycle(seen=_OVERVIEW),
    generations=GEN2,
    note="memory and the share of a GPU come from the pricing calculator's feed, the generation from the preview's page",
    sources=(_OVERVIEW, _DRIVER_SETUP, KARPENTER_SKUS, AGENT_BAKER, _PRICING, _PREVIEW_PAGE),
)
RTX_PREVIEW = Series(
    name="NC_RTXPRO6000BSE_v6 (preview names)",
    gpu=gpus.RTX_PRO_6000,
    drivers=(Driver.GRID,),
    quota_family="StandardNCRTXPRO6000BSEv6Family",
    lifecycle=Lifecycle(seen=_PREVIEW_PAGE, preview=True, end=_OVERVIEW),
    generations=GEN2,
    successors=("NC_RTXPRO6000BSE_v6",),
    note="the last day is the one on which a source first said that these names no longer deploy; they may have ended before. "
    "The quota family comes from a comment in karpenter's list",
    sources=(_PREVIEW_PAGE, _OVERVIEW, AGENT_BAKER, KARPENTER_SKUS),
)

_QUARTER = Fraction(1, 4)
_HALF = Fraction(1, 2)
_TO_144 = ("Standard_NC144ds_xl_RTXPRO6000BSE_v6",)
_TO_144_LEAN = ("Standard_NC144lds_xl_RTXPRO6000BSE_v6",)
_TO_288 = ("Standard_NC288ds_xl_RTXPRO6000BSE_v6",)
_TO_288_LEAN = ("Standard_NC288lds_xl_RTXPRO6000BSE_v6",)
_FEED_DIFFERS = "the feed's row for Linux says 264 GiB"

ROWS = (
    size(RTX, "Standard_NC24lds_xl_RTXPRO6000BSE_v6", 24, 72, gpus=_QUARTER, gpu_memory=24),
    size(RTX, "Standard_NC36ds_xl_RTXPRO6000BSE_v6", 36, 132, gpus=_QUARTER, gpu_memory=24),
    size(RTX, "Standard_NC36lds_xl_RTXPRO6000BSE_v6", 36, 72, gpus=_QUARTER, gpu_memory=24),
    size(RTX, "Standard_NC72ds_xl_RTXPRO6000BSE_v6", 72, 264, gpus=_HALF, gpu_memory=48),
    size(RTX, "Standard_NC72lds_xl_RTXPRO6000BSE_v6", 72, 132, gpus=_HALF, gpu_memory=48, note=_FEED_DIFFERS),
    size(RTX, "Standard_NC144ds_xl_RTXPRO6000BSE_v6", 144, 516, gpus=1, gpu_memory=96),
    size(RTX, "Standard_NC144lds_xl_RTXPRO6000BSE_v6", 144, 264, gpus=1, gpu_memory=96),
    size(RTX, "Standard_NC288ds_xl_RTXPRO6000BSE_v6", 288, 1032, gpus=2, gpu_memory=192),
    size(RTX, "Standard_NC288lds_xl_RTXPRO6000BSE_v6", 288, 516, gpus=2, gpu_memory=192),
    size(RTX_PREVIEW, "Standard_NC128ds_xl_RTXPRO6000BSE_v6", 128, 512, gpus=1, gpu_memory=96, successors=_TO_144),
    size(RTX_PREVIEW, "Standard_NC128lds_xl_RTXPRO6000BSE_v6", 128, 256, gpus=1, gpu_memory=96, successors=_TO_144_LEAN),
    size(RTX_PREVIEW, "Standard_NC256ds_xl_RTXPRO6000BSE_v6", 256, 1024, gpus=2, gpu_memory=192, successors=_TO_288),
    size(RTX_PREVIEW, "Standard_NC256lds_xl_RTXPRO6000BSE_v6", 256, 512, gpus=2, gpu_memory=192, successors=_TO_288_LEAN),
    size(RTX_PREVIEW, "Standard_NC320ds_xl_RTXPRO6000BSE_v6", 320, 1280, gpus=2, gpu_memory=192, successors=_TO_288),
    size(RTX_PREVIEW, "Standard_NC320lds_xl_RTXPRO6000BSE_v6", 320, 640, gpus=2, gpu_memory=192, successors=_TO_288_LEAN),
)
