"""The OS SKUs of AKS nodes, which of them support GPUs and until when, and the retirement of kubenet."""

from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from azure_gpu.catalog import lifecycle
from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services import observed
from azure_gpu.catalog.services.aks import kubernetes_versions
from azure_gpu.catalog.services.aks.pool import PROVIDER_API, PROVIDER_SOURCE, SYSTEM, PoolRequest
from azure_gpu.catalog.services.aks.sizes import NVIDIA_PAGE, WINDOWS_PAGE, NodeSystem
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import Vendor
from azure_gpu.catalog.sources import Dated, Source

_CHANGES = "Azure/AKS, CHANGELOG.md"
_CHANGES_READ = Source(_CHANGES, Dated.OBSERVED, date(2026, 8, 7))
_VERSIONS_2024 = Source("Microsoft Learn, articles/aks/supported-kubernetes-versions.md", Dated.OBSERVED, date(2024, 10, 30))
_FLATCAR_CLOSED = Source(f"{_CHANGES}: no new Flatcar pools", Dated.OBSERVED, date(2026, 7, 17))
_AZURE_LINUX_2 = "Azure/EOL, service_list.json, and Azure/AKS, CHANGELOG.md: Azure Linux 2.0 on AKS"
_AZURE_LINUX_2_END = Source(_AZURE_LINUX_2, Dated.VALID_FROM, date(2025, 11, 30))
_AZURE_LINUX_2_IMAGES_GONE = Source(f"{_AZURE_LINUX_2}, removal of its node images", Dated.VALID_FROM, date(2026, 3, 31))

WINDOWS_GPU_FEATURE = "WindowsGPUPreview"
WINDOWS_GPU_SINCE = (1, 29)  # the first Kubernetes version that has it
UBUNTU_2404_SINCE = (1, 35)  # the Kubernetes version from which `Ubuntu` means 24.04; before, 22.04
WINDOWS_2025_SINCE = (1, 37)  # the default of Windows pools from this Kubernetes version on
KUBENET = Lifecycle(
    seen=Source("Azure/EOL, service_list.json", Dated.OBSERVED, date(2025, 12, 18)),
    end=Source("Azure/EOL, service_list.json: kubenet on AKS", Dated.VALID_FROM, date(2028, 3, 31)),
)


class OsSku(NamedTuple):
    """One OS SKU of a pool."""

    name: str
    operating_system: OperatingSystem
    system: NodeSystem | None  # None: never with an NVIDIA GPU
    lifecycle: Lifecycle
    closed: Source | None = None  # since then, new pools can't use it
    in_provider: bool = True  # `PROVIDER_API` has the value
    instead: tuple[str, ...] = ()


def _linux(
    name: str,
    system: NodeSystem | None,
    seen: Source,
    end: Source | None = None,
    *,
    in_provider: bool = True,
    closed: Source | None = None,
) -> OsSku:
    return OsSku(
        name=name,
        operating_system=OperatingSystem.LINUX,
        system=system,
        lifecycle=Lifecycle(seen=seen, end=end),
        closed=closed,
        in_provider=in_provider,
        instead=("Ubuntu", "AzureLinux"),
    )


def _windows(name: str, seen: Source, end: Source | None = None, *, in_provider: bool = True) -> OsSku:
    return OsSku(
        name=name,
        operating_system=OperatingSystem.WINDOWS,
        system=NodeSystem.WINDOWS,
        lifecycle=Lifecycle(seen=seen, end=end),
        in_provider=in_provider,
        instead=("Windows2022",),
    )


