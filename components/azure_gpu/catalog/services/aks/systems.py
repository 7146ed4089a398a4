"""The OS SKUs of AKS nodes, which of them support GPUs and until when, and the retirement of kubenet."""

from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from azure_gpu.catalog import lifecycle
from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.aks import kubernetes_versions
from azure_gpu.catalog.services.aks.sizes import NVIDIA_PAGE, WINDOWS_PAGE, NodeSystem
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.catalog.sources import Dated, Source, observed, valid_from

_CHANGES = "Azure/AKS, CHANGELOG.md"
_CHANGES_READ = observed(_CHANGES, 2026, 8, 7)
_VERSIONS_2024 = observed("Microsoft Learn, articles/aks/supported-kubernetes-versions.md", 2024, 10, 30)
_FLATCAR_CLOSED = observed(f"{_CHANGES}: no new Flatcar pools", 2026, 7, 17)
_AZURE_LINUX_2 = "Azure/EOL, service_list.json, and Azure/AKS, CHANGELOG.md: Azure Linux 2.0 on AKS"
_AZURE_LINUX_2_END = valid_from(_AZURE_LINUX_2, 2025, 11, 30)
_AZURE_LINUX_2_IMAGES_GONE = valid_from(f"{_AZURE_LINUX_2}, removal of its node images", 2026, 3, 31)

