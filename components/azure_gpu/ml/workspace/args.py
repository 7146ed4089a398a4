"""Settings of an Azure Machine Learning workspace, `MlWorkspaceSettings`, with the defaults of its keys.

They are resolved in `ml.workspace.resolve`, `ml.workspace.computes` and `ml.workspace.assets`, and validated in
`ml.workspace.rules`.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, NotRequired, TypedDict

import pulumi

from azure_gpu.formats import azure_types
from azure_gpu.foundation.common import CommonArgs
from azure_gpu.shared.attachable import AttachableCluster, AttachableVm, ClusterOfWorkspace, VmOfWorkspace
from azure_gpu.shared.context import OfStack, WorkloadChoice
from azure_gpu.shared.overrides import Overrides, OverridesOf
from azure_gpu.shared.part import PartArgs
from azure_gpu.shared.private_network import PrivateEndpointArgs
from azure_gpu.shared.validation import Choice, OpenInput

DEFAULT_MIN_NODES = 0
DEFAULT_MAX_NODES = 1
DEFAULT_IDLE_MINUTES = 2
DEFAULT_NAMESPACE = "default"
DEFAULT_RETENTION_DAYS = 7


Network = Annotated[
    Literal["public", "restricted", "private"], Choice("WorkspaceNetwork", "From where the workspace is reachable.")
]


ManagedNetwork = Annotated[
    Literal["none", "internet_outbound", "approved_outbound"],
    Choice("WorkspaceManagedNetwork", "The network that Azure creates and manages for the workspace's machines."),
]


Firewall = Annotated[
    Literal["basic", "standard"],
    Choice("WorkspaceFirewall", "The firewall for outbound rules with host names, billed by the hour."),
]


Router = Annotated[
    Literal["load_balancer", "node_port", "cluster_ip"], Choice("WorkspaceRouter", "How the endpoints on a cluster are reached.")
]


Replace = Annotated[
    Literal["side-by-side", "drain-first"],
    Choice(
        "WorkspaceReplace",
        "How a cluster of machines is replaced when a property changes that can't be changed on an existing one.",
    ),
]


ModelType = Annotated[Literal["custom", "triton", "mlflow"], Choice("WorkspaceModelType", "Format of a model's folder.")]


class OutboundRuleArgs(TypedDict):
    """A destination that machines in the managed network may reach: a host, a service, or a resource through a private endpoint.
    Exactly one of fqdn, service_tag and resource_id."""

    fqdn: NotRequired[str]
    """Plain: a host name, `*.` in front for all its subdomains; only with approved_outbound. Creates a firewall, billed by the
    hour. Default: none."""
    service_tag: NotRequired[str]
    """Plain: an Azure service by its tag, such as AzureMonitor; only with approved_outbound. Default: none."""
    protocol: NotRequired[str]
    """Plain: TCP, UDP, ICMP or *, with service_tag. Default: TCP."""
    ports: NotRequired[str]
    """Plain: ports and port ranges, such as "443, 8080-8089", with service_tag. Default: 443."""
    resource_id: NotRequired[OpenInput[str]]
    """Wired: ARM id of a resource that gets a private endpoint, billed by the hour. Default: none."""
    subresource: NotRequired[str]
    """Plain: the part of that resource, such as blob. Required with resource_id. Default: none."""


class KeyVaultArgs(PartArgs):
    """The vault of the workspace's secrets. `create` stands for all defaults."""

    purge_protection: NotRequired[bool]
    """Plain: true keeps a deleted vault from being purged before its retention ends; it can't be turned off. Not with `existing`.
    Default: true."""
    retention_days: NotRequired[int]
    """Plain: number of days in which a deleted vault can be recovered, 7 to 90; it can't be changed. Not with `existing`.
    Default: 7."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.KEY_VAULT)]]
    """azure-native properties of the vault, set last and validated only by Azure; null removes one. Default: none."""


class InsightsArgs(PartArgs):
    """Application Insights for the metrics of endpoints and jobs. `create` stands for all defaults."""

    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.INSIGHTS_COMPONENT)]]
    """azure-native properties of the component, set last and validated only by Azure; null removes one. Default: none."""


class InstanceTypeArgs(TypedDict):
    """Resources of a pod on a cluster. All of it is plain."""

    cpu: NotRequired[str]
    """CPU cores, such as "2" or "500m". Default: "1"."""
    memory: NotRequired[str]
    """Memory, such as 4Gi. Default: 2Gi."""
    gpus: NotRequired[int]
    """Number of GPUs, or of shares where the pool shares its GPUs. Default: 0."""
    node_selector: NotRequired[Mapping[str, str]]
    """Labels of its nodes, such as azure-gpu/pool: t4. Default: any node."""


class ExtensionArgs(TypedDict):
    """The Azure Machine Learning extension on a cluster. The stack installs it once per cluster."""

    install: NotRequired[bool]
    """Plain: false if the cluster has it already. Default: true, but on an existing cluster, which is changed only if this is
    set."""
    router: NotRequired[Router]
    """Plain: how endpoints are reached. Default: load_balancer, inside the cluster's network with `internal`."""
    internal: NotRequired[bool]
    """Plain: true gives the load balancer an address only in the cluster's network. Default: true."""
    high_availability: NotRequired[bool]
    """Plain: true runs three instances of the router, which requires three permanent nodes. Default: true where the cluster has
    them."""
    insecure: NotRequired[bool]
    """Plain: true allows HTTP, only for development. Default: false."""
    host_name: NotRequired[str]
    """Plain: the host name in the certificate. Required without `insecure`. Default: none."""
    tls_secret: NotRequired[str]
    """Plain: a Kubernetes secret in the namespace azureml with cert.pem and key.pem. Default: none."""
    certificate: NotRequired[pulumi.Input[str]]
    """Wired: the certificate as PEM, instead of `tls_secret`; secret. Default: none."""
    key: NotRequired[pulumi.Input[str]]
    """Wired: its key as PEM, without a passphrase; secret. Default: none."""
    training: NotRequired[bool]
    """Plain: false disables jobs. Default: true."""
    inference: NotRequired[bool]
    """Plain: false disables endpoints, which needs no router. Default: true."""