OS_SKUS: dict[str, OsSku] = {
    sku.name: sku
    for sku in (
        _linux("Ubuntu", NodeSystem.UBUNTU, _VERSIONS_2024),
        _linux(
            "Ubuntu2204",
            NodeSystem.UBUNTU,
            _VERSIONS_2024,
            Source(f"{_CHANGES}: Ubuntu 22.04", Dated.VALID_FROM, date(2027, 6, 30)),
        ),
        _linux("AzureLinux", NodeSystem.AZURE_LINUX_3, _VERSIONS_2024),
        _linux("AzureLinux3", NodeSystem.AZURE_LINUX_3, _VERSIONS_2024),
        OsSku(
            name="CBLMariner",
            operating_system=OperatingSystem.LINUX,
            system=NodeSystem.AZURE_LINUX_2,
            lifecycle=Lifecycle(seen=_VERSIONS_2024, end=_AZURE_LINUX_2_END, also_given=(_AZURE_LINUX_2_IMAGES_GONE,)),
            instead=("AzureLinux", "Ubuntu"),
        ),
        _linux("Flatcar", None, NVIDIA_PAGE, in_provider=False, closed=_FLATCAR_CLOSED),
        _linux("AzureLinuxOSGuard", None, NVIDIA_PAGE, in_provider=False),
        _windows("Windows2019", WINDOWS_PAGE, Source(f"{_CHANGES}: Windows Server 2019", Dated.VALID_FROM, date(2026, 3, 1))),
        _windows("Windows2022", WINDOWS_PAGE, Source(f"{_CHANGES}: Windows Server 2022", Dated.VALID_FROM, date(2028, 6, 30))),
        _windows(
            "WindowsAnnual",
            WINDOWS_PAGE,
            Source(f"{_CHANGES}: Windows Server Annual Channel", Dated.VALID_FROM, date(2026, 5, 15)),
            in_provider=False,
        ),
        _windows("Windows2025", _CHANGES_READ, in_provider=False),
    )
}


def default_sku(operating_system: OperatingSystem, kubernetes_version: str) -> str:
    """AKS's default OS SKU. An empty version: the default of all current versions."""
    if operating_system is OperatingSystem.LINUX:
        return "Ubuntu"
    version = kubernetes_versions.number(kubernetes_version)
    return "Windows2025" if version is not None and version >= WINDOWS_2025_SINCE else "Windows2022"


def ubuntu_release(kubernetes_version: str) -> str:
    """What the SKU `Ubuntu` means with this Kubernetes version. Empty: the version isn't known."""
    version = kubernetes_versions.number(kubernetes_version)
    if version is None:
        return ""
    return "24.04" if version >= UBUNTU_2404_SINCE else "22.04"


def node_system(request: PoolRequest) -> NodeSystem | None:
    """The system of the pool's nodes; None if the SKU is unknown or without NVIDIA support."""
    sku = OS_SKUS.get(request.os_sku or default_sku(request.operating_system, request.kubernetes_version))
    return sku.system if sku is not None else None


def check(request: PoolRequest, as_of: date) -> Iterator[Problem]:
    """The problems of the system of this pool on that day."""
    if request.os_sku:
        yield from _sku(request, as_of)
    if request.operating_system is OperatingSystem.WINDOWS:
        yield from _windows_pool(request, as_of)


