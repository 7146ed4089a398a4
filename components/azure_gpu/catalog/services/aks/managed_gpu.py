"""AKS's managed GPU mode, a preview in which AKS maintains driver, device plugin and metrics exporter of a pool."""

from collections.abc import Iterator
from datetime import date

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services import observed
from azure_gpu.catalog.services.aks import kubernetes_versions
from azure_gpu.catalog.services.aks.pool import MANAGED, UNMANAGED, PoolRequest
from azure_gpu.catalog.services.aks.sizes import INSTALL
from azure_gpu.catalog.services.aks.systems import needs_feature
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import Vendor
from azure_gpu.catalog.sources import Dated, Source

PAGE = Source("Microsoft Learn, articles/aks/aks-managed-gpu-nodes.md", Dated.OBSERVED, date(2026, 7, 2))
FIRST_PAGE = Source("Microsoft Learn, articles/aks/aks-managed-gpu-nodes.md", Dated.OBSERVED, date(2025, 10, 30))
API = Source("Azure/AKS, CHANGELOG.md: API 2026-01-02-preview", Dated.OBSERVED, date(2026, 2, 8))

FEATURE = "ManagedGPUExperiencePreview"
MODES = (UNMANAGED, MANAGED)  # the first, the driver only, is the default
MIG_STRATEGIES = ("None", "Single", "Mixed")
SMALLEST_API = "2026-01-02-preview"
SINCE_KUBERNETES = (1, 34)


def check(request: PoolRequest, as_of: date) -> Iterator[Problem]:
    """The problems of the pool's management mode and MIG strategy on that day; none where it has neither."""
    for field, values in (("management_mode", MODES), ("mig_strategy", MIG_STRATEGIES)):
        value = str(getattr(request, field))
        if not value:
            continue
        if value not in values:
            yield Problem(
                path=request.at(field),
                message="unknown value of AKS's GPU profile",
                value=value,
                allowed=", ".join(values),
                fix=f"write {values[0]}",
                source=str(PAGE),
            )
        if request.api_version < SMALLEST_API:
            yield from observed.at(
                API,
                as_of,
                Problem(
                    path=request.at(field),
                    message=f"the GPU profile of API version {request.api_version} doesn't have this field",
                    value=value,
                    allowed=f"{SMALLEST_API} and later",
                    fix="leave it out, or use a newer API version",
                    code=Code.IMPOSSIBLE,
                ),
            )
    if request.management_mode == MANAGED:
        yield from _managed(request, as_of)


def _managed(request: PoolRequest, as_of: date) -> Iterator[Problem]:
    unmanaged = Problem(path="", message="", fix="leave the management mode out", code=Code.IMPOSSIBLE)
    if request.autoscaler:
        message = "a managed GPU pool can't have the cluster autoscaler, and so can't scale to zero"
        yield from observed.at(PAGE, as_of, unmanaged._replace(path=request.at("autoscaler"), message=message, value=True))
    if request.operating_system is OperatingSystem.WINDOWS:
        message = "a managed GPU pool requires Linux"
        value = request.operating_system.value
        yield from observed.at(
            FIRST_PAGE, as_of, unmanaged._replace(path=request.at("operating_system"), message=message, value=value)
        )
    if request.driver != INSTALL:
        message = "a managed GPU pool requires AKS's driver"
        yield from observed.at(PAGE, as_of, unmanaged._replace(path=request.at("driver"), message=message, value=request.driver))
    gpu = request.size.gpu if request.size is not None else None
    if gpu is not None and gpu.vendor is not Vendor.NVIDIA:
        message = "the managed GPU mode requires an NVIDIA GPU"
        yield from observed.at(FIRST_PAGE, as_of, unmanaged._replace(path=request.at("size"), message=message, value=gpu.name))
    version = kubernetes_versions.number(request.kubernetes_version)
    if version is not None and version < SINCE_KUBERNETES:
        message = "the managed GPU mode requires Kubernetes 1.34"
        value = request.kubernetes_version
        path = request.at("kubernetes_version")
        yield from observed.at(
            FIRST_PAGE, as_of, unmanaged._replace(path=path, message=message, value=value, allowed="1.34 and later")
        )
    if FEATURE not in request.features:
        feature = needs_feature(FEATURE, "the managed GPU mode is a preview", request.at("management_mode"))
        yield from observed.at(FIRST_PAGE, as_of, feature)
