"""GPU pools of a cluster: their defaults, their validation, what AKS can't change on an existing one, and their names.

The `REPLACING_*` paths tell the engine to create a new resource. A pool's name in Azure holds a hash of these properties if its
replacement is created beside it. AKS's rules are in `catalog.services.aks`; GPU sharing is validated with the objects on the
cluster.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

from azure_gpu.aks.args import GpuPoolArgs, PoolReplace
from azure_gpu.catalog import lifecycle, names, offers, spot_price
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.aks import pools
from azure_gpu.catalog.services.aks.clusters import MOST_NODES
from azure_gpu.catalog.services.aks.device_plugin import CONFIG_LABEL
from azure_gpu.catalog.services.aks.network import MAX_PODS
from azure_gpu.catalog.services.aks.pools import PoolRequest, Spot
from azure_gpu.catalog.services.aks.sizes import INSTALL, NO_DRIVER
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats import azure_types
from azure_gpu.formats.tags import NODE_POOL
from azure_gpu.kubernetes.args import SharingArgs, sharing_request
from azure_gpu.kubernetes.gpu_objects.spec import GPU_TAINT, GpuPool, PoolNodes
from azure_gpu.shared.context import Tags, check_tags, known
from azure_gpu.shared.installation import COMMAND
from azure_gpu.shared.validation import written

# Sources: Microsoft Learn, articles/aks/use-nvidia-gpu.md (2026-07-02) for size and driver, gpu-multi-instance.md (2026-05-22)
# for the MIG profile, spot-node-pool.md (2025-04-06) for Spot, use-system-pools.md (2026-04-30) for the number of pods, among
# "various immutable settings"; hashicorp/terraform-provider-azurerm makes a new pool for another disk, zone, subnet or operating
# system. Taints aren't among it: MicrosoftDocs/azure-aks-docs, articles/aks/use-node-taints.md (2026-08-21).
REPLACING_POOL = [
    "availabilityZones",
    "gpuInstanceProfile",
    "gpuProfile",
    "maxPods",
    "osDiskSizeGB",
    "osSKU",
    "osType",
    "scaleSetEvictionPolicy",
    "scaleSetPriority",
    "spotMaxPrice",
    "vmSize",
    "vnetSubnetID",
]
# Switching it off makes a new cluster, switching it on doesn't: `aks.network.VNET_INTEGRATION_PAGE`, and ForceNewIfChange of
# azurerm_kubernetes_cluster, api_server_access_profile.0.subnet_id, in the same provider.
VNET_INTEGRATION = "apiServerAccessProfile.enableVnetIntegration"
# Source: azurerm_kubernetes_cluster of the same provider, which makes a new cluster for these. It does so for another size of the
# system pool too; here AKS rejects it, since such a change must not replace a cluster with everything on it.
REPLACING_CLUSTER = [
    "agentPoolProfiles[0].vnetSubnetID",
    "apiServerAccessProfile.enablePrivateCluster",
    VNET_INTEGRATION,
    "apiServerAccessProfile.privateDNSZone",
    "dnsPrefix",
    "location",
    "networkProfile.dnsServiceIP",
    "networkProfile.networkPlugin",
    "networkProfile.networkPluginMode",
    "networkProfile.podCidr",
    "networkProfile.serviceCidr",
    "nodeResourceGroup",
]

LONGEST_POOL_NAME = names.RULES[azure_types.AGENT_POOL.arm_type].longest
HASH_LENGTH = 4  # of a pool's name: two forms collide with a chance of 1 in 65,536; Azure then rejects the second
LONGEST_SIDE_BY_SIDE = LONGEST_POOL_NAME - HASH_LENGTH


def digest(kept: Mapping[str, object], subnet_id: str) -> str:
    """A hash of these properties only. Properties with AKS's own defaults are left out."""
    properties = {key: value for key, value in {**kept, "vnetSubnetID": subnet_id}.items() if value}
    return hashlib.sha256(json.dumps(properties, sort_keys=True).encode()).hexdigest()


LONGEST_DRAIN_MINUTES = 1440
DISK_GB = (30, 2048)
EVICTION = {"delete": "Delete", "deallocate": "Deallocate"}
DRIVER = {"install": INSTALL, "none": NO_DRIVER}

