"""AKS clusters and agent pools of ARM, as `clusters`."""

import re
from typing import Any

from azure_gpu.catalog.services.aks import mig, systems
from azure_gpu.formats.arm_values import identity, last
from azure_gpu.formats.body_keys import take
from azure_gpu.formats.body_reader import BodyReader, PartInFile, given
from azure_gpu.formats.gpu_mentions import is_gpu_size

_OUTBOUND = ("managedNATGateway", "userAssignedNATGateway", "userDefinedRouting")
_GPU_OS = ("Ubuntu", "Ubuntu2204", "AzureLinux", "AzureLinux3")
_CHANNELS = ("none", "patch", "stable", "rapid")
# Settings of a GPU pool without a key, by azure-native's names, which are ARM's.
_BY_OVERRIDES = (
    *("enableEncryptionAtHost", "enableFIPS", "enableNodePublicIP", "nodePublicIPPrefixID", "enableUltraSSD", "securityProfile"),
    *("kubeletConfig", "linuxOSConfig", "proximityPlacementGroupID", "capacityReservationGroupID", "hostGroupID"),
    *("podSubnetID", "messageOfTheDay", "workloadRuntime", "networkProfile", "osDiskType", "kubeletDiskType", "scaleDownMode"),
)
_DEFAULTS = {
    "securityProfile": [{"sshAccess": "LocalUser"}],
    "workloadRuntime": ["OCIContainer"],
    "osDiskType": ["Managed"],
    "kubeletDiskType": ["OS"],
    "scaleDownMode": ["Delete"],
}
_SYSTEM_FIX = "set overrides: {agentPoolProfiles: […]} of the cluster"


def cluster(head: BodyReader, of: BodyReader) -> list[PartInFile]:
    name = last(head.text("name")) or "gpu"
    part = PartInFile("clusters", name, {}, head.at())
    nodes = str(of.peek("nodeResourceGroup"))
    of.default(
        "nodeResourceGroup", nodes if nodes.upper().startswith("MC_") else "", message="nodes are in a group of AKS's own name"
    )
    system, gpu_pools = _pools(of, part)
    api = of.inside("apiServerAccessProfile")
    ranges, private = api.texts("authorizedIPRanges"), bool(api.flag("enablePrivateCluster"))
    zone = api.text("privateDNSZone")
    api.default("enablePrivateClusterPublicFqdn", zone == "none")
    api.default("disableRunCommand", not private, message=f"the stack sets {not private}".lower())
    integrated, server_subnet = api.flag("enableVnetIntegration"), api.text("subnetId")
    if integrated and not server_subnet:
        api.leave("enableVnetIntegration", "API servers here are in a subnet of yours, and this one is in a network of AKS's")
    access = given(
        network="private" if private else "restricted" if ranges else None,
        authorized_ranges=ranges if not private else None,
        private_dns_zone=zone if private else None,
        api_server_subnet_id=server_subnet if integrated else None,
        local_accounts=None if of.flag("disableLocalAccounts") else True,
    )
    addons = of.inside("addonProfiles")
    for other in addons.names():
        if other.lower() != "azurepolicy":
            addons.leave(other, "other add-ons than azurepolicy have no keys in the stack file", "set overrides of the cluster")
    part.settings = take(
        "ARM cluster",
        of,
        head,
        told={"name": name},
        system_pool=_system_pool(system) if system else None,
        gpu_pools=gpu_pools,
        access=access,
        subnet_id=system.text("vnetSubnetID") if system else None,
        **{"maintenance.upgrades": _channel(of.inside("autoUpgradeProfile"))},
        **_network(of.inside("networkProfile")),
    )
    if private and ranges:
        api.leave("authorizedIPRanges", "a private cluster has no public address to restrict")
    elif zone and not private:
        api.leave("privateDNSZone", "only a private cluster has a zone")
    return [*identity(head, "a cluster"), part]


