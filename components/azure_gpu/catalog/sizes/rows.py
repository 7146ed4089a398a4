"""Builds the rows of the tables beside this file, and names the sources that several tables share.

In: what a table says of one size. Out: a `Size`; sources. A source of which only the month is known has the month's last day, by
which it was surely there.
"""

from datetime import date
from fractions import Fraction

from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.sizes.model import Driver, Series, Size, VmGeneration
from azure_gpu.catalog.sources import Dated, Source

AZURE_DOCS = "MicrosoftDocs/azure-docs, articles/virtual-machines"
COMPUTE_DOCS = "MicrosoftDocs/azure-compute-docs, articles/virtual-machines"  # the same pages since 2024
GPU_PAGES = f"{COMPUTE_DOCS}/sizes/gpu-accelerated"
GUIDES = f"{COMPUTE_DOCS}/sizes/lifecycle/retirement"


def observed(where: str, year: int, month: int, day: int) -> Source:
    """A source that says something on that day."""
    return Source(where, Dated.OBSERVED, date(year, month, day))


def valid_from(where: str, year: int, month: int, day: int) -> Source:
    """A source that gives the day itself: of a beginning, of an announcement, or the last day of a series."""
    return Source(where, Dated.VALID_FROM, date(year, month, day))


WORKBENCH_ARTICLE = observed(
    "Microsoft Docs, Azure Machine Learning Workbench: how to use GPU (article of 2017-09-14)", 2017, 9, 14
)
INFERENCE_ARTICLE = observed(
    "Microsoft Docs, machine-learning/service: deploy a model for inference with GPU (article of 2019-05-02)", 2019, 5, 2
)
BATCH_ARTICLE = observed(
    "Microsoft Docs, Azure Batch: use compute-intensive virtual machines (article of 2018-12-17)", 2018, 12, 17
)
SKU_LIST = observed(
    "kubernetes/autoscaler, cluster-autoscaler/cloudprovider/azure/azure_instance_types.go (from Azure's resource SKU API)",
    2026,
    3,
    5,
)
KARPENTER_GPUS = observed("Azure/karpenter-provider-azure, pkg/utils/supported-gpus.yaml", 2026, 8, 31)
KARPENTER_SKUS = observed("Azure/karpenter-provider-azure, pkg/providers/instancetype/known_skus.yaml", 2026, 8, 31)
KAITO_SKUS = observed("kaito-project/kaito, pkg/sku/azure_sku_handler.go", 2026, 8, 31)
AGENT_BAKER = observed("Azure/AgentBaker, pkg/agent/datamodel/gpu_components.go", 2026, 8, 21)
RETIREMENTS = observed("Microsoft Learn, virtual-machines/sizes/lifecycle/retirements-and-capacity-restrictions", 2026, 9, 25)
N_SERIES_MIGRATION = observed(f"{AZURE_DOCS}/n-series-migration.md", 2023, 2, 27)
PREVIOUS_SIZES_2020 = observed(f"{AZURE_DOCS}/sizes-previous-gen.md", 2020, 11, 1)
GENERATIONS_2020 = observed(f"{AZURE_DOCS}/generation-2.md", 2020, 8, 28)
GENERATIONS_2024 = observed(f"{COMPUTE_DOCS}/generation-2.md", 2024, 3, 4)
LINUX_DRIVERS = observed(f"{COMPUTE_DOCS}/includes/virtual-machines-n-series-linux-support.md", 2025, 12, 1)
WINDOWS_DRIVERS = observed(f"{COMPUTE_DOCS}/includes/virtual-machines-n-series-windows-support.md", 2023, 4, 18)

# The first N-series (NC, NCv2, ND, NV) were to end in 2022; the guides then moved the day twice.
N_SERIES_ALSO_GIVEN = (
    valid_from(f"{AZURE_DOCS}/n-series-migration.md and many pages of its time", 2023, 8, 31),
    valid_from(f"{AZURE_DOCS}/nc-series-retirement.md and its siblings, as first announced", 2022, 8, 31),
)

NO_DRIVER: tuple[Driver, ...] = ()
CUDA = (Driver.CUDA,)
GEN1 = (VmGeneration.GEN1,)
GEN2 = (VmGeneration.GEN2,)
BOTH = (VmGeneration.GEN1, VmGeneration.GEN2)


def size(
    series: Series,
    name: str,
    vcpus: int | None,
    memory: int | None,
    *,
    counted: int | None = None,
    gpus: int | Fraction | None = 0,
    gpu_memory: int | None = None,
    rdma: bool = False,
    successors: tuple[str, ...] = (),
    lifecycle: Lifecycle | None = None,
    note: str = "",
) -> Size:
    """One size.

    `memory` and `gpu_memory` are GiB, `gpu_memory` that of all GPUs together (0 without a GPU). `counted` are the vCPUs that
    count against the quota; without it, all of `vcpus`. `gpus` is 0 by default and None where no source gives it.
    """
    return Size(
        name=name,
        series=series,
        vcpus=vcpus,
        quota_vcpus=counted or vcpus,
        memory_gib=memory,
        gpu_count=None if gpus is None else Fraction(gpus),
        gpu_memory_gib=0 if gpus == 0 else gpu_memory,
        rdma=rdma,
        successors=successors,
        own_lifecycle=lifecycle,
        note=note,
    )
