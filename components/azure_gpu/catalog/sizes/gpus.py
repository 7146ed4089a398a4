"""The GPU models of Azure's virtual machines.

one `Gpu` a model, as a virtual machine sees it: of a K80 and of an M60, which carry two GPUs each, Azure gives
out the single GPU, half a card. MIG profiles are there for the models that AKS can cut; they have AKS's names as keys.
"""

from datetime import date

from azure_gpu.catalog.sizes.model import Gpu, MigProfile, Vendor
from azure_gpu.catalog.sources import Dated, Source

_READ = date(2026, 11, 20)  # the pages below carry no date of their own
_NVIDIA = Source("NVIDIA, CUDA GPU compute capability, with the page of legacy GPUs", Dated.OBSERVED, _READ)
_MIG = Source("NVIDIA, Multi-Instance GPU user guide, supported MIG profiles", Dated.OBSERVED, _READ)
_AMD = Source("AMD, ROCm documentation, accelerator and GPU hardware specifications", Dated.OBSERVED, _READ)

_INSTANCES = {"MIG1g": 7, "MIG2g": 3, "MIG3g": 2, "MIG4g": 1, "MIG7g": 1}  # that one GPU yields; the same for every model


def _mig(*memory_gib: int) -> dict[str, MigProfile]:
    """The five profiles in the order of `_INSTANCES`, from the GiB of memory that one instance of each has.

    NVIDIA's name of a profile carries both figures: 1g.10gb.
    """
    return {
        key: MigProfile(name=f"{key.removeprefix('MIG')}.{gib}gb", instances=instances, memory_gib=gib)
        for (key, instances), gib in zip(_INSTANCES.items(), memory_gib, strict=True)
    }


def _nvidia(
    name: str, model: str, memory_gib: int, architecture: str, capability: str, mig: dict[str, MigProfile] | None = None
) -> Gpu:
    return Gpu(
        name=name,
        model=f"NVIDIA {model}",
        vendor=Vendor.NVIDIA,
        memory_gib=memory_gib,
        architecture=architecture,
        compute_capability=capability,
        mig=mig or {},
        mig_source=_MIG if mig else None,
        source=_NVIDIA,
    )


def _amd(name: str, model: str, memory_gib: int, architecture: str) -> Gpu:
    return Gpu(name=name, model=f"AMD {model}", vendor=Vendor.AMD, memory_gib=memory_gib, architecture=architecture, source=_AMD)


K80 = _nvidia("K80", "Tesla K80 (half a card)", 12, "Kepler", "3.7")
M60 = _nvidia("M60", "Tesla M60 (half a card)", 8, "Maxwell", "5.2")
P40 = _nvidia("P40", "Tesla P40", 24, "Pascal", "6.1")
P100 = _nvidia("P100", "Tesla P100", 16, "Pascal", "6.0")
V100 = _nvidia("V100", "Tesla V100 16GB", 16, "Volta", "7.0")
V100_NVLINK = _nvidia("V100", "Tesla V100 32GB NVLink", 32, "Volta", "7.0")
T4 = _nvidia("T4", "T4", 16, "Turing", "7.5")
A10 = _nvidia("A10", "A10", 24, "Ampere", "8.6")
A100_40 = _nvidia("A100", "A100 40GB", 40, "Ampere", "8.0", _mig(5, 10, 20, 20, 40))
A100_80 = _nvidia("A100", "A100 80GB", 80, "Ampere", "8.0", _mig(10, 20, 40, 40, 80))
A100_PCIE = _nvidia("A100", "A100 80GB PCIe", 80, "Ampere", "8.0", _mig(10, 20, 40, 40, 80))
H100 = _nvidia("H100", "H100 80GB SXM", 80, "Hopper", "9.0", _mig(10, 20, 40, 40, 80))
H100_NVL = _nvidia("H100", "H100 NVL 94GB", 94, "Hopper", "9.0", _mig(12, 24, 47, 47, 94))
H200 = _nvidia("H200", "H200 141GB", 141, "Hopper", "9.0", _mig(18, 35, 71, 71, 141))
GB200 = _nvidia("GB200", "GB200", 192, "Blackwell", "10.0")
GB300 = _nvidia("GB300", "GB300", 288, "Blackwell Ultra", "10.3")
RTX_PRO_6000 = _nvidia("RTX PRO 6000", "RTX PRO 6000 Blackwell Server Edition", 96, "Blackwell", "12.0")

MI25 = _amd("MI25", "Radeon Instinct MI25", 16, "GCN 5")
V620 = _amd("V620", "Radeon PRO V620", 32, "RDNA 2")
V710 = _amd("V710", "Radeon Pro V710", 24, "RDNA 3")
MI300X = _amd("MI300X", "Instinct MI300X", 192, "CDNA 3")
