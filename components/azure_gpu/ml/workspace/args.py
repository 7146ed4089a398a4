"""Settings of an Azure Machine Learning workspace, `MlWorkspaceSettings`, with the defaults of its keys.

They are resolved in `ml.workspace.resolve`, `ml.workspace.computes` and `ml.workspace.assets`, and validated in
`ml.workspace.rules`.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Literal, NotRequired, TypedDict

import pulumi

from azure_gpu.formats import azure_types
from azure_gpu.foundation.common import CommonArgs
from azure_gpu.shared.attachable import AttachableCluster, AttachableVm, ClusterOfWorkspace, VmOfWorkspace
from azure_gpu.shared.context import OfStack
from azure_gpu.shared.overrides import Overrides, OverridesOf
from azure_gpu.shared.part import PartArgs
from azure_gpu.shared.validation import OpenInput
from azure_gpu.shared.workloads import WorkloadName

DEFAULT_MIN_NODES = 0
DEFAULT_MAX_NODES = 1
DEFAULT_IDLE_MINUTES = 2
DEFAULT_NAMESPACE = "default"
DEFAULT_RETENTION_DAYS = 7


class Network(StrEnum):
    """Who reaches the workspace's address."""

    PUBLIC = "public"
    RESTRICTED = "restricted"
    PRIVATE = "private"


NetworkName = Network | Literal["public", "restricted", "private"]


class ManagedNetwork(StrEnum):
    """The network that Azure itself makes for the workspace's machines."""

    NONE = "none"
    INTERNET_OUTBOUND = "internet_outbound"
    APPROVED_OUTBOUND = "approved_outbound"


ManagedNetworkName = ManagedNetwork | Literal["none", "internet_outbound", "approved_outbound"]


class Firewall(StrEnum):
    """What keeps to rules that name hosts, and is paid by the hour."""

    BASIC = "basic"
    STANDARD = "standard"


FirewallName = Firewall | Literal["basic", "standard"]


class Router(StrEnum):
    """How the endpoints on a cluster are reached."""

    LOAD_BALANCER = "load_balancer"
    NODE_PORT = "node_port"
    CLUSTER_IP = "cluster_ip"


RouterName = Router | Literal["load_balancer", "node_port", "cluster_ip"]


class Replace(StrEnum):
    """What becomes of a cluster of machines when something changes that can't be changed on one that exists."""

    SIDE_BY_SIDE = "side-by-side"
    DRAIN_FIRST = "drain-first"


ReplaceName = Replace | Literal["side-by-side", "drain-first"]


class ModelType(StrEnum):
    """What lies in a model's folder."""

    CUSTOM = "custom"
    TRITON = "triton"
    MLFLOW = "mlflow"


ModelTypeName = ModelType | Literal["custom", "triton", "mlflow"]


class OutboundRuleArgs(TypedDict):
    """Where machines in the managed network may go: to a host, to a service, or to a resource through a private endpoint. Exactly
    one of fqdn, service_tag and resource_id."""

    fqdn: NotRequired[str]
    """Plain: a host's name, `*.` in front for all below it; with approved_outbound alone. Makes a firewall, which is paid by the
    hour. Default: none."""
    service_tag: NotRequired[str]
    """Plain: an Azure service by its tag, such as AzureMonitor; with approved_outbound alone. Default: none."""
    protocol: NotRequired[str]
    """Plain: TCP, UDP, ICMP or *, with service_tag. Default: TCP."""
    ports: NotRequired[str]
    """Plain: ports and ranges of them, such as "443, 8080-8089", with service_tag. Default: 443."""
    resource_id: NotRequired[OpenInput[str]]
    """Wired: ARM id of a resource that gets a private endpoint, which is paid by the hour. Default: none."""
    subresource: NotRequired[str]
    """Plain: the part of that resource, such as blob. Needed with resource_id. Default: none."""


class PrivateEndpointArgs(TypedDict):
    """The workspace's address in a network of one's own."""

    subnet_id: OpenInput[str]
    """Wired: ARM id of the subnet that the address is in."""
    private_dns_zones: NotRequired[Sequence[OpenInput[str]]]
    """Wired: ARM ids of the private DNS zones privatelink.api.azureml.ms and privatelink.notebooks.azure.net, which are linked to
    that network; the address is written into them. Default: none, and the workspace's names lead to its public address."""