def _sku(request: PoolRequest, as_of: date) -> Iterator[Problem]:
    path = request.at("os_sku")
    sku = OS_SKUS.get(request.os_sku)
    if sku is None:
        yield Problem(
            path=path,
            message="unknown OS SKU of AKS, so it wasn't checked",
            value=request.os_sku,
            allowed=", ".join(OS_SKUS),
            source=str(PROVIDER_SOURCE),
            code=Code.UNKNOWN,
            severity=Severity.WARNING,
        )
        return
    if sku.operating_system is not request.operating_system:
        yield Problem(
            path=path,
            message=f"{sku.name} is for {sku.operating_system}, and the pool is for {request.operating_system}",
            value=request.os_sku,
            allowed=", ".join(name for name, other in OS_SKUS.items() if other.operating_system is request.operating_system),
            fix="choose one for the pool's operating system",
            source=str(PROVIDER_SOURCE),
            code=Code.IMPOSSIBLE,
        )
    fix = f"write {sku.instead[0]}, or leave it out"
    yield from lifecycle.check(
        sku.lifecycle, f"{sku.name} on AKS", as_of, path=path, value=request.os_sku, fix=fix, instead=sku.instead
    )
    if sku.closed is not None:
        yield from observed.at(
            sku.closed,
            as_of,
            Problem(
                path=path,
                message=f"AKS no longer creates pools with {sku.name}",
                value=request.os_sku,
                fix=fix,
                instead=sku.instead,
                code=Code.NOT_OFFERED,
            ),
        )
    if not sku.in_provider and request.api_version == PROVIDER_API:
        yield Problem(
            path=path,
            message=f"API version {PROVIDER_API} doesn't have the OS SKU {sku.name}",
            value=request.os_sku,
            fix=f"{fix}, or use a newer API version",
            source=str(PROVIDER_SOURCE),
            code=Code.IMPOSSIBLE,
        )
    gpu = request.size.gpu if request.size is not None else None
    if sku.system is None and gpu is not None and gpu.vendor is Vendor.NVIDIA:
        yield Problem(
            path=path,
            message=f"AKS doesn't support NVIDIA GPUs on {sku.name}",
            value=request.os_sku,
            fix=fix,
            instead=sku.instead,
            source=str(NVIDIA_PAGE),
            code=Code.NOT_OFFERED,
        )


def _windows_pool(request: PoolRequest, as_of: date) -> Iterator[Problem]:
    if request.mode == SYSTEM:
        yield Problem(
            path=request.at("mode"),
            message="a System pool requires Linux",
            value=request.mode,
            allowed="User for a Windows pool",
            fix="write User, and add a Linux system pool",
            source=str(PROVIDER_SOURCE),
            code=Code.IMPOSSIBLE,
        )
    version = kubernetes_versions.number(request.kubernetes_version)
    if request.os_sku == "Windows2022" and version is not None and version >= WINDOWS_2025_SINCE:
        yield Problem(
            path=request.at("os_sku"),
            message="Kubernetes 1.37 and later have no pools with Windows Server 2022",
            value=request.os_sku,
            allowed="Windows2025",
            fix="write Windows2025, or Kubernetes 1.36",
            source=str(_CHANGES_READ),
            code=Code.IMPOSSIBLE,
        )
    if request.size is None or request.size.gpu is None:
        return
    if version is not None and version < WINDOWS_GPU_SINCE:
        yield Problem(
            path=request.at("kubernetes_version"),
            message="GPUs on Windows nodes require Kubernetes 1.29",
            value=request.kubernetes_version,
            allowed="1.29 and later",
            fix="use a later version, or Linux",
            source=str(WINDOWS_PAGE),
            code=Code.IMPOSSIBLE,
        )
    if WINDOWS_GPU_FEATURE not in request.features:
        yield from observed.at(
            WINDOWS_PAGE,
            as_of,
            needs_feature(WINDOWS_GPU_FEATURE, "GPUs on Windows nodes are a preview", request.at("operating_system")),
        )


def needs_feature(feature: str, what: str, path: str) -> Problem:
    """The warning that the subscription must have a feature flag that isn't in the request."""
    return Problem(
        path=path,
        message=f"{what}; whether the subscription has the feature {feature} is not known",
        fix=f"run `az feature register --namespace Microsoft.ContainerService --name {feature}`, and add it to `features`",
        code=Code.UNKNOWN,
        severity=Severity.WARNING,
    )


def check_network_plugin(plugin: str, as_of: date, path: str) -> list[Problem]:
    """The problems of a cluster's network plugin on that day. Azure CNI has no end."""
    if plugin != "kubenet":
        return []
    fix = "write azure, with the overlay mode"
    return lifecycle.check(KUBENET, "kubenet on AKS", as_of, path=path, value=plugin, fix=fix, instead=("azure",))
