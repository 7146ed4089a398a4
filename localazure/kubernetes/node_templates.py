"""Nodes of a pool: the machine's size, what AKS reserves of it, and the labels and taints that AKS sets.

`template` has what a pool's nodes share, `record` is one node of nodes.json. Sizes without a GPU, which the catalog doesn't list,
are read from their names.
"""

import functools
import hashlib
import math
import re
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from azure_gpu.catalog.services.aks import clusters, pools
from azure_gpu.catalog.services.aks.sizes import listing
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Size
from localazure.kubernetes.model import ClusterShape, PoolShape
from localazure.subscriptions import SUBSCRIPTION

_MB, _MIB, _GIB = 10**6, 2**20, 2**30
_POD_BYTES, _BASE_BYTES, _EVICTION_BYTES = 20 * _MB, 50 * _MB, 100 * _MIB
_LONGEST_LABEL = 63  # Kubernetes' limit of a label's value
# kubectl describe node of a Standard_NC4as_T4_v3: carverauto/threadr issue 68, 2024-04-05.
_SEEN_SHARE = Fraction(28736340, 28 * 2**20)  # of a machine's memory, that its kernel leaves
_DISK_SHARE = Fraction(129886128 * 2**10, 128 * _GIB)  # of a disk, that its file system leaves
_DEFAULT_MACHINE = (4, 16)  # where the name says nothing
GPU_LABEL = "accelerator"


@functools.cache
def _known() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("node_templates.toml").read_text(encoding="utf-8"))


class Machine(NamedTuple):
    """What a size has."""

    vcpus: int
    memory_gib: int
    architecture: str = "amd64"
    gpus: int = 0
    size: Size | None = None


def machine(vm_size: str) -> Machine:
    """By the catalog, else by the name."""
    size = SIZES.find(vm_size)
    if size is not None and size.vcpus and size.memory_gib:
        arch = "arm64" if size.series.architecture == "Arm64" else "amd64"
        return Machine(size.vcpus, size.memory_gib, arch, math.ceil(size.gpu_count or 0), size)
    if vm_size in _known()["old_sizes"]:
        return Machine(*_known()["old_sizes"][vm_size])
    match = re.fullmatch(r"Standard_([A-Z]+)[0-9]+(?:-[0-9]+)?([a-z]*).*", vm_size)
    vcpus = clusters.vcpus(vm_size)
    if match is None or vcpus is None:
        return Machine(*_DEFAULT_MACHINE)
    family = _known()["gib_a_vcpu"].get(match[1], 4)
    return Machine(vcpus, vcpus * (2 if "l" in match[2] else family), "arm64" if "p" in match[2] else "amd64")


def quota_vcpus(vm_size: str) -> int:
    """The vCPUs of one machine that count against quotas."""
    size = SIZES.find(vm_size)
    return (size.quota_vcpus if size else None) or machine(vm_size).vcpus


def quota_family(vm_size: str) -> str:
    size = SIZES.find(vm_size)
    return size.series.quota_family if size else clusters.family(vm_size)


def scale_set(cluster_key: str, pool: PoolShape) -> str:
    """`aks-gpu-12345678-vmss`; on Windows `aksgpu`."""
    if pool.os_type == "Windows":
        return f"aks{pool.name}"
    digest = hashlib.sha256(f"{cluster_key}/{pool.name}".encode()).hexdigest()
    return f"aks-{pool.name}-{10**7 + int(digest[:12], 16) % (9 * 10**7)}-vmss"


def node_name(cluster_key: str, pool: PoolShape, instance: int) -> str:
    """The name of an instance's node, which counts in letters and digits."""
    return scale_set(cluster_key, pool) + _base36(instance).rjust(6, "0")


def template(pool: PoolShape, cluster: ClusterShape) -> dict[str, Any]:
    """All that the nodes of a pool share."""
    what = machine(pool.vm_size)
    gpu = what.size.gpu if what.size else None
    profile = gpu.mig.get(pool.mig_profile) if gpu and pool.mig_profile else None
    row = listing(what.size) if what.size and gpu else None
    capacity, allocatable = _resources(what, pool)
    nvidia = gpu is not None and gpu.vendor == "NVIDIA"
    each = what.size.gpu_memory_each_gib if what.size and gpu else None
    return {
        "pool": pool.name,
        "vmss": scale_set(cluster.key, pool),
        "architecture": what.architecture,
        "gpus": what.gpus,
        "gpu_vendor": gpu.vendor.lower() if gpu else "",
        "gpu_name": gpu.name if gpu else "",
        "gpu_model": gpu.model if gpu else "",
        "gpu_memory_gib": int(each) if each else (gpu.memory_gib if gpu else 0),
        "compute_capability": gpu.compute_capability if gpu else "",
        "mig_capable": bool(gpu and gpu.mig),
        "mig": {"profile": profile.name, "instances": profile.instances, "memory_gib": profile.memory_gib} if profile else None,
        "driver": bool(nvidia and pool.gpu_driver and (row is None or row.installs_driver)),
        "driver_version": row.driver.version if row and row.driver else "",
        "capacity": capacity,
        "allocatable": allocatable,
        "os_image": "Windows Server 2022 Datacenter" if pool.os_type == "Windows" else "Ubuntu 24.04.2 LTS",
        "labels": labels(pool, cluster, what),
        "taints": taints(pool),
    }