class KeyVaultArgs(PartArgs):
    """The vault that the workspace keeps secrets in. `create` alone stands for all defaults."""

    purge_protection: NotRequired[bool]
    """Plain: true lets nobody destroy a deleted vault before its time; that is for good. Not with `existing`. Default: true."""
    retention_days: NotRequired[int]
    """Plain: how many days a deleted vault can be brought back, 7 to 90; that is for good. Not with `existing`. Default: 7."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.KEY_VAULT)]]
    """azure-native properties of the vault, set last and judged only by Azure; null removes one. Default: none."""


class InsightsArgs(PartArgs):
    """What endpoints and jobs measure goes there. `create` alone stands for all defaults."""

    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.INSIGHTS_COMPONENT)]]
    """azure-native properties of the component, set last and judged only by Azure; null removes one. Default: none."""


class InstanceTypeArgs(TypedDict):
    """What a pod on a cluster gets. All of it is plain."""

    cpu: NotRequired[str]
    """Processors, such as "2" or "500m". Default: "1"."""
    memory: NotRequired[str]
    """Memory, such as 4Gi. Default: 2Gi."""
    gpus: NotRequired[int]
    """GPUs, whole ones or shares of one where the pool shares its own. Default: 0."""
    node_selector: NotRequired[Mapping[str, str]]
    """Labels of the nodes that it runs on, such as azure-gpu/pool: t4. Default: any node."""


class ExtensionArgs(TypedDict):
    """The extension that makes a cluster part of Azure Machine Learning. It is put on by the stack, once a cluster."""

    install: NotRequired[bool]
    """Plain: false where the cluster has it already. Default: true, but on an existing cluster, which is never changed
    unasked."""
    router: NotRequired[RouterName]
    """Plain: how endpoints are reached. Default: load_balancer, inside the cluster's network where `internal` says so."""
    internal: NotRequired[bool]
    """Plain: true gives the load balancer an address in the cluster's own network alone. Default: true."""
    high_availability: NotRequired[bool]
    """Plain: true runs the router three times, which needs three nodes that stay. Default: true where the cluster has them."""
    insecure: NotRequired[bool]
    """Plain: true answers by HTTP, for development alone. Default: false."""
    host_name: NotRequired[str]
    """Plain: the name in the certificate. Needed without `insecure`. Default: none."""
    tls_secret: NotRequired[str]
    """Plain: a Kubernetes secret in the namespace azureml with cert.pem and key.pem. Default: none."""
    certificate: NotRequired[pulumi.Input[str]]
    """Wired: the certificate as PEM, in place of `tls_secret`; secret. Default: none."""
    key: NotRequired[pulumi.Input[str]]
    """Wired: its key as PEM, without a pass phrase; secret. Default: none."""
    training: NotRequired[bool]
    """Plain: false takes no jobs. Default: true."""
    inference: NotRequired[bool]
    """Plain: false takes no endpoints, and needs no router. Default: true."""