_TAINT = re.compile(
    r"(?:[a-z0-9.-]{1,253}/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?=[A-Za-z0-9._-]{0,63}:(?P<effect>[A-Za-z]+)"
)
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_LABEL_KEY = re.compile(r"(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")
_SURGE = re.compile(r"[1-9][0-9]{0,3}|(?:[1-9][0-9]?|100)%")
_ZONE = re.compile(r"[1-9][0-9]?")
_OF_AKS = ("kubernetes.azure.com/", "kubernetes.io/", "k8s.io/")


class ClusterContext(NamedTuple):
    """The cluster's properties that its pools depend on."""

    path: str  # of the cluster in the settings
    location: str
    location_path: str
    tags: Tags
    last: date | None = None  # its last day; None: unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuPoolSpec(GpuPool):
    """A resolved pool."""

    settings: GpuPoolArgs
    request: PoolRequest
    tags: Tags

    @property
    def replace(self) -> PoolReplace:
        """side-by-side if the name leaves room for the hash."""
        return self.settings.get("replace", "side-by-side" if len(self.name) <= LONGEST_SIDE_BY_SIDE else "drain-first")

    @property
    def zones(self) -> list[str]:
        return sorted({*self.settings.get("zones", [])})

    @property
    def labels(self) -> dict[str, str]:
        """All labels of its nodes."""
        own = {NODE_POOL: self.name, CONFIG_LABEL: self.nodes.config.key}
        return {**self.settings.get("labels", {}), **own, **(dict([pools.SPOT_LABEL]) if self.request.spot else {})}

    @property
    def kept(self) -> dict[str, object]:
        """What AKS can't change on an existing pool, by the paths above; subnets are wired."""
        request = self.request
        return {
            "availabilityZones": self.zones,
            "gpuInstanceProfile": request.mig_profile,
            "gpuProfile": request.driver if request.driver != INSTALL else "",
            "maxPods": self.settings.get("max_pods"),
            "nodeTaints": sorted(self.nodes.taints),
            "osDiskSizeGB": self.settings.get("os_disk_gb"),
            "osSKU": request.os_sku,
            "spot": list(request.spot) if request.spot else [],
            "vmSize": self.nodes.size,
        }

    def azure_name(self, subnet_id: str) -> str:
        """The agent pool's name in Azure."""
        of_form = digest(self.kept, subnet_id)[:HASH_LENGTH] if self.replace == "side-by-side" else ""
        return f"{self.name}{of_form}"


def resolve(name: str, settings: GpuPoolArgs, cluster: ClusterContext, day: date) -> tuple[GpuPoolSpec, list[Problem]]:
    """Resolves the pool that the stack file calls `name`, with its problems."""
    path = f"{cluster.path}.gpu_pools.{name}"
    request = _request(name, settings, path)
    spec = GpuPoolSpec(
        name=name,
        path=path,
        nodes=PoolNodes(
            size=request.size.name if request.size is not None else settings["size"],
            sharing=sharing_request(settings.get("sharing", SharingArgs()), f"{path}.sharing"),
            # AKS adds Spot's taint and label itself, and then rejects an update without them (pulumi-azure-native 959).
            taints=tuple(dict.fromkeys([*settings.get("taints", [GPU_TAINT]), *([pools.SPOT_TAINT] if request.spot else [])])),
        ),
        min_nodes=settings.get("min_nodes", 0),
        max_nodes=settings.get("max_nodes", 1),
        settings=settings,
        request=request,
        tags={**cluster.tags, **settings.get("tags", {})},
    )
    problems = _of_catalog(request, settings["size"], cluster, day)
    problems += pools.check_nodes(spec.min_nodes, spec.max_nodes, f"{path}.min_nodes", f"{path}.max_nodes")
    if request.size is not None and request.size.gpu is None:
        problems.append(refused("aks.pool_without_gpu", f"{path}.size", request.size.name, command=COMMAND))
    if spec.replace == "side-by-side" and LONGEST_SIDE_BY_SIDE < len(name) <= LONGEST_POOL_NAME:
        lengths = {"added": HASH_LENGTH, "most": LONGEST_POOL_NAME, "longest": LONGEST_SIDE_BY_SIDE}
        problems.append(refused("aks.no_room_for_hash", f"{path}.replace", name, **lengths))
    return spec, [*problems, *_forms(settings, path), *check_tags(settings.get("tags", {}), f"{path}.tags")]


