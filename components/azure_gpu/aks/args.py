"""Settings of an AKS cluster, `GpuClusterSettings`, with the defaults of its keys.

They are resolved in `aks.resolve` and validated in `aks.rules`, GPU pools in `aks.gpu_pools`. Settings of the Kubernetes objects
on the cluster are in `kubernetes.gpu_objects.args`.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Literal, NotRequired, TypedDict

from azure_gpu.formats import azure_types
from azure_gpu.foundation.common import CommonArgs
from azure_gpu.kubernetes.gpu_objects.args import ClusterObjectsSettings
from azure_gpu.kubernetes.sharing_args import SharingArgs
from azure_gpu.shared.context import OfStack
from azure_gpu.shared.overrides import Overrides, OverridesOf
from azure_gpu.shared.principals import PrincipalsArgs
from azure_gpu.shared.validation import OpenInput

DEFAULT_SYSTEM_SIZE = "Standard_D4s_v5"  # the smallest that AKS's page on system pools takes, of a series that is everywhere
DEFAULT_SYSTEM_NODES = 1
DEFAULT_MIN_NODES = 0
DEFAULT_MAX_NODES = 1
DEFAULT_TAINTS = ("sku=gpu:NoSchedule",)
DEFAULT_WORKLOAD_IDENTITY = True
DEFAULT_ON_CLUSTER = True


class Tier(StrEnum):
    """What keeps the control plane up. Premium comes with the long-term support plan alone."""

    FREE = "free"
    STANDARD = "standard"
    PREMIUM = "premium"


TierName = Tier | Literal["free", "standard", "premium"]


class Eviction(StrEnum):
    """What becomes of a Spot node that Azure takes back."""

    DELETE = "delete"
    DEALLOCATE = "deallocate"


EvictionName = Eviction | Literal["delete", "deallocate"]


class Driver(StrEnum):
    """Who puts the GPU's driver onto a pool's nodes."""

    INSTALL = "install"
    NONE = "none"


DriverName = Driver | Literal["install", "none"]


class PoolReplace(StrEnum):
    """What becomes of a pool when something changes that AKS can't change on one that exists."""

    SIDE_BY_SIDE = "side-by-side"
    DRAIN_FIRST = "drain-first"


PoolReplaceName = PoolReplace | Literal["side-by-side", "drain-first"]


class ClusterNetwork(StrEnum):
    """Who reaches the address of the cluster's API."""

    PUBLIC = "public"
    RESTRICTED = "restricted"
    PRIVATE = "private"


ClusterNetworkName = ClusterNetwork | Literal["public", "restricted", "private"]


class Login(StrEnum):
    """How kubelogin gets a token without asking anybody."""

    AZURE_CLI = "azurecli"
    SERVICE_PRINCIPAL = "spn"
    WORKLOAD_IDENTITY = "workloadidentity"
    OIDC = "oidc"


LoginName = Login | Literal["azurecli", "spn", "workloadidentity", "oidc"]


class Outbound(StrEnum):
    """How nodes reach the internet."""

    LOAD_BALANCER = "loadBalancer"
    MANAGED_NAT_GATEWAY = "managedNATGateway"
    OWN_NAT_GATEWAY = "userAssignedNATGateway"
    OWN_ROUTES = "userDefinedRouting"


OutboundName = Outbound | Literal["loadBalancer", "managedNATGateway", "userAssignedNATGateway", "userDefinedRouting"]


class NetworkPolicy(StrEnum):
    """Who enforces which pods may talk to which."""

    NONE = "none"
    AZURE = "azure"
    CALICO = "calico"


NetworkPolicyName = NetworkPolicy | Literal["none", "azure", "calico"]


class UpgradeChannel(StrEnum):
    """Which versions of Kubernetes AKS moves a cluster to by itself."""

    NONE = "none"
    PATCH = "patch"
    STABLE = "stable"
    RAPID = "rapid"


UpgradeChannelName = UpgradeChannel | Literal["none", "patch", "stable", "rapid"]


class NodeImageChannel(StrEnum):
    """How nodes get security fixes of their system."""

    NONE = "None"
    UNMANAGED = "Unmanaged"
    SECURITY_PATCH = "SecurityPatch"
    NODE_IMAGE = "NodeImage"


