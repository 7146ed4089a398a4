"""The resolved AKS cluster, `GpuClusterSpec`, from which the component declares its resources, and what it offers to an
Azure Machine Learning workspace that attaches it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pulumi

from azure_gpu.aks.args import (
    AdminsArgs,
    ClusterNetwork,
    GpuClusterSettings,
    Login,
    NetworkPolicy,
    NodeImageChannel,
    Outbound,
    SpotArgs,
    UpgradeChannel,
    Weekday,
)
from azure_gpu.aks.gpu_pools import GpuPoolSpec
from azure_gpu.catalog.prices.hourly_cost import HourlyCost
from azure_gpu.catalog.services.aks import clusters
from azure_gpu.catalog.services.aks.network import Ranges
from azure_gpu.formats import arm_ids
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.kubernetes.gpu_objects.spec import ClusterObjectsSpec, PoolNodes
from azure_gpu.shared import principals
from azure_gpu.shared.attachable import ClusterOfWorkspace
from azure_gpu.shared.context import Context, Tags, known
from azure_gpu.shared.principals import Principal

LONGEST_DNS_PREFIX = 54
TIERS = {"free": clusters.FREE, "standard": clusters.STANDARD, "premium": clusters.PREMIUM}


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemPool:
    """`SystemPoolArgs` with their defaults."""

    size: str = "Standard_D4s_v5"  # the smallest that AKS's page on system pools takes, of a series that is everywhere
    nodes: int = 1
    max_nodes: int | None = None
    zones: Sequence[str] = ()
    os_sku: str = "Ubuntu"
    max_surge: str = ""
    spot: SpotArgs | bool = False
    dedicated: bool = False

    @property
    def most_nodes(self) -> int:
        return self.nodes if self.max_nodes is None else self.max_nodes

    @property
    def autoscaler(self) -> bool:
        return self.most_nodes > self.nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """`AccessArgs` with their defaults, as far as they are known before anything is declared."""

    network: ClusterNetwork = "public"
    authorized_ranges: Sequence[str] = ()
    private_dns_zone: pulumi.Input[str] = "system"
    api_server_subnet_id: pulumi.Input[str] | None = None
    reachable: bool = False
    login: Login | None = None  # None: set neither by the cluster's settings nor by the provider's configuration
    authority_host: str = ""  # empty: Azure's own
    disable_instance_discovery: bool = False
    local_accounts: bool = False
    admins: AdminsArgs = field(default_factory=AdminsArgs)

    @property
    def administrators(self) -> tuple[Principal, ...]:
        """Those in the settings; empty: whoever runs the first `up`."""
        return principals.resolve(self.admins)

    @property
    def api_server_subnet(self) -> ArmId | None:
        """None: not set, or the output of another resource."""
        return arm_ids.parse(known(self.api_server_subnet_id) or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """`MaintenanceArgs` with their defaults."""

    upgrades: UpgradeChannel
    node_images: NodeImageChannel = "NodeImage"
    day: Weekday = "Sunday"
    start: str = "02:00"
    hours: int = 4
    utc_offset: str = "+00:00"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSpec:
    """A resolved cluster without its GPU pools. Values that may be outputs of other resources stay in the arguments."""

    context: Context
    path: str
    settings: GpuClusterSettings  # without its GPU pools
    name: str
    existing: ArmId | None
    location: str
    location_path: str
    system: SystemPool
    most_nodes: int  # of all its pools
    access: Access
    maintenance: Maintenance
    objects: ClusterObjectsSpec
    tags: Tags

    @property
    def kubernetes_version(self) -> str:
        """Empty: not set, so AKS chooses one when it creates the cluster."""
        return self.settings.get("kubernetes_version", "")

    @property
    def tier(self) -> str:
        return TIERS[self.settings.get("tier", "free")]

    @property
    def subnet(self) -> ArmId | None:
        """None: not set, or the output of another resource."""
        return arm_ids.parse(known(self.settings.get("subnet_id")) or "")

    @property
    def ranges(self) -> Ranges:
        """As set; `network.choose_ranges` has the others."""
        return Ranges(self.settings.get("pod_cidr", ""), self.settings.get("service_cidr", ""))

    @property
    def outbound(self) -> Outbound:
        return self.settings.get("outbound", "loadBalancer")

    @property
    def network_policy(self) -> NetworkPolicy:
        return self.settings.get("network_policy", "cilium")

    @property
    def on_cluster(self) -> bool:
        return self.settings.get("on_cluster", True)

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
        return self.settings.get("workload_identity", True) and self.existing is None


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