class ComputeArgs(TypedDict):
    """A compute: machines of the workspace, with `size`; a cluster of the stack, with `cluster`; or a virtual machine of the
    stack, with `vm`. Exactly one of the three."""

    size: NotRequired[str]
    """Plain: size of the machines, which have a GPU, such as Standard_NC4as_T4_v3. Default: none."""
    min_nodes: NotRequired[int]
    """Plain: minimum number of machines; each costs while idle. With size. Default: 0."""
    max_nodes: NotRequired[int]
    """Plain: maximum number of machines. With size. Default: 1."""
    idle_minutes: NotRequired[int]
    """Plain: minutes after which an idle machine is removed. With size. Default: 2."""
    spot: NotRequired[bool]
    """Plain: true selects Spot machines, at Spot's price, which Azure may evict; ARM still calls their priority LowPriority. With
    size. Default: false."""
    subnet_id: NotRequired[OpenInput[str]]
    """Wired: ARM id of the subnet of the machines; only with size and without a managed network. Default: Azure's own network."""
    public_addresses: NotRequired[bool]
    """Plain: false gives the machines no public address, which requires a managed network, or `subnet_id` with outbound access
    and a private endpoint of the workspace. With size. Default: false where they can do without, else true."""
    replace: NotRequired[Replace]
    """Plain: how the machines are replaced when a property changes that can't be changed: size, priority, subnet, addresses.
    side-by-side creates the new cluster beside the old one, under a name that ends in a hash, and requires quota for both;
    drain-first deletes the old one first, with whatever runs on it. With size. Default: side-by-side where the name has at most
    18 characters, of Azure's 24, drain-first where it is longer."""
    cluster: NotRequired[AttachableCluster | OpenInput[str]]
    """The attached cluster: its name under `clusters`; in a program, the component or its ARM id. Default: none."""
    namespace: NotRequired[str]
    """Plain: the namespace for jobs and endpoints, which has to exist. With cluster. Default: that of the cluster's own jobs,
    else default."""
    instance_types: NotRequired[Mapping[str, InstanceTypeArgs]]
    """Resources of pods, by the name that jobs and endpoints use. With cluster. Default: none."""
    default_instance_type: NotRequired[str]
    """Plain: the instance type of jobs and endpoints that set none; without one a pod gets 0.6 CPU cores and no GPU. With
    cluster. Default: the only one there is."""
    extension: NotRequired[ExtensionArgs | Literal["install"]]
    """The extension on the cluster; only one compute per cluster sets it. With cluster. Default: as its keys say."""
    vm: NotRequired[AttachableVm | str]
    """The attached virtual machine: its name under `vms`; in a program, the component. Only Linux. The service logs in to it by
    SSH, so it needs a `public_address`, and AzureMachineLearning among its `allowed_ranges`. Default: none."""
    private_key: NotRequired[pulumi.Input[str]]
    """Wired: the private key for the workspace's SSH login; secret. Required with vm. Default: none."""
    description: NotRequired[str]
    """Plain: a description. Default: none."""
    expires_after: NotRequired[str]
    """Plain: the last day of the machines, YYYY-MM-DD; the tag `expires-at` holds the end of that day in UTC. Required with size.
    Default: none."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Plain: additional tags, which take precedence over the workspace's. Default: none."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.ML_COMPUTE)]]
    """azure-native properties of the compute, set last and validated only by Azure; null removes one. Default: none."""


class ModelArgs(TypedDict):
    """A version of a model, which never changes: changed content is another version. All of it is plain."""

    model_name: NotRequired[str]
    """Its name in the workspace, shared by several versions. Default: the name here."""
    version: str
    """Its version, such as "1", in quotes."""
    path: NotRequired[str]
    """Path of its folder in the container `models` of the stack's storage account, to which `python -m operations upload model`
    uploads it. Exactly one of path and uri. Default: none."""
    uri: NotRequired[str]
    """Its address elsewhere: azureml://…, or https://… of a blob storage account, which isn't known to work. Default: none."""
    type: NotRequired[ModelType]
    """Its format: custom (such as a SavedModel), triton or mlflow. Default: custom."""
    description: NotRequired[str]
    """A description. Default: none."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Tags of the version. Default: none."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.ML_MODEL_VERSION)]]
    """azure-native properties of the version, set last and validated only by Azure; null removes one. Default: none."""


class RoutesArgs(TypedDict):
    """Routes of an image that has a server. All of it is plain."""

    port: NotRequired[int]
    """Its port. Default: 5001."""
    scoring: NotRequired[str]
    """Route of requests. Default: /score."""
    liveness: NotRequired[str]
    """Route of the liveness check. Default: /."""
    readiness: NotRequired[str]
    """Route of the readiness check. Default: /."""


class EnvironmentArgs(TypedDict):
    """A version of an environment, which never changes: changed content is another version. Plain, except for `image` and
    tags."""

    environment_name: NotRequired[str]
    """Its name in the workspace, shared by several versions. Default: the name here."""
    version: NotRequired[str]
    """Its version, such as "1", in quotes. Required without workload, whose default is the image's tag. Default: none."""
    workload: NotRequired[WorkloadChoice]
    """A workload of this repository, whose image the stack's registry builds: `scoring` has a server for the model of its
    deployment, `digits` for the one in its image, if the deployment has none. Exactly one of workload and image. Default:
    none."""
    image: NotRequired[OpenInput[str]]
    """An image. With conda_file, the base image of the environment. Default: none."""
    conda_file: NotRequired[str]
    """Path of a conda file, relative to the program's folder, such as environments/train.yml. Default: none; the image is
    complete."""
    routes: NotRequired[RoutesArgs]
    """Routes of an image that has a server. Default: with workload scoring or digits its own, else none: the service's own server
    runs code."""
    gpu: NotRequired[bool]
    """True if it requires a GPU. Default: true if the image's name mentions CUDA, or the conda file a package only for GPUs."""
    description: NotRequired[str]
    """A description. Default: none."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Tags of the version. Default: none."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.ML_ENVIRONMENT_VERSION)]]
    """azure-native properties of the version, set last and validated only by Azure; null removes one. Default: none."""


class CodeArgs(TypedDict):
    """A version of code, which never changes: changed content is another version. All of it is plain."""

    code_name: NotRequired[str]
    """Its name in the workspace, shared by several versions. Default: the name here."""
    version: str
    """Its version, such as "1", in quotes."""
    uri: str
    """Address of its folder: https://… of a blob storage account."""
    description: NotRequired[str]
    """A description. Default: none."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.ML_CODE_VERSION)]]
    """azure-native properties of the version, set last and validated only by Azure; null removes one. Default: none."""


class MlWorkspaceSettings(PartArgs):
    """A workspace that is created, or an existing one; any key but `existing` is enough to create one."""

    workspace_name: NotRequired[OpenInput[str]]
    """Plain: its name in Azure. A deleted workspace keeps its name for 14 days, so a fixed name can't be created again before.
    Default: one with a random suffix."""
    location: NotRequired[OpenInput[str]]
    """Plain: Azure region of the workspace and its computes. Default: the stack's."""
    network: NotRequired[Network]
    """Plain: from where the workspace is reachable. public: from everywhere, with a login by Entra; private: only through private
    endpoints, from whose networks jobs and requests then have to be sent; restricted, to address ranges, isn't supported by this
    API and is rejected. Default: public, because a private one requires a network of yours."""
    private_endpoint: NotRequired[PrivateEndpointArgs]
    """The workspace's address in a network of yours. Default: none."""
    managed_network: NotRequired[ManagedNetwork]
    """Plain: the network that Azure creates for the workspace's machines, with its first machine, which then takes half an hour.
    internet_outbound allows all destinations; approved_outbound only those of `outbound_rules` and the service's own. Private
    endpoints are billed by the hour, and a firewall as soon as a rule has a host name. It can be made stricter but not removed.
    Default: none."""
    outbound_rules: NotRequired[Mapping[str, OutboundRuleArgs]]
    """Destinations that machines in the managed network may reach. Default: those that the service requires."""
    firewall: NotRequired[Firewall]
    """Plain: the firewall for rules with host names. Default: basic, the cheaper one."""
    key_vault: NotRequired[KeyVaultArgs | Literal["create"]]
    """The vault of its secrets: `create`, or `existing: <id>`. Default: create."""
    insights: NotRequired[InsightsArgs | Literal["create"]]
    """Application Insights, for the metrics of endpoints and jobs: `create`, which requires the foundation's `log_workspace`, or
    `existing: <id>`. A new one takes nothing that is sent by its key alone; `overrides: {disableLocalAuth: false}` changes that.
    Default: create."""
    high_business_impact: NotRequired[bool]
    """Plain: true makes Microsoft collect less data from the workspace; it can't be changed. Default: false."""
    friendly_name: NotRequired[str]
    """Plain: a display name. Default: its name."""
    description: NotRequired[str]
    """Plain: a description. Default: none."""
    computes: NotRequired[Mapping[str, ComputeArgs]]
    """Computes by name: clusters of machines, Kubernetes clusters and virtual machines. Default: none."""
    models: NotRequired[Mapping[str, ModelArgs]]
    """Versions of models by name. Default: none."""
    environments: NotRequired[Mapping[str, EnvironmentArgs]]
    """Versions of environments by name. Default: none."""
    code: NotRequired[Mapping[str, CodeArgs]]
    """Versions of code by name. Default: none."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Additional tags, which take precedence over the stack's. Default: none."""
    as_of: NotRequired[str]
    """Plain: the date against which the workspace and its content are validated, YYYY-MM-DD, and its tag `as-of`. Default: the
    stack's."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.ML_WORKSPACE)]]
    """azure-native properties of the workspace, set last and validated only by Azure; null removes one. Default: none."""


class MlWorkspaceArgs(MlWorkspaceSettings, CommonArgs):
    """Arguments of MlWorkspace. By default a workspace is created, which keeps its data in the storage account."""

    protect_data: NotRequired[bool]
    """Plain: whether the workspace, its vault and its container are protected from deletion and replacement. Default: the
    foundation's, else true."""


class MlWorkspaceWiring(MlWorkspaceSettings, OfStack):
    """Arguments of MlWorkspace, including the outputs of the stack's other parts. A created workspace keeps its data in
    `storage`."""

    clusters: NotRequired[Mapping[str, ClusterOfWorkspace]]
    """The stack's AKS clusters, for computes. Default: none."""
    vms: NotRequired[Mapping[str, VmOfWorkspace]]
    """The stack's virtual machines, for computes. Default: none."""
