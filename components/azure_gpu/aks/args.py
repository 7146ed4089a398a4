"""Settings of an AKS cluster, `GpuClusterSettings`.

They are resolved in `aks.resolve`, with their defaults in `aks.spec`, and validated in `aks.rules`, GPU pools in `aks.gpu_pools`.
Settings of the Kubernetes objects on the cluster are in `kubernetes.gpu_objects.args`.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NotRequired, TypedDict

from azure_gpu.formats import azure_types
from azure_gpu.foundation.common import CommonArgs
from azure_gpu.kubernetes.args import SharingArgs
from azure_gpu.kubernetes.gpu_objects.args import ClusterObjectsSettings
from azure_gpu.shared.context import OfStack
from azure_gpu.shared.overrides import Overrides, OverridesOf
from azure_gpu.shared.principals import PrincipalsArgs
from azure_gpu.shared.validation import Choice, OpenInput

Tier = Annotated[
    Literal["free", "standard", "premium"],
    Choice("ClusterTier", "Service level of the control plane. Premium requires the long-term support plan."),
]
Eviction = Annotated[Literal["delete", "deallocate"], Choice("ClusterEviction", "What happens to a Spot node that Azure evicts.")]
Driver = Annotated[Literal["install", "none"], Choice("ClusterDriver", "Who installs the GPU driver on a pool's nodes.")]
PoolReplace = Annotated[
    Literal["side-by-side", "drain-first"],
    Choice("ClusterPoolReplace", "How a pool is replaced when a property changes that AKS can't change on an existing one."),
]
ClusterNetwork = Annotated[
    Literal["public", "restricted", "private"], Choice("ClusterNetwork", "From where the cluster's API is reachable.")
]
Login = Annotated[
    Literal["azurecli", "spn", "workloadidentity", "oidc"],
    Choice(
        "ClusterLogin",
        "How kubelogin gets a token without interaction.",
        (("azurecli", "AzureCli"), ("spn", "ServicePrincipal"), ("workloadidentity", "WorkloadIdentity"), ("oidc", "Oidc")),
    ),
]
Outbound = Annotated[
    Literal["loadBalancer", "managedNATGateway", "userAssignedNATGateway", "userDefinedRouting"],
    Choice(
        "ClusterOutbound",
        "How nodes reach the internet.",
        (
            ("loadBalancer", "LoadBalancer"),
            ("managedNATGateway", "ManagedNatGateway"),
            ("userAssignedNATGateway", "OwnNatGateway"),
            ("userDefinedRouting", "OwnRoutes"),
        ),
    ),
]
NetworkPolicy = Annotated[Literal["none", "cilium", "calico", "azure"], Choice("ClusterNetworkPolicy", "Network policy engine.")]
UpgradeChannel = Annotated[
    Literal["none", "patch", "stable", "rapid"],
    Choice("ClusterUpgradeChannel", "Kubernetes versions to which AKS upgrades a cluster automatically."),
]
NodeImageChannel = Annotated[
    Literal["None", "Unmanaged", "SecurityPatch", "NodeImage"],
    Choice("ClusterNodeImageChannel", "How nodes get security updates of their operating system."),
]
Weekday = Annotated[
    Literal["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"], Choice("ClusterWeekday", "")
]
Monitoring = Annotated[
    Literal["logs", "none"], Choice("ClusterMonitoring", "What the cluster sends to the stack's log workspace.")
]


class SpotArgs(TypedDict):
    """Spot machines, which Azure may evict at any time. `true` stands for all defaults. All of it is plain."""

    enabled: NotRequired[bool]
    """Whether the pool uses Spot machines. Default: true."""
    max_price: NotRequired[float]
    """Maximum price of a machine, in USD an hour with at most five decimals; -1: up to the regular price. Default: -1."""
    eviction: NotRequired[Eviction]
    """What happens to an evicted node; a deallocated one still counts against the quota. Default: delete."""


class SystemPoolArgs(TypedDict):
    """The pool for AKS's own pods, and for pods without a GPU. All of it is plain."""

    size: NotRequired[str]
    """Size of its machines, without a GPU: that is this program's policy. AKS's documentation requires 4 vCPUs and 4 GB. AKS
    rejects another size for an existing cluster. Default: Standard_D4s_v5."""
    nodes: NotRequired[int]
    """Minimum number of nodes, which cost as long as the cluster exists. AKS's documentation recommends two, and three in
    production. Default: 1."""
    max_nodes: NotRequired[int]
    """Maximum number of nodes; more than `nodes` enables the autoscaler. Default: the same as `nodes`."""
    zones: NotRequired[Sequence[str]]
    """Availability zones of its nodes, such as ["1", "2"]. Default: none; Azure chooses."""
    os_sku: NotRequired[str]
    """Operating system of its nodes, Ubuntu or AzureLinux. Default: Ubuntu."""
    max_surge: NotRequired[str]
    """Number of additional nodes during an upgrade, a number or a percentage. Default: 10%."""
    spot: NotRequired[SpotArgs | bool]
    """Rejected: AKS supports Spot machines only for other pools. Default: none."""
    dedicated: NotRequired[bool]
    """True keeps all pods but AKS's own away by the taint CriticalAddonsOnly; pods without a GPU then can't run. Default:
    false."""