def _request(name: str, settings: GpuPoolArgs, path: str) -> PoolRequest:
    """The pool for the catalog's rules."""
    of_spot = written(settings["spot"]) if "spot" in settings else None
    bid = None
    if of_spot is not None and of_spot.get("enabled", True):
        bid = Spot(EVICTION[of_spot.get("eviction", "delete")], of_spot.get("max_price", spot_price.ANY_PRICE))
    return PoolRequest(
        path=path,
        name=name,
        size=SIZES.find(settings["size"]),
        paths={"name": path, "mig_profile": f"{path}.sharing.profile", "secure_boot": f"{path}.overrides.securityProfile"},
        os_sku=settings.get("os_sku", ""),
        driver=DRIVER[settings.get("driver", "install")],
        mig_profile=settings.get("sharing", SharingArgs()).get("profile", ""),
        spot=bid,
        max_surge=settings.get("max_surge", ""),
        tags={key: known(value) or "" for key, value in settings.get("tags", {}).items()},
        secure_boot=_has_secure_boot(settings.get("overrides", {})),
        features=frozenset(settings.get("features", [])),
    )


def _has_secure_boot(overrides: Mapping[str, Any]) -> bool:
    security = overrides.get("securityProfile")
    return isinstance(security, Mapping) and security.get("enableSecureBoot") is True


def _of_catalog(request: PoolRequest, size: str, cluster: ClusterContext, day: date) -> list[Problem]:
    """The catalog's problems of the pool and of its size. The cluster's version is validated with the cluster."""
    use = SizeUse(
        service=Service.AKS,
        size=size,
        region=cluster.location,
        path=request.at("size"),
        region_path=cluster.location_path,
        spot=request.spot is not None,
    )
    found = lifecycle.through(lambda on: pools.check(request, on), day, cluster.last)
    of_pool = [_respelt(problem, request) for problem in found]
    # The pool's own check covers the driver, since it knows which one is installed.
    of_size = offers.check(use, day, prices=packaged(), until=cluster.last)
    of_size = [problem for problem in of_size if problem.code is not Code.WRONG_DRIVER]
    seen = {(problem.path, problem.message) for problem in of_size}
    return [*of_size, *(problem for problem in of_pool if (problem.path, problem.message) not in seen)]


def _respelt(problem: Problem, request: PoolRequest) -> Problem:
    """Drivers are lower-case in a stack file."""
    if problem.path != request.at("driver"):
        return problem
    value, allowed = str(problem.value).lower(), problem.allowed.replace(NO_DRIVER, "none")
    return problem._replace(value=value, allowed=allowed, fix=problem.fix.replace(NO_DRIVER, "none"))


def _forms(settings: GpuPoolArgs, path: str) -> Iterator[Problem]:
    """Problems in the form of taints, labels, zones and surge, and in the range of numbers."""
    for index, taint in enumerate(settings.get("taints", [])):
        match = _TAINT.fullmatch(taint)
        if match is None or match["effect"] not in _EFFECTS:
            yield refused("aks.bad_taint", f"{path}.taints[{index}]", taint, effects=", ".join(_EFFECTS), usual=GPU_TAINT)
    for key, value in settings.get("labels", {}).items():
        if _LABEL_KEY.fullmatch(key) is None or _LABEL_VALUE.fullmatch(value) is None:
            yield refused("aks.bad_label", f"{path}.labels.{key}", value)
        elif key == NODE_POOL or any(key.split("/")[0].endswith(of_aks.rstrip("/")) for of_aks in _OF_AKS):
            yield refused("aks.reserved_label", f"{path}.labels.{key}", value)
    for index, zone in enumerate(settings.get("zones", [])):
        if _ZONE.fullmatch(zone) is None:
            yield refused("aks.bad_zone_number", f"{path}.zones[{index}]", zone)
    if "max_surge" in settings and _SURGE.fullmatch(settings["max_surge"]) is None:
        yield refused("aks.bad_surge", f"{path}.max_surge", settings["max_surge"])
    for key, least, most, what in (
        ("max_nodes", None, MOST_NODES, "number of nodes"),
        ("drain_minutes", 1, LONGEST_DRAIN_MINUTES, "drain time in minutes"),
        ("os_disk_gb", *DISK_GB, "OS disk size in GB"),
        ("max_pods", *MAX_PODS, "number of pods per node"),
    ):
        value = settings.get(key)
        if isinstance(value, int) and (value > most or (least is not None and value < least)):
            within = f"{least} to {most}" if least is not None else f"at most {most}"
            yield refused("aks.out_of_range", f"{path}.{key}", value, what=what, within=within, most=most)
