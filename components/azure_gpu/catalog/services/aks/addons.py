"""Add-ons for AKS's GPU pools (KAITO, GPU Operator): which sizes and pools they support."""

from collections.abc import Iterator, Sequence
from datetime import date

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.aks import spot
from azure_gpu.catalog.services.aks.pool import PoolRequest
from azure_gpu.catalog.services.aks.sizes import NO_DRIVER
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import Size, Vendor
from azure_gpu.catalog.sources import KAITO_SKUS, Dated, Source

_KAITO_PAGE = Source("Microsoft Learn, articles/aks/ai-toolchain-operator.md", Dated.OBSERVED, date(2025, 9, 19))
_OPERATOR_PAGE = Source("Microsoft Learn, articles/aks/nvidia-gpu-operator.md", Dated.OBSERVED, date(2026, 8, 21))
_OPERATOR_SPOT = Source("NVIDIA/gpu-operator issue 577", Dated.OBSERVED, date(2026, 11, 20))

KAITO_CAPABILITY = (8, 0)  # the smallest compute capability that its catalog of models keeps
OPERATOR_SYSTEMS_REFUSED = ("Flatcar", "AzureLinuxOSGuard")  # beside Windows


def kaito_problems(size: Size, operating_system: OperatingSystem, path: str) -> Iterator[Problem]:
    """The problems of KAITO on this size."""
    gpu = size.gpu
    if operating_system is OperatingSystem.WINDOWS:
        yield _refused("KAITO", "runs on Linux nodes only", path, str(operating_system), "choose Linux", _KAITO_PAGE)
    if gpu is None:
        return
    if gpu.vendor is not Vendor.NVIDIA:
        yield _refused("KAITO", f"doesn't support {gpu.vendor} GPUs", path, size.name, "choose an NVIDIA GPU", _KAITO_PAGE)
    elif _capability(gpu.compute_capability) < KAITO_CAPABILITY:
        fix = "choose an A10, an A100 or a later GPU"
        yield _refused("KAITO", f"no longer supports GPUs as old as a {gpu.name}", path, size.name, fix, KAITO_SKUS)


def operator_problems(pools: Sequence[PoolRequest]) -> Iterator[Problem]:
    """The problems of the GPU Operator on a cluster's pools with NVIDIA GPUs."""
    for pool in pools:
        if pool.driver != NO_DRIVER:
            fix = f"write {NO_DRIVER}"
            yield _refused("the GPU Operator", "installs the driver itself", pool.at("driver"), pool.driver, fix, _OPERATOR_PAGE)
        if pool.operating_system is OperatingSystem.WINDOWS or pool.os_sku in OPERATOR_SYSTEMS_REFUSED:
            what = pool.os_sku or str(pool.operating_system)
            fix = "choose Ubuntu"
            yield _refused("the GPU Operator", f"doesn't work on {what}", pool.at("os_sku"), what, fix, _OPERATOR_PAGE)
        if pool.spot is not None:
            yield Problem(
                path=pool.at("spot"),
                message="on Spot nodes the GPU Operator's pods need an additional toleration",
                fix=f"tolerate {spot.TAINT} in the operator's values",
                source=str(_OPERATOR_SPOT),
                code=Code.IMPOSSIBLE,
                severity=Severity.WARNING,
            )
    for pool in pools[1:]:
        if pool.os_sku != pools[0].os_sku:
            message = "doesn't support several OS SKUs in one cluster"
            fix = "give all GPU pools one OS SKU"
            yield _refused("the GPU Operator", message, pool.at("os_sku"), pool.os_sku, fix, _OPERATOR_PAGE)


def _refused(addon: str, message: str, path: str, value: str, fix: str, source: Source) -> Problem:
    return Problem(path=path, message=f"{addon} {message}", value=value, fix=fix, source=str(source), code=Code.IMPOSSIBLE)


def _capability(written: str) -> tuple[int, ...]:
    """A compute capability as numbers, for comparison; empty if unknown."""
    return tuple(int(part) for part in written.split(".") if part.isdigit())