class GpuPoolArgs(TypedDict):
    """A pool of GPU nodes, a separate agent pool. All of it is plain."""

    size: str
    """Size of its machines, which have a GPU, such as Standard_NC4as_T4_v3."""
    min_nodes: NotRequired[int]
    """Minimum number of nodes; each costs while idle. Default: 0."""
    max_nodes: NotRequired[int]
    """Maximum number of nodes. Default: 1."""
    spot: NotRequired[SpotArgs | bool]
    """Spot machines; AKS adds a label and a taint, which this program's jobs tolerate. Default: regular machines."""
    taints: NotRequired[Sequence[str]]
    """Taints that keep pods without a toleration away, as key=value:Effect. Default: ["sku=gpu:NoSchedule"], AKS's own advice."""
    labels: NotRequired[Mapping[str, str]]
    """Labels of its nodes, in addition to azure-gpu/pool with the pool's name here. Default: none."""
    zones: NotRequired[Sequence[str]]
    """Availability zones of its nodes. Default: none; Azure chooses."""
    os_sku: NotRequired[str]
    """Operating system of its nodes, a Linux: Ubuntu, Ubuntu2204, AzureLinux, AzureLinux3. Default: Ubuntu."""
    driver: NotRequired[Driver]
    """Whether AKS installs the GPU driver. With none, a GPU operator has to. Default: install."""
    max_surge: NotRequired[str]
    """Number of additional nodes during an upgrade, a number or a percentage, for which quota is required; not with Spot.
    Default: AKS's own."""
    drain_minutes: NotRequired[int]
    """Minutes that an upgrade waits for a node's pods to end, 1 to 1440. Default: AKS's own, 30."""
    os_disk_gb: NotRequired[int]
    """Size of the OS disk, which also holds images. Default: AKS's own, by the size."""
    max_pods: NotRequired[int]
    """Maximum number of pods per node, 10 to 250. Default: AKS's own, 250."""
    features: NotRequired[Sequence[str]]
    """Registered preview features of Microsoft.ContainerService, such as AKSInfinibandSupport. Default: none."""
    sharing: NotRequired[SharingArgs]
    """How programs share one of its GPUs. Default: one program per GPU."""
    replace: NotRequired[PoolReplace]
    """How the pool is replaced when a property changes that AKS can't change: its size, driver, MIG profile, zones, disk.
    side-by-side creates the new pool beside the old one, under a name that ends in four digits of a hash, and requires quota for
    both; drain-first deletes the old one first, with whatever runs on it. Changed taints create a new pool side by side too, and
    are changed in place with drain-first. Default: side-by-side where the pool's name has at most 8 characters, of AKS's 12,
    drain-first where it is longer."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Additional tags, which take precedence over the cluster's. Default: none."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.AGENT_POOL)]]
    """azure-native properties of the agent pool, set last and validated only by Azure; null removes one. Default: none."""


class AdminsArgs(PrincipalsArgs):
    """Administrators of a cluster, by their object ids in Entra. All of it is plain."""


class AccessArgs(TypedDict):
    """Access to the cluster."""

    network: NotRequired[ClusterNetwork]
    """Plain: from where its API is reachable. public: from everywhere, with a login; restricted: only from `authorized_ranges`;
    private: only from the cluster's network, where this program then has to run, see `reachable`. Default: public."""
    authorized_ranges: NotRequired[Sequence[str]]
    """Plain: addresses in CIDR form that may connect, only with restricted; this machine's has to be among them. Default:
    none."""
    private_dns_zone: NotRequired[OpenInput[str]]
    """Wired: only with private: system, none, or the ARM id of a private DNS zone. Default: system."""
    api_server_subnet_id: NotRequired[OpenInput[str]]
    """Wired: ARM id of a subnet in which the API server gets an address, by API server VNet Integration: nodes reach it there, by
    no public address and no private endpoint, whatever `network` says. It is /28 or larger, in the network of `subnet_id`,
    delegated to Microsoft.ContainerService/managedClusters and used by API servers alone, each of which takes nine addresses or
    more; the cluster's identity gets the role Network Contributor on it. Azure doesn't switch it off: without it again, the
    cluster is replaced. A cluster that exists gets it in place, and has to be stopped and started right afterwards. Default: that
    of the foundation's network with `api_server_vnet_integration`, else none."""
    reachable: NotRequired[bool]
    """Plain: true if a private cluster is reachable from where this program runs, such as by VPN. Default: false."""
    login: NotRequired[Login]
    """Plain: login method of the kubeconfig's kubelogin. Default: oidc where azure-native:useOidc is set, spn where
    azure-native:clientId is, else azurecli; AAD_LOGIN_METHOD in the environment comes before it."""
    authority_host: NotRequired[str]
    """Plain: Entra's address for the kubeconfig's kubelogin, https://…/ with a slash at the end; with login spn. Default: Azure's
    own; with azure-native:metadataHost, that host."""
    disable_instance_discovery: NotRequired[bool]
    """Plain: true makes kubelogin use Entra's address without validating it. Default: that of
    azure-native:disableInstanceDiscovery."""
    local_accounts: NotRequired[bool]
    """Plain: true keeps AKS's local administrator, whose certificate can't be revoked. Default: false."""
    admins: NotRequired[AdminsArgs]
    """Administrators of the cluster. If several people or a pipeline run this program, list all of them. Default: whoever ran the
    first up."""