class ComputeArgs(TypedDict):
    """A compute: machines of the workspace's own, said by `size`; or a cluster of the stack, said by `cluster`; or a virtual
    machine of the stack, said by `vm`. Exactly one of the three."""

    size: NotRequired[str]
    """Plain: size of the machines, which have a GPU, such as Standard_NC4as_T4_v3. Default: none."""
    min_nodes: NotRequired[int]
    """Plain: how many machines stay while nothing runs; each costs. With size. Default: 0."""
    max_nodes: NotRequired[int]
    """Plain: how many there can be at most. With size. Default: 1."""
    idle_minutes: NotRequired[int]
    """Plain: after how many minutes without work a machine goes. With size. Default: 2."""
    spot: NotRequired[bool]
    """Plain: true takes Spot machines, at Spot's price, which Azure may evict; ARM still calls their priority LowPriority. With
    size. Default: false."""
    subnet_id: NotRequired[OpenInput[str]]
    """Wired: ARM id of the subnet of the machines; with size, and without a managed network alone. Default: Azure's own
    network."""
    public_addresses: NotRequired[bool]
    """Plain: false gives the machines no public address, which needs a managed network, or `subnet_id` with a way out of its own
    and a private endpoint of the workspace. With size. Default: false where they can do without, else true."""
    replace: NotRequired[ReplaceName]
    """Plain: what becomes of the machines when something changes that can't be changed: size, priority, subnet, addresses.
    side-by-side makes the new cluster beside the old one, under a name that ends in a hash, and needs the quota of both;
    drain-first deletes the old one first, with whatever runs on it. With size. Default: side-by-side where the name has at most
    18 characters, of Azure's 24, drain-first where it is longer."""
    cluster: NotRequired[AttachableCluster | OpenInput[str]]
    """The cluster that is attached: its name under `clusters`; in a program, the component or its ARM id. Default: none."""
    namespace: NotRequired[str]
    """Plain: the namespace that work runs in; it has to be there. With cluster. Default: that of the cluster's own jobs, else
    default."""
    instance_types: NotRequired[Mapping[str, InstanceTypeArgs]]
    """What a pod gets, by the name that jobs and endpoints use. With cluster. Default: none."""
    default_instance_type: NotRequired[str]
    """Plain: the instance type of what names none; without one a pod gets 0.6 processors and no GPU. With cluster. Default: the
    one there is, where there is one alone."""
    extension: NotRequired[ExtensionArgs | Literal["install"]]
    """How the extension is put onto the cluster; one compute of each cluster says it. With cluster. Default: as its keys say."""
    vm: NotRequired[AttachableVm | str]
    """The virtual machine that is attached: its name under `vms`; in a program, the component. Linux
    alone. The service signs on to it by SSH, so it needs a
    `public_address`, and AzureMachineLearning among its `allowed_ranges`. Default: none."""
    private_key: NotRequired[pulumi.Input[str]]
    """Wired: the private key by which the workspace signs on by SSH; secret. Needed with vm. Default: none."""
    description: NotRequired[str]
    """Plain: what people read. Default: none."""
    expires_after: NotRequired[str]
    """Plain: the last day of the machines, YYYY-MM-DD; the tag `expires-at` holds the instant at which that day ends in UTC.
    Needed with size. Default: none."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Plain: tags beside the workspace's, over which they win. Default: none."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.ML_COMPUTE)]]
    """azure-native properties of the compute, set last and judged only by Azure; null removes one. Default: none."""


class ModelArgs(TypedDict):
    """A version of a model, which never changes: another content is another version. All of it is plain."""

    model_name: NotRequired[str]
    """Its name in the workspace, which several versions share. Default: the name here."""
    version: str
    """Its version, such as "1", in quotes."""
    path: NotRequired[str]
    """Where its folder lies in the container `models` of the stack's storage account, where `python -m operations upload-model`
    puts it. Exactly one of path and uri. Default: none."""
    uri: NotRequired[str]
    """Where it lies otherwise: azureml://…, or https://… of a blob storage account, which nobody is known to have had registered.
    Default: none."""
    type: NotRequired[ModelTypeName]
    """What lies there: custom (such as a SavedModel), triton or mlflow. Default: custom."""
    description: NotRequired[str]
    """What people read. Default: none."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Tags of the version. Default: none."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.ML_MODEL_VERSION)]]
    """azure-native properties of the version, set last and judged only by Azure; null removes one. Default: none."""


class RoutesArgs(TypedDict):
    """How an image that answers requests by itself is asked. All of it is plain."""

    port: NotRequired[int]
    """Its port. Default: 5001."""
    scoring: NotRequired[str]
    """Where requests go. Default: /score."""
    liveness: NotRequired[str]
    """Where it says that it lives. Default: /."""
    readiness: NotRequired[str]
    """Where it says that it may be asked. Default: /."""