def _pools(of: BodyReader, part: PartInFile) -> tuple[BodyReader | None, dict[str, Any]]:
    """The pool of AKS' own pods, and the settings of those with GPUs."""
    gpu_pools: dict[str, Any] = {}
    system: BodyReader | None = None
    pools = of.items("agentPoolProfiles")
    subnet = next((str(one.peek("vnetSubnetID") or "") for one in pools if not _has_gpus(one)), "")
    for pool in pools:
        mode = pool.choice("mode", {"System": "System", "User": "User"}) or "System"
        if _has_gpus(pool):
            name = pool.text("name") or f"gpu{len(gpu_pools) + 1}"
            gpu_pools[name] = _gpu_pool(pool, part, f"gpu_pools.{name}", subnet)
        elif system is None and mode == "System":
            system = pool
        else:
            size, count = pool.text("vmSize"), pool.whole("count") or pool.whole("minCount")
            nodes = f"{count or 'several'} nodes of {size or 'a size that is not given'} without a GPU"
            pool.skip(*pool.names())
            pool.reading.leave(
                pool.path, f"{nodes}: a cluster here has one pool without GPUs", "set overrides of the cluster, or leave it out"
            )
    return system, gpu_pools


def _network(network: BodyReader) -> dict[str, Any]:
    policies = {one: one for one in ("none", "cilium", "calico", "azure")}
    outbound = network.choice("outboundType", {"loadBalancer": None, "none": "", "block": "", **{one: one for one in _OUTBOUND}})
    policy = network.choice("networkPolicy", policies) or "none"
    if outbound == "":
        network.leave("outboundType", "nodes of a stack reach the internet", "set overrides of the cluster")
    found = take("ARM network", network, told={"dataplane": policy if policy == "cilium" else "azure"})
    pods, services = found.get("pod_cidr"), found.get("service_cidr")
    network.default("podCidrs", [pods], fix="set pod_cidr")
    network.default("serviceCidrs", [services], fix="set service_cidr")
    network.default("dnsServiceIP", f"{(services or '10.0.0.0/16').rpartition('.')[0]}.10", message="it is the network's tenth")
    return {**found, "outbound": outbound, "network_policy": policy}


def _channel(upgrades: BodyReader) -> str:
    channel = upgrades.choice("upgradeChannel", {**{one: one for one in _CHANNELS}, "node-image": "node-image"})
    if channel == "node-image":
        upgrades.change("upgradeChannel", "set as maintenance.node_images", "set node_images: NodeImage")
        return "none"
    return channel or "none"


def _has_gpus(pool: BodyReader) -> bool:
    return is_gpu_size(pool.text("vmSize") or "")


def _system_pool(pool: BodyReader) -> dict[str, Any]:
    scaled = bool(pool.flag("enableAutoScaling"))
    count, low, high = pool.whole("count"), pool.whole("minCount"), pool.whole("maxCount")
    taints = pool.texts("nodeTaints")
    if scaled and low is not None:
        pool.default("count", low, 0, message="the autoscaler starts from nodes")
    take("ARM pool", pool, told={"type": pool.peek("type") if "/" in str(pool.peek("type")) else ""})
    for key in (*_BY_OVERRIDES, "nodeLabels", "tags"):
        defaults = _DEFAULTS.get(key, ())
        pool.default(key, False, {}, *defaults, message="the system pool has no key for it", fix=_SYSTEM_FIX)
    for taint in taints:
        if taint != "CriticalAddonsOnly=true:NoSchedule":
            pool.leave("nodeTaints", f"{taint}: the system pool has no taints of one's own", _SYSTEM_FIX)
    return take(
        "ARM system pool",
        pool,
        nodes=low if scaled and low is not None else count,
        max_nodes=high if scaled else None,
        dedicated="CriticalAddonsOnly=true:NoSchedule" in taints or None,
    )