class MaintenanceArgs(TypedDict):
    """When AKS may change the cluster automatically, and what. All of it is plain."""

    upgrades: NotRequired[UpgradeChannel]
    """Kubernetes upgrades, in the window below. patch stays within the minor version. Default: patch; none where
    `kubernetes_version` has three numbers, such as "1.35.1"."""
    node_images: NotRequired[NodeImageChannel]
    """Updates of the nodes' operating system; NodeImage replaces each node after draining it. Default: NodeImage."""
    day: NotRequired[Weekday]
    """Day of the week on which a window starts. Default: Sunday."""
    start: NotRequired[str]
    """Time at which it starts, HH:MM. Default: 02:00."""
    hours: NotRequired[int]
    """Its length, 4 to 24 hours. Default: 4."""
    utc_offset: NotRequired[str]
    """Its offset from UTC, such as +05:30. Default: +00:00."""


class GpuClusterSettings(ClusterObjectsSettings):
    """An AKS cluster with GPU pools, or an existing one, and the objects on it."""

    existing: NotRequired[str]
    """Plain: ARM id of a cluster to use, in any subscription. It is looked up and never changed; GPU pools that are set here are
    added to it and deleted with the stack. Default: the cluster is created."""
    cluster_name: NotRequired[OpenInput[str]]
    """Plain: name of the cluster in Azure. Default: made from project, team, stack and the name here."""
    location: NotRequired[OpenInput[str]]
    """Plain: Azure region of the cluster. Default: the stack's."""
    kubernetes_version: NotRequired[str]
    """Plain: version of Kubernetes, such as "1.35", in quotes. Default: the one that AKS selects when the cluster is created, the
    newest but one, which then stays."""
    long_term_support: NotRequired[bool]
    """Plain: true selects the long-term support plan, which requires tier premium. Default: false."""
    tier: NotRequired[Tier]
    """Plain: free, or standard for a service level agreement. Default: free."""
    system_pool: NotRequired[SystemPoolArgs]
    """The pool for AKS's own pods. Default: one node of the smallest size."""
    gpu_pools: NotRequired[Mapping[str, GpuPoolArgs]]
    """GPU pools by name, at most 12 lower-case letters and digits. Each is a separate resource: changing one replaces only that
    one. Default: none."""
    access: NotRequired[AccessArgs]
    """Access to the cluster. Default: by Entra, from everywhere."""
    subnet_id: NotRequired[OpenInput[str]]
    """Wired: ARM id of the subnet of its nodes; the cluster's identity gets the role Network Contributor on it. Default: one that
    AKS creates."""
    pod_cidr: NotRequired[str]
    """Plain: addresses of pods, which are in an overlay network and not visible outside. Default: AKS's own, 10.244.0.0/16; with
    `subnet_id` another one if that overlaps the virtual network's addresses. A cluster that exists keeps its own."""
    service_cidr: NotRequired[str]
    """Plain: addresses of services, visible only inside. Default: AKS's own, 10.0.0.0/16; with `subnet_id` another one if that
    overlaps the virtual network's addresses. A cluster that exists keeps its own."""
    outbound: NotRequired[Outbound]
    """Plain: how nodes reach the internet; a custom NAT gateway or route table requires `subnet_id`. Default: loadBalancer."""
    network_policy: NotRequired[NetworkPolicy]
    """Plain: network policy engine. cilium is Azure CNI Powered by Cilium, which is also the data plane; new subscriptions can't
    enable azure any more. Default: cilium; a cluster that exists keeps its own."""
    azure_policy: NotRequired[bool]
    """Plain: true installs AKS's add-on for Azure Policy, by which policies that are assigned in Azure decide about pods; false
    removes it. Its pods run on the system pool and need a route to data.policy.core.windows.net and
    store.policy.core.windows.net. Default: true where the foundation has a private network, else nothing is said of it."""
    idle_minutes: NotRequired[int]
    """Plain: minutes after which an idle node is removed. Default: 10, as AKS has it."""
    maintenance: NotRequired[MaintenanceArgs]
    """When AKS may change the cluster automatically. Default: patches of Kubernetes and updates of the nodes' system, on Sundays
    from 02:00 UTC."""
    monitoring: NotRequired[Monitoring]
    """Plain: logs sends logs of API server, autoscaler and logins to the stack's log workspace. Default: logs where there is
    one."""
    workload_identity: NotRequired[bool]
    """Plain: true lets pods of the namespace use the stack's identity, without a secret, and those of services its
    `serving_identity` where there is one. `run` requires it to transfer files. Default: true where the stack has made one, else
    false."""
    ml_extension: NotRequired[bool]
    """Plain: true checks that the cluster meets the requirements of Azure Machine Learning's extension, if you install it by a
    command, and reports what is missing. A compute under `ml_workspace` that attaches the cluster installs it, with the same
    check. Default: false."""
    on_cluster: NotRequired[bool]
    """Plain: false creates no objects on the cluster: no device plugin, so pods see no GPU. Default: true."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Additional tags, which take precedence over the stack's. Default: none."""
    as_of: NotRequired[str]
    """Plain: the date against which the cluster is validated, YYYY-MM-DD, and its tag `as-of`. Default: the stack's."""
    expires_after: NotRequired[str]
    """Plain: the last day of the cluster and its pools, YYYY-MM-DD; the tag `expires-at` holds the end of that day in UTC. Tools
    and people act on it: Azure itself deletes nothing. Required. Default: none."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.MANAGED_CLUSTER)]]
    """azure-native properties of the cluster, set last and validated only by Azure; null removes one. Default: none."""


class GpuClusterArgs(GpuClusterSettings, CommonArgs):
    """Arguments of GpuCluster."""


class GpuClusterWiring(GpuClusterSettings, OfStack):
    """Arguments of GpuCluster, including the outputs of the stack's other parts."""