def record(pool: PoolShape, cluster: ClusterShape, instance: int, created: str) -> dict[str, Any]:
    """One node of nodes.json."""
    node = template(pool, cluster)
    name = node_name(cluster.key, pool, instance)
    zone = f"{cluster.location}-{pool.zones[instance % len(pool.zones)]}" if pool.zones else ""
    machine_id = (
        f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{cluster.node_resource_group}/providers/Microsoft.Compute/"
        f"virtualMachineScaleSets/{node['vmss']}/virtualMachines/{instance}"
    )
    shown = zone or "0"
    own = {
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/zone": shown,
        "failure-domain.beta.kubernetes.io/zone": shown,
        "topology.disk.csi.azure.com/zone": zone,
    }
    return {
        "name": name,
        **node,
        "instance_id": str(instance),
        "resource_id": machine_id,
        "provider_id": f"azure://{machine_id}",
        "zone": zone,
        "created": created,
        "labels": {**node["labels"], **own},
    }


def labels(pool: PoolShape, cluster: ClusterShape, what: Machine) -> dict[str, str]:
    """Those of every node of the pool: AKS's own over the pool's."""
    words = {
        "pool": pool,
        "machine": what,
        "region": cluster.location,
        "cluster": _as_label(cluster.node_resource_group),
        "mode": pool.mode.lower(),
        "image": pool.node_image or _known()["image"]["default"],
        "memory_mib": what.memory_gib * 1024,
        "system": pool.os_type.lower(),
    }
    found = {**pool.labels, **{name: text.format(**words) for name, text in _known()["labels"].items()}}
    if what.size and what.size.gpu:
        vendor = what.size.gpu.vendor.lower()
        found[f"kubernetes.azure.com/{GPU_LABEL}"] = vendor
        if what.size.gpu.vendor == "NVIDIA":
            found[GPU_LABEL] = vendor
    if pool.spot:
        found[pools.SPOT_LABEL[0]] = pools.SPOT_LABEL[1]
    return found


def _as_label(group: str) -> str:
    """A resource group's name as a label: cut, and with a letter or digit at its end (Azure/AgentBaker, baker.go)."""
    cut = group[:_LONGEST_LABEL]
    return cut if cut[-1:].isalnum() else f"{cut[:-1]}z"


def taints(pool: PoolShape) -> list[dict[str, str]]:
    """The pool's, with AKS's own of Spot nodes."""
    found: list[dict[str, str]] = [dict(one) for one in pool.taints]
    if pool.spot:
        key, _, rest = pools.SPOT_TAINT.partition("=")
        value, _, effect = rest.partition(":")
        own: dict[str, str] = {"key": key, "value": value, "effect": effect}
        if own not in found:
            found.append(own)
    return found


def _resources(what: Machine, pool: PoolShape) -> tuple[dict[str, str], dict[str, str]]:
    """Capacity and allocatable, without extended resources."""
    memory = int(what.memory_gib * _GIB * _SEEN_SHARE) // 1024
    disk = int(pool.os_disk_gb * _GIB * _DISK_SHARE) // 1024
    reserved = min(_POD_BYTES * pool.max_pods + _BASE_BYTES, what.memory_gib * _GIB // 4)
    free = memory - (reserved + _EVICTION_BYTES) // 1024
    pods = str(pool.max_pods)
    none = {"hugepages-1Gi": "0", "hugepages-2Mi": "0"}
    capacity = {"cpu": str(what.vcpus), "ephemeral-storage": f"{disk}Ki", **none, "memory": f"{memory}Ki", "pods": pods}
    return capacity, {
        "cpu": f"{what.vcpus * 1000 - cpu_reserved(what.vcpus)}m",
        "ephemeral-storage": str(disk * 1024 * 9 // 10),
        **none,
        "memory": f"{free}Ki",
        "pods": pods,
    }


def cpu_reserved(cores: int) -> int:
    """Millicores; between two rows of the table on a line, beyond it on the last line."""
    rows = sorted((int(row), millicores) for row, millicores in _known()["cpu_reserved"].items())
    if cores <= rows[0][0]:
        return rows[0][1]
    upper = next((number for number, row in enumerate(rows) if row[0] >= cores), len(rows) - 1)
    (low, less), (high, more) = rows[upper - 1], rows[upper]
    return less + (cores - low) * (more - less) // (high - low)


def _base36(number: int) -> str:
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    text = ""
    while True:
        number, rest = divmod(number, 36)
        text = digits[rest] + text
        if not number:
            return text