def agent_pool(head: BodyReader, of: BodyReader) -> list[PartInFile]:
    names = (head.text("name") or "gpu").split("/")
    found = re.search(r"/managedclusters/([^/]+)/", head.text("id") or "", re.IGNORECASE)
    owner = names[0] if len(names) > 1 else found[1] if found else "gpu"
    part = PartInFile("clusters", owner, {}, head.at())
    if not _has_gpus(of):
        size = of.text("vmSize")
        of.skip(*of.names())
        of.leave("vmSize", f"{size or 'its size'} has no GPU: a cluster here has one pool without GPUs, its system_pool")
        return []
    part.settings = {"gpu_pools": {names[-1]: _gpu_pool(of, part, f"gpu_pools.{names[-1]}")}}
    return [part]


def _gpu_pool(pool: BodyReader, part: PartInFile, key: str, subnet: str = "") -> dict[str, Any]:
    """`key`: of the pool's settings in those of the cluster; `subnet`: the cluster's."""
    take("ARM pool", pool, told={"type": pool.peek("type") if "/" in str(pool.peek("type")) else ""})
    pool.choice("mode", {"User": None, "System": None})
    if str(pool.peek("mode")).lower() == "system":
        pool.change("mode", "a pool with GPUs is one of users here")
    scaled = bool(pool.flag("enableAutoScaling"))
    count, low, high = pool.whole("count"), pool.whole("minCount"), pool.whole("maxCount")
    most = high if scaled else count
    if most == 0:
        pool.change("maxCount" if scaled else "count", "a pool has 1 node at most, or more, where it had 0")
    if scaled:
        pool.default("count", low, 0, message="the autoscaler starts from min_nodes")
    else:
        pool.default("minCount", count, 0, message="it counts only with enableAutoScaling")
        pool.default("maxCount", count, 0, message="it counts only with enableAutoScaling")
    profile = pool.text("gpuInstanceProfile")
    profile = next((one for one in mig.PROFILES if one.lower() == str(profile).lower()), profile)
    sku = _os_sku(pool)
    labels = {name: value for name, value in pool.pairs("nodeLabels").items() if not _is_azures(name)}
    taints = [taint for taint in pool.texts("nodeTaints") if not taint.startswith("kubernetes.azure.com/")]
    overrides = pool.overrides(*_BY_OVERRIDES, defaults=_DEFAULTS)
    own = pool.text("vnetSubnetID")
    if own and own.lower() != subnet.lower():
        pool.change("vnetSubnetID", "it isn't the cluster's, and is set by overrides, which Azure alone judges")
        overrides["vnetSubnetID"] = own
    part.written[f"{key}.size"] = pool.at("vmSize")
    settings = take(
        "ARM GPU pool",
        pool,
        min_nodes=low if scaled else count,
        max_nodes=max(1, most) if most is not None else None,
        spot=_spot(pool),
        labels=labels,
        os_sku=sku if sku != "Ubuntu" else None,
        sharing={"strategy": "mig", "profile": profile} if profile else None,
        overrides=overrides,
    )
    return settings | {"taints": taints}


def _os_sku(pool: BodyReader) -> str | None:
    """One that a pool with GPUs may have, or that is newer than the catalog."""
    known = {name.lower() for name in (*systems.OS_SKUS, "Mariner")}
    if str(pool.peek("osSKU") or "Ubuntu").lower() not in known:
        return pool.text("osSKU")
    return pool.choice("osSKU", {one: one for one in _GPU_OS})


def _is_azures(label: str) -> bool:
    """Whether AKS, or a stack itself, sets the label."""
    return label.split("/")[0].endswith(".azure.com") or label == "azure-gpu/pool"


def _spot(pool: BodyReader) -> dict[str, Any] | None:
    eviction = pool.choice("scaleSetEvictionPolicy", {"Delete": "delete", "Deallocate": "deallocate"})
    price = pool.number("spotMaxPrice")
    if pool.choice("scaleSetPriority", {"Spot": True, "Regular": None}):
        return given(max_price=price if price != -1 else None, eviction=eviction or "delete")
    if eviction == "deallocate" or price not in (None, -1):
        pool.leave("scaleSetEvictionPolicy" if eviction else "spotMaxPrice", "it counts only with scaleSetPriority: Spot")
    return None