PROVIDER_API = "2025-09-01"  # the version of the agent pool API that the program's provider speaks
_WITHOUT_2022 = observed(f"{_CHANGES}: Windows Server 2022 and Kubernetes 1.37", 2026, 6, 19)
WINDOWS_2025_SINCE = (1, 37)  # the default of Windows pools from this Kubernetes version on, which has no Windows Server 2022
KUBENET = Lifecycle(
    seen=observed("Azure/EOL, service_list.json", 2025, 12, 18),
    end=valid_from("Azure/EOL, service_list.json: kubenet on AKS", 2028, 3, 31),
)
BASIC_LOAD_BALANCER = Lifecycle(
    seen=observed(f"{_CHANGES}: no new clusters with Basic Load Balancer from 2025-03-31 on", 2025, 3, 31),
    end=valid_from(f"{_CHANGES}: Basic Load Balancer", 2025, 9, 30),
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


def _sku(
    name: str,
    system: NodeSystem | None,
    seen: Source,
    end: date | None = None,
    *,
    what: str = "",
    in_provider: bool = True,
    closed: Source | None = None,
) -> OsSku:
    """`end`: the last day of `what`, by AKS's changelog."""
    windows = name.startswith("Windows")
    last = Source(f"{_CHANGES}: {what}", Dated.VALID_FROM, end) if end is not None else None
    return OsSku(
        name=name,
        operating_system="Windows" if windows else "Linux",
        system=system,
        lifecycle=Lifecycle(seen=seen, end=last),
        closed=closed,
        in_provider=in_provider,
        instead=("Windows2022",) if windows else ("Ubuntu", "AzureLinux"),
    )


_WINDOWS = "Windows"
OS_SKUS: dict[str, OsSku] = {
    sku.name: sku
    for sku in (
        _sku("Ubuntu", "Ubuntu", _VERSIONS_2024),
        _sku("Ubuntu2204", "Ubuntu", _VERSIONS_2024, date(2027, 6, 30), what="Ubuntu 22.04"),
        _sku("AzureLinux", "Azure Linux 3", _VERSIONS_2024),
        _sku("AzureLinux3", "Azure Linux 3", _VERSIONS_2024),
        OsSku(
            name="CBLMariner",
            operating_system="Linux",
            system="Azure Linux 2",
            lifecycle=Lifecycle(seen=_VERSIONS_2024, end=_AZURE_LINUX_2_END, also_given=(_AZURE_LINUX_2_IMAGES_GONE,)),
            instead=("AzureLinux", "Ubuntu"),
        ),
        _sku("Flatcar", None, NVIDIA_PAGE, in_provider=False, closed=_FLATCAR_CLOSED),
        _sku("AzureLinuxOSGuard", None, NVIDIA_PAGE, in_provider=False),
        _sku("Windows2019", _WINDOWS, WINDOWS_PAGE, date(2026, 3, 1), what="Windows Server 2019"),
        _sku("Windows2022", _WINDOWS, WINDOWS_PAGE, date(2028, 6, 30), what="Windows Server 2022"),
        _sku("WindowsAnnual", _WINDOWS, WINDOWS_PAGE, date(2026, 5, 15), what="Windows Server Annual Channel", in_provider=False),
        _sku("Windows2025", _WINDOWS, _CHANGES_READ, in_provider=False),
    )
}


def default_sku(operating_system: OperatingSystem, kubernetes_version: str) -> str:
    """AKS's default OS SKU. An empty version: the default of all current versions."""
    if operating_system == "Linux":
        return "Ubuntu"
    version = kubernetes_versions.number(kubernetes_version)
    return "Windows2025" if version is not None and version >= WINDOWS_2025_SINCE else "Windows2022"


def check_version(os_sku: str, kubernetes_version: str, as_of: date, path: str) -> Iterator[Problem]:
    """Whether the OS SKU is there with that version of Kubernetes. An empty or unknown version: not checked."""
    version = kubernetes_versions.number(kubernetes_version)
    if os_sku == "Windows2022" and version is not None and version >= WINDOWS_2025_SINCE:
        problem = refused("aks.windows_2022_ended", path, os_sku, instead=("Windows2025",))
        yield from lifecycle.as_of_day(_WITHOUT_2022, as_of, problem)


def node_system(os_sku: str) -> NodeSystem | None:
    """The system of a Linux pool's nodes; None if the SKU is unknown or without NVIDIA support. Empty: AKS's default."""
    sku = OS_SKUS.get(os_sku or "Ubuntu")
    return sku.system if sku is not None else None


def check(os_sku: str, size: Size | None, as_of: date, path: str) -> Iterator[Problem]:
    """The problems of the system of a Linux pool on that day. `size`: None where it isn't known."""
    sku = OS_SKUS.get(os_sku)
    if sku is None:
        yield refused("aks.unknown_os_sku", path, os_sku, allowed=", ".join(OS_SKUS))
        return
    if sku.operating_system != "Linux":
        allowed = ", ".join(name for name, other in OS_SKUS.items() if other.operating_system == "Linux")
        yield refused("aks.os_sku_of_other_system", path, os_sku, allowed=allowed, sku=sku)
    fix = f"write {sku.instead[0]}, or leave it out"
    what = f"{sku.name} on AKS"
    yield from lifecycle.check(sku.lifecycle, what, as_of, path=path, value=os_sku, fix=fix, instead=sku.instead)
    if sku.closed is not None:
        closed = refused("aks.os_sku_closed", path, os_sku, fix=fix, instead=sku.instead, sku=sku)
        yield from lifecycle.as_of_day(sku.closed, as_of, closed)
    if not sku.in_provider:
        yield refused("aks.os_sku_newer_than_api", path, os_sku, provider_api=PROVIDER_API, sku=sku, otherwise=fix)
    gpu = size.gpu if size is not None else None
    if sku.system is None and gpu is not None and gpu.vendor == "NVIDIA":
        yield refused("aks.os_sku_without_gpus", path, os_sku, fix=fix, instead=sku.instead, sku=sku)


def needs_feature(feature: str, what: str, path: str) -> Problem:
    """The warning that the subscription must have a feature flag that isn't in the request."""
    return refused("aks.feature_unknown", path, what=what, feature=feature)


def check_network_plugin(plugin: str, as_of: date, path: str) -> list[Problem]:
    """The problems of a cluster's network plugin on that day. Azure CNI has no end."""
    if plugin != "kubenet":
        return []
    fix = "write azure, with the overlay mode"
    return lifecycle.check(KUBENET, "kubenet on AKS", as_of, path=path, value=plugin, fix=fix, instead=("azure",))


def check_load_balancer(sku: str, as_of: date, path: str) -> list[Problem]:
    """The problems of a cluster's load balancer on that day. The standard one has no end."""
    if sku.lower() != "basic":
        return []
    fix, instead = (
        "write standard; an existing cluster is migrated by `az aks update --load-balancer-sku standard`",
        ("standard",),
    )
    what = "the Basic Load Balancer of AKS"
    return lifecycle.check(BASIC_LOAD_BALANCER, what, as_of, path=path, value=sku, fix=fix, instead=instead)