class EnvironmentArgs(TypedDict):
    """A version of an environment, which never changes: another content is another version. Plain, but for `image` and tags."""

    environment_name: NotRequired[str]
    """Its name in the workspace, which several versions share. Default: the name here."""
    version: NotRequired[str]
    """Its version, such as "1", in quotes. Needed but with workload, where it is the image's tag. Default: none."""
    workload: NotRequired[WorkloadName]
    """A workload of this repository, whose image the stack's registry builds: `scoring` answers requests by itself with the model
    of its deployment, `digits` with the one in its image, where the deployment has none. Exactly one of workload and image.
    Default: none."""
    image: NotRequired[OpenInput[str]]
    """An image. With conda_file the one that the environment starts from. Default: none."""
    conda_file: NotRequired[str]
    """Path of a conda file beside this program, such as environments/train.yml. Default: none; the image has everything."""
    routes: NotRequired[RoutesArgs]
    """How an image is asked that answers requests by itself. Default: with workload scoring or digits its own, else none: the
    service's own server runs code."""
    gpu: NotRequired[bool]
    """True says that it is of no use without a GPU. Default: true where the image's name speaks of CUDA or the conda file of a
    package for GPUs alone."""
    description: NotRequired[str]
    """What people read. Default: none."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Tags of the version. Default: none."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.ML_ENVIRONMENT_VERSION)]]
    """azure-native properties of the version, set last and judged only by Azure; null removes one. Default: none."""


class CodeArgs(TypedDict):
    """A version of code, which never changes: another content is another version. All of it is plain."""

    code_name: NotRequired[str]
    """Its name in the workspace, which several versions share. Default: the name here."""
    version: str
    """Its version, such as "1", in quotes."""
    uri: str
    """Where its folder lies: https://… of a blob storage account."""
    description: NotRequired[str]
    """What people read. Default: none."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.ML_CODE_VERSION)]]
    """azure-native properties of the version, set last and judged only by Azure; null removes one. Default: none."""


class MlWorkspaceSettings(PartArgs):
    """A workspace that is created, or the existing one to use; any other key is enough to create one."""

    workspace_name: NotRequired[OpenInput[str]]
    """Plain: its name in Azure. A deleted workspace keeps its name for 14 days, so one that is said can't be made again before.
    Default: one with a random end."""
    location: NotRequired[OpenInput[str]]
    """Plain: Azure region of the workspace and its computes. Default: the stack's."""
    network: NotRequired[NetworkName]
    """Plain: who reaches the workspace. public: everybody, who then has to log in by Entra; private: private endpoints alone, so
    whoever runs jobs and asks endpoints has to be in the network of one; restricted, to some addresses, is nothing that this API
    has, and refused. Default: public, because without a network of one's own nobody would reach a private one."""
    private_endpoint: NotRequired[PrivateEndpointArgs]
    """The workspace's address in a network of one's own. Default: none."""
    managed_network: NotRequired[ManagedNetworkName]
    """Plain: the network that Azure makes for the workspace's machines, with its first machine, which then takes half an hour.
    internet_outbound lets them go anywhere; approved_outbound only where `outbound_rules` and the service's own lead. Private
    endpoints are paid by the hour, and a firewall as soon as a rule names a host. It can be made stricter and never be taken
    back. Default: none."""
    outbound_rules: NotRequired[Mapping[str, OutboundRuleArgs]]
    """Where machines in the managed network may go. Default: what the service needs."""
    firewall: NotRequired[FirewallName]
    """Plain: the firewall of rules that name hosts. Default: basic, the cheaper one."""
    key_vault: NotRequired[KeyVaultArgs | Literal["create"]]
    """The vault that it keeps secrets in: `create`, or `existing: <id>`. Default: create."""
    insights: NotRequired[InsightsArgs | Literal["create"]]
    """Application Insights, for what endpoints and jobs measure: `create`, which needs the foundation's `log_workspace`, or
    `existing: <id>`. Default: create."""
    high_business_impact: NotRequired[bool]
    """Plain: true has Microsoft collect less from the workspace; that is for good. Default: false."""
    friendly_name: NotRequired[str]
    """Plain: what people read. Default: its name."""
    description: NotRequired[str]
    """Plain: what people read. Default: none."""
    computes: NotRequired[Mapping[str, ComputeArgs]]
    """Computes by name: clusters of machines, Kubernetes clusters and virtual machines. Default: none."""
    models: NotRequired[Mapping[str, ModelArgs]]
    """Versions of models by name. Default: none."""
    environments: NotRequired[Mapping[str, EnvironmentArgs]]
    """Versions of environments by name. Default: none."""
    code: NotRequired[Mapping[str, CodeArgs]]
    """Versions of code by name. Default: none."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Tags beside the stack's, over which they win. Default: none."""
    as_of: NotRequired[str]
    """Plain: the day at which the workspace and what is in it are judged, YYYY-MM-DD, and its tag `as-of`. Default: the
    stack's."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.ML_WORKSPACE)]]
    """azure-native properties of the workspace, set last and judged only by Azure; null removes one. Default: none."""


class MlWorkspaceArgs(MlWorkspaceSettings, CommonArgs):
    """A workspace, and where it belongs. One that is created is the default, and keeps its data in the storage account."""


class MlWorkspaceWiring(MlWorkspaceSettings, OfStack):
    """The same, wired to what it needs. One that is created keeps its data in `storage`."""

    clusters: NotRequired[Mapping[str, ClusterOfWorkspace]]
    """The stack's AKS clusters, for computes. Default: none."""
    vms: NotRequired[Mapping[str, VmOfWorkspace]]
    """The stack's virtual machines, for computes. Default: none."""