NodeImageChannelName = NodeImageChannel | Literal["None", "Unmanaged", "SecurityPatch", "NodeImage"]


class Weekday(StrEnum):
    MONDAY = "Monday"
    TUESDAY = "Tuesday"
    WEDNESDAY = "Wednesday"
    THURSDAY = "Thursday"
    FRIDAY = "Friday"
    SATURDAY = "Saturday"
    SUNDAY = "Sunday"


WeekdayName = Weekday | Literal["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


class Monitoring(StrEnum):
    """What the cluster sends to the stack's log workspace."""

    LOGS = "logs"
    NONE = "none"


MonitoringName = Monitoring | Literal["logs", "none"]


class SpotArgs(TypedDict):
    """Spot machines, which Azure may take back at any time. `true` alone stands for all defaults. All of it is plain."""

    enabled: NotRequired[bool]
    """Whether the pool is one of Spot machines. Default: true."""
    max_price: NotRequired[float]
    """What a machine may cost at most, in USD an hour with at most five decimals; -1: as much as an ordinary one. Default: -1."""
    eviction: NotRequired[EvictionName]
    """What becomes of an evicted node; a deallocated one goes on counting against the quota. Default: delete."""


class SystemPoolArgs(TypedDict):
    """The pool that AKS's own pods run on; what runs without a GPU runs here too. All of it is plain."""

    size: NotRequired[str]
    """Size of its machines, which never have a GPU: that is this program's policy. AKS's page asks for 4 vCPUs and 4 GB. AKS
    refuses another one for a cluster that exists. Default: Standard_D4s_v5."""
    nodes: NotRequired[int]
    """How many nodes stay, which all cost while the cluster is there. AKS's page asks for two, and for three in production.
    Default: 1."""
    max_nodes: NotRequired[int]
    """How many there can be at most; more than `nodes` lets the autoscaler add some. Default: as many as `nodes`."""
    zones: NotRequired[Sequence[str]]
    """Availability zones of its nodes, such as ["1", "2"]. Default: none; Azure chooses."""
    os_sku: NotRequired[str]
    """System of its nodes, Ubuntu or AzureLinux. Default: Ubuntu."""
    max_surge: NotRequired[str]
    """How many further nodes an upgrade may take at a time, a number or a percentage. Default: 10%."""
    spot: NotRequired[SpotArgs | bool]
    """Refused: AKS takes Spot machines for further pools alone. Default: none."""
    dedicated: NotRequired[bool]
    """True keeps all pods but AKS's own away by the taint CriticalAddonsOnly; what needs no GPU then has no place. Default:
    false."""


class GpuPoolArgs(TypedDict):
    """A pool of GPU nodes, an agent pool of its own. Plain, all of it."""

    size: str
    """Size of its machines, which have a GPU, such as Standard_NC4as_T4_v3."""
    min_nodes: NotRequired[int]
    """How many nodes stay while nothing runs; each costs. Default: 0."""
    max_nodes: NotRequired[int]
    """How many there can be at most. Default: 1."""
    spot: NotRequired[SpotArgs | bool]
    """Spot machines; AKS adds a label and a taint, which this program's jobs tolerate. Default: ordinary machines."""
    taints: NotRequired[Sequence[str]]
    """What keeps pods without a toleration away, as key=value:Effect. Default: ["sku=gpu:NoSchedule"], AKS's own advice."""
    labels: NotRequired[Mapping[str, str]]
    """Labels of its nodes, beside azure-gpu/pool with the pool's name here. Default: none."""
    zones: NotRequired[Sequence[str]]
    """Availability zones of its nodes. Default: none; Azure chooses."""
    os_sku: NotRequired[str]
    """System of its nodes, one of Linux: Ubuntu, Ubuntu2204, AzureLinux, AzureLinux3. Default: Ubuntu."""
    driver: NotRequired[DriverName]
    """Whether AKS installs the GPU's driver. With none, a GPU operator has to. Default: install."""
    max_surge: NotRequired[str]
    """How many further nodes an upgrade may take at a time, a number or a percentage, which the quota has to have; not with Spot.
    Default: AKS's own."""
    drain_minutes: NotRequired[int]
    """How long an upgrade waits for the pods of a node to end, 1 to 1440. Default: AKS's own, 30."""
    os_disk_gb: NotRequired[int]
    """Size of the disk of the system, which holds images too. Default: AKS's own, by the size."""
    max_pods: NotRequired[int]
    """How many pods a node takes, 10 to 250. Default: AKS's own, 250."""
    features: NotRequired[Sequence[str]]
    """Preview features of Microsoft.ContainerService that the subscription has, such as AKSInfinibandSupport. Default: none."""
    sharing: NotRequired[SharingArgs]
    """How several programs share a GPU of it. Default: one program a GPU."""
    replace: NotRequired[PoolReplaceName]
    """What becomes of the pool when something changes that AKS can't change: its size, driver, MIG profile, zones, disk.
    side-by-side makes the new pool beside the old one, under a name that ends in four digits of a hash, and needs the quota of
    both; drain-first deletes the old one first, with whatever runs on it. Changed taints make a new pool side by side too, and
    are changed in place with drain-first. Default: side-by-side where the pool's name has at most 8 characters, of AKS's 12,
    drain-first where it is longer."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Tags beside the cluster's, over which they win. Default: none."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.AGENT_POOL)]]
    """azure-native properties of the agent pool, set last and judged only by Azure; null removes one. Default: none."""


class AdminsArgs(PrincipalsArgs):
    """Who may do everything in a cluster, by their object ids in Entra. All of it is plain."""


class AccessArgs(TypedDict):
    """How one gets into the cluster."""

    network: NotRequired[ClusterNetworkName]
    """Plain: who reaches its API's address. public: everybody, who then has to log in; restricted: `authorized_ranges` alone;
    private: the cluster's own network alone, so whoever runs this program has to have a way there, see `reachable`. Default:
    public."""
    authorized_ranges: NotRequired[Sequence[str]]
    """Plain: addresses in CIDR form that may reach it, with restricted alone; this machine's has to be among them. Default:
    none."""
    private_dns_zone: NotRequired[OpenInput[str]]
    """Wired: with private alone: system, none, or the ARM id of a private DNS zone. Default: system."""
    reachable: NotRequired[bool]
    """Plain: true says that whoever runs this program reaches a private cluster, such as by VPN. Default: false."""
    login: NotRequired[LoginName]
    """Plain: how the kubeconfig's kubelogin gets its token. Default: oidc where azure-native:useOidc is set, spn where
    azure-native:clientId is, else azurecli; AAD_LOGIN_METHOD in the environment comes before it."""
    authority_host: NotRequired[str]
    """Plain: where the kubeconfig's kubelogin asks Entra for its token, https://…/ with a slash at the end; with login spn.
    Default: Azure's own; with azure-native:metadataHost, that host."""
    disable_instance_discovery: NotRequired[bool]
    """Plain: true makes kubelogin take Entra's address as it is given. Default: what azure-native:disableInstanceDiscovery
    says."""
    local_accounts: NotRequired[bool]
    """Plain: true leaves AKS's local administrator in, who logs in with a certificate that nobody can take back. Default:
    false."""
    admins: NotRequired[AdminsArgs]
    """Who may do everything in the cluster. Where several people or a pipeline run this program, name all of them. Default:
    whoever ran the first up."""


class MaintenanceArgs(TypedDict):
    """When AKS may change the cluster by itself, and what. All of it is plain."""

    upgrades: NotRequired[UpgradeChannelName]
    """New versions of Kubernetes. Default: none; the cluster keeps its version until `kubernetes_version` is another."""
    node_images: NotRequired[NodeImageChannelName]
    """Fixes of the nodes' system; NodeImage replaces each node after its pods have had their time. Default: NodeImage."""
    day: NotRequired[WeekdayName]
    """The day of the week on which a window begins. Default: Sunday."""
    start: NotRequired[str]
    """The time at which it begins, HH:MM. Default: 02:00."""
    hours: NotRequired[int]
    """How long it is, 4 to 24 hours. Default: 4."""
    utc_offset: NotRequired[str]
    """Its clock against UTC, such as +05:30. Default: +00:00."""


class GpuClusterSettings(ClusterObjectsSettings):
    """An AKS cluster with GPU pools, or an existing one, and what is put onto it."""

    existing: NotRequired[str]
    """Plain: ARM id of a cluster to use, in any subscription. It is looked up and never changed; GPU pools that are said
    here are added to it and go with the stack. Default: the cluster is created."""
    cluster_name: NotRequired[OpenInput[str]]
    """Plain: name of the cluster in Azure. Default: made from project, team, stack and the name here."""
    location: NotRequired[OpenInput[str]]
    """Plain: Azure region of the cluster. Default: the stack's."""
    kubernetes_version: NotRequired[str]
    """Plain: version of Kubernetes, such as "1.35", in quotes. Default: the one that AKS takes by itself when the cluster is
    created, the newest but one, which then stays."""
    long_term_support: NotRequired[bool]
    """Plain: true takes the long-term support plan, which needs tier premium. Default: false."""
    tier: NotRequired[TierName]
    """Plain: free, or standard for a service level agreement. Default: free."""
    system_pool: NotRequired[SystemPoolArgs]
    """The pool that AKS's own pods run on. Default: one node of the smallest size."""
    gpu_pools: NotRequired[Mapping[str, GpuPoolArgs]]
    """GPU pools by name, at most 12 lower-case letters and digits. Each is a resource of its own: changing one replaces that one
    alone. Default: none."""
    access: NotRequired[AccessArgs]
    """How one gets in. Default: by Entra, from everywhere."""
    subnet_id: NotRequired[OpenInput[str]]
    """Wired: ARM id of the subnet of its nodes; the cluster's identity gets the role Network Contributor on it. Default: one that
    AKS makes."""
    pod_cidr: NotRequired[str]
    """Plain: addresses of pods, which are an overlay's and so seen by nobody outside. Default: AKS's own, 10.244.0.0/16."""
    service_cidr: NotRequired[str]
    """Plain: addresses of services, seen inside alone. Default: AKS's own, 10.0.0.0/16."""
    outbound: NotRequired[OutboundName]
    """Plain: how nodes reach the internet; a NAT gateway or routes of one's own need `subnet_id`. Default: loadBalancer."""
    network_policy: NotRequired[NetworkPolicyName]
    """Plain: who enforces which pods may talk to which. Default: none."""
    idle_minutes: NotRequired[int]
    """Plain: after how many minutes without work a node goes. Default: 10, as AKS has it."""
    maintenance: NotRequired[MaintenanceArgs]
    """When AKS may change the cluster by itself. Default: fixes of the nodes' system, on Sundays from 02:00 UTC."""
    monitoring: NotRequired[MonitoringName]
    """Plain: logs sends what API, autoscaler and logins say to the stack's log workspace. Default: logs where there is one."""
    workload_identity: NotRequired[bool]
    """Plain: true lets pods of the namespace speak as the stack's identity, without a secret, and those of services as its
    `serving_identity` where there is one. `run` needs it to carry files. Default: true where the stack has made one, else
    false."""
    ml_extension: NotRequired[bool]
    """Plain: true checks that the cluster fits Azure Machine Learning's extension, put on by a command of one's own, and refuses
    it with what is missing. A compute under `ml_workspace` that attaches the cluster puts it on by itself, and checks the same.
    Default: false."""
    on_cluster: NotRequired[bool]
    """Plain: false puts nothing onto the cluster: no device plugin, so no pod sees a GPU. Default: true."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Tags beside the stack's, over which they win. Default: none."""
    as_of: NotRequired[str]
    """Plain: the day at which the cluster is judged, YYYY-MM-DD, and its tag `as-of`. Default: the stack's."""
    expires_after: NotRequired[str]
    """Plain: the last day of the cluster and its pools, YYYY-MM-DD; the tag `expires-at` holds the instant at which that day ends
    in UTC. Tools and people keep it: Azure itself deletes nothing by it. Needed. Default: none."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.MANAGED_CLUSTER)]]
    """azure-native properties of the cluster, set last and judged only by Azure; null removes one. Default: none."""


class GpuClusterArgs(GpuClusterSettings, CommonArgs):
    """A cluster, and where it belongs."""


class GpuClusterWiring(GpuClusterSettings, OfStack):
    """The same, wired to what it needs."""
