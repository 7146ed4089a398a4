"""The OS SKUs of AKS nodes, which of them support GPUs and until when."""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import NamedTuple, get_args

from azure_gpu.catalog import lifecycle, sources, tables
from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.aks import kubernetes_versions
from azure_gpu.catalog.services.aks.sizes import NodeSystem
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.catalog.sources import Source, observed
from azure_gpu.catalog.tables import Keyed, Table

_CHANGES = "Azure/AKS, CHANGELOG.md"
PROVIDER_API = "2025-09-01"  # the version of the agent pool API that the program's provider speaks
_WITHOUT_2022 = observed(f"{_CHANGES}: Windows Server 2022 and Kubernetes 1.37", 2026, 6, 19)
WINDOWS_2025_SINCE = (1, 37)  # the default of Windows pools from this Kubernetes version on, which has no Windows Server 2022


class OsSku(NamedTuple):
    """One OS SKU of a pool."""

    name: str
    operating_system: OperatingSystem
    system: NodeSystem | None  # None: never with an NVIDIA GPU
    lifecycle: Lifecycle
    closed: Source | None = None  # since then, new pools can't use it
    in_provider: bool = True  # `PROVIDER_API` has the value
    instead: tuple[str, ...] = ()


TABLE = Table(
    tables.beside(__file__, "os_skus.csv"),
    {
        "os_sku": "as AKS spells it",
        "system": "of its nodes; empty: never with an NVIDIA GPU",
        "closed": "since when new pools can't use it",
        "in_provider": "whether `PROVIDER_API` has the value: yes or no",
        "instead": "what takes its place, best first",
        **lifecycle.COLUMNS,
    },
)


def _read() -> Iterator[OsSku]:
    known = sources.named()
    for name, row in tables.by_name(tables.read(TABLE), "os_sku").items():
        yield OsSku(
            name=name,
            operating_system="Windows" if name.startswith("Windows") else "Linux",
            system=row.maybe("system", get_args(NodeSystem)),
            lifecycle=lifecycle.read(row, known),
            closed=row.maybe("closed", known, sources.WHERE),
            in_provider=row.yes("in_provider"),
            instead=row.texts("instead"),
        )


OS_SKUS: Mapping[str, OsSku] = Keyed(lambda: {sku.name: sku for sku in _read()})


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


def check_network_plugin(plugin: str, as_of: date, path: str) -> list[Problem]:
    """The problems of a cluster's network plugin on that day. Azure CNI has no end."""
    return lifecycle.of_part("aks.kubenet", as_of, path, plugin) if plugin == "kubenet" else []


def check_load_balancer(sku: str, as_of: date, path: str) -> list[Problem]:
    """The problems of a cluster's load balancer on that day. The standard one has no end."""
    return lifecycle.of_part("aks.basic_load_balancer", as_of, path, sku) if sku.lower() == "basic" else []
