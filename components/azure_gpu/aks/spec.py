"""The resolved AKS cluster, `GpuClusterSpec`, from which the component declares its resources, and what it offers to an
Azure Machine Learning workspace that attaches it.
"""

from dataclasses import dataclass

from azure_gpu.aks.args import ClusterNetwork, Login, NetworkPolicy, NodeImageChannel, Outbound, UpgradeChannel, Weekday
from azure_gpu.aks.gpu_pools import GpuPoolSpec
from azure_gpu.catalog.prices.hourly_cost import HourlyCost
from azure_gpu.catalog.services.aks import clusters
from azure_gpu.catalog.services.aks.network import Ranges
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.kubernetes.gpu_objects.spec import ClusterObjectsSpec, PoolNodes
from azure_gpu.shared.attachable import ClusterOfWorkspace
from azure_gpu.shared.context import Context, Tags
from azure_gpu.shared.principals import Principal

LONGEST_DNS_PREFIX = 54


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemPool:
    """Resolved `SystemPoolArgs`."""

    size: str
    nodes: int
    max_nodes: int
    zones: tuple[str, ...]
    os_sku: str
    max_surge: str
    dedicated: bool

    @property
    def autoscaler(self) -> bool:
        return self.max_nodes > self.nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Resolved `AccessArgs`, without the id of a private DNS zone, which may be an output of another resource."""

    network: ClusterNetwork
    system_zone: bool  # of a private cluster: AKS creates its DNS zone
    vnet_integration: bool  # the API server has an address in a subnet
    api_server_subnet: ArmId | None  # that subnet; None: none, or the output of another resource
    authorized_ranges: tuple[str, ...]
    reachable: bool
    login: Login
    login_is_set: bool  # by the cluster's settings or the provider's configuration
    authority_host: str  # empty: Azure's own
    disable_instance_discovery: bool
    local_accounts: bool
    admins: tuple[Principal, ...]  # empty: whoever runs the first `up`


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """Resolved `MaintenanceArgs`."""

    upgrades: UpgradeChannel
    node_images: NodeImageChannel
    day: Weekday
    start: str
    hours: int
    utc_offset: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSpec:
    """A resolved cluster without its GPU pools. Values that may be outputs of other resources stay in the arguments."""

    context: Context
    path: str
    name: str
    existing: ArmId | None
    location: str
    location_path: str
    kubernetes_version: str  # empty: not set, so AKS chooses one when it creates the cluster
    long_term_support: bool
    tier: str
    system: SystemPool
    most_nodes: int  # of all its pools
    access: Access
    subnet: ArmId | None  # None: not set, or the output of another resource
    ranges: Ranges  # as set; `own_network.ranges` has the others
    outbound: Outbound
    network_policy: NetworkPolicy
    policy_is_set: bool  # by the cluster's settings
    azure_policy: bool | None  # None: nothing is said of the add-on
    idle_minutes: int | None
    maintenance: Maintenance
    logs: bool
    workload_identity: bool
    on_cluster: bool
    objects: ClusterObjectsSpec
    tags: Tags

    @property
    def dns_prefix(self) -> str:
        return self.name.replace("_", "-")[:LONGEST_DNS_PREFIX].rstrip("-")

    @property
    def node_resource_group(self) -> str:
        """The resource group that AKS creates for machines and disks."""
        return f"{self.name}-nodes"

    @property
    def pods_can_use_identity(self) -> bool:
        """Whether pods of the namespace can use the stack's identity; an existing cluster isn't changed for that."""
        return self.workload_identity and self.existing is None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuClusterSpec:
    """A resolved cluster and its GPU pools."""

    cluster: ClusterSpec
    pools: dict[str, GpuPoolSpec]
    expires_at: str | None  # instant in UTC, RFC 3339
    hourly_cost: float | None  # with the maximum number of nodes
    idle_cost: float | None  # with the minimum number of nodes
    idle: HourlyCost  # the same, for people


def of_cluster(spec: ClusterSpec) -> ClusterOfWorkspace:
    """The cluster's plain values."""
    vcpus = clusters.vcpus(spec.system.size)
    return ClusterOfWorkspace(
        id=spec.existing.text if spec.existing else "",
        name=spec.name,
        resource_group_name=spec.existing.resource_group if spec.existing else "",
        path=spec.path,
        existing=spec.existing is not None,
        namespace=spec.objects.namespace if spec.on_cluster else "",
        local_accounts=spec.access.local_accounts,
        open_to_everybody=spec.access.network == "public",
        nodes=spec.system.nodes,
        vcpus=(vcpus or 0) * spec.system.nodes,
        gpus={name: _gpus(pool) for name, pool in spec.objects.pools.items()},
        taints={name: list(pool.taints) for name, pool in spec.objects.pools.items()},
    )


def _gpus(pool: PoolNodes) -> int:
    found = pool.yields
    return (pool.gpus or 0) * (found.each if found is not None else 1)
