"""The arguments of a container group: its containers, network, volumes, registries and the group itself."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pulumi

from azure_gpu.formats import azure_types
from azure_gpu.foundation.common import CommonArgs
from azure_gpu.shared.context import OfStack, WorkloadChoice
from azure_gpu.shared.overrides import Overrides, OverridesOf
from azure_gpu.shared.validation import Choice, OpenInput

OsType = Annotated[Literal["Linux", "Windows"], Choice("ContainerGroupOsType", "The operating system of the containers.")]
RestartPolicy = Annotated[
    Literal["Always", "OnFailure", "Never"],
    Choice("ContainerGroupRestartPolicy", "Whether the service restarts a container that ends."),
]
Priority = Annotated[Literal["Regular", "Spot"], Choice("ContainerGroupPriority", "Whether Azure may evict the group.")]
# Dedicated: hardware that no other customer uses; Confidential: memory that is encrypted while it is used.
Sku = Annotated[Literal["Standard", "Dedicated", "Confidential"], Choice("ContainerGroupSku", "The kind of hardware.")]
Network = Annotated[Literal["none", "public", "private"], Choice("ContainerGroupNetwork", "Inbound access to the group.")]
Protocol = Annotated[Literal["TCP", "UDP"], Choice("ContainerGroupProtocol", "The protocol of a port.")]
DnsLabelScope = Annotated[
    Literal["Unsecure", "TenantReuse", "SubscriptionReuse", "ResourceGroupReuse", "Noreuse"],
    Choice(
        "ContainerGroupDnsLabelScope",
        "Who may reuse the label later. All but the first add a hash to the name, so that nobody else can take it over.",
        (("Noreuse", "NoReuse"),),
    ),
]
Scheme = Annotated[Literal["http", "https"], Choice("ContainerGroupScheme", "The scheme of a request.")]


class GpuArgs(TypedDict):
    """GPUs of a container. All of it is plain."""

    count: int
    """The number: 1, 2 or 4."""
    sku: str
    """The SKU: K80, P100 or V100, each until its retirement."""


class MountArgs(TypedDict):
    """A mount of a volume in a container. All of it is plain."""

    path: str
    """Folder in the container, such as /data. It hides the image's files there."""
    read_only: NotRequired[bool]
    """Whether the mount is read-only. Default: false."""


class InitContainerSettings(TypedDict):
    """An init container. Plain, except where marked as wired."""

    image: NotRequired[OpenInput[str]]
    """Image to run, by tag or preferably by digest. Exactly one of `image` and `workload` is required."""
    workload: NotRequired[WorkloadChoice]
    """Workload of this repository to run, built by the stack's registry."""
    command: NotRequired[Sequence[str]]
    """Program and arguments in place of the image's own. Default: the image's."""
    environment: NotRequired[Mapping[str, OpenInput[str]]]
    """Environment variables in plain text. Default: none."""
    secret_environment: NotRequired[Mapping[str, pulumi.Input[str]]]
    """Wired: secret environment variables: encrypted in the stack file by `pulumi config set --secret --path`, encrypted in the
    state, never shown by Azure. Default: none."""
    mounts: NotRequired[Mapping[str, MountArgs]]
    """Mounts of the group's volumes in this container, by the volume's name. Default: none."""


class HttpProbeArgs(TypedDict):
    """An HTTP request to the container; a status from 200 to 399 succeeds. All of it is plain."""

    port: int
    """Port that the container listens on."""
    path: NotRequired[str]
    """Path of the request. Default: /."""
    scheme: NotRequired[Scheme]
    """The scheme of the request; certificates of https aren't checked. Default: http."""


class ProbeArgs(TypedDict):
    """A probe of a container. Exactly one of `command` and `http`. All of it is plain."""

    command: NotRequired[Sequence[str]]
    """Program and arguments, run inside the container; exit code 0 succeeds."""
    http: NotRequired[HttpProbeArgs]
    """An HTTP request to the container; a status from 200 to 399 succeeds."""
    initial_delay_seconds: NotRequired[int]
    """Seconds from the container's start to the first probe. Default: Azure's."""
    period_seconds: NotRequired[int]
    """Seconds between probes. Default: Azure's."""
    failure_threshold: NotRequired[int]
    """Number of consecutive failures. Default: Azure's."""
    success_threshold: NotRequired[int]
    """Number of consecutive successes after a failure. Default: Azure's."""
    timeout_seconds: NotRequired[int]
    """Seconds after which a probe times out. Default: Azure's."""


class ContainerBasics(InitContainerSettings):
    """Settings of a container, except its ports. Plain, except where marked as wired."""

    cpu: NotRequired[float]
    """CPU cores. Default: 1."""
    memory_in_gb: NotRequired[float]
    """Memory in GB. Default: 1.5."""
    gpu: NotRequired[GpuArgs]
    """GPUs, which require `expires_after`. Default: none."""
    liveness: NotRequired[ProbeArgs]
    """The liveness probe; a container that fails it is restarted. Default: none."""
    readiness: NotRequired[ProbeArgs]
    """The readiness probe; a container that fails it gets no requests. Default: none."""


class ContainerSettings(ContainerBasics):
    """One container of several. Plain, except where marked as wired."""

    ports: NotRequired[Sequence[int]]
    """Ports that the container opens, to the other containers too. Default: none."""


class PortArgs(TypedDict):
    """A port of the group's address. All of it is plain."""

    port: int
    """Its number, the same as in the container: the service doesn't map ports."""
    protocol: NotRequired[Protocol]
    """Its protocol. Default: TCP."""


class DnsConfigArgs(TypedDict):
    """DNS configuration of the containers. All of it is plain."""

    name_servers: Sequence[str]
    """Addresses of DNS servers."""
    search_domains: NotRequired[str]
    """Search domains, separated by spaces. Default: none."""
    options: NotRequired[str]
    """Options of the resolver, separated by spaces. Default: none."""


class NetworkSettings(TypedDict):
    """Network settings of a group. Plain, except where marked as wired."""

    network: NotRequired[Network]
    """Inbound access to the group: `none`, from the internet (`public`), or from the virtual network of `subnet_id` (`private`).
    The group has outbound access in each case, from a subnet only through its NAT gateway. Default: none, to avoid accidental
    public access."""
    ports: NotRequired[Sequence[PortArgs]]
    """Ports of the group's address, at most 5. A single container opens them. Default: none."""
    dns_label: NotRequired[str]
    """First label of the group's public DNS name, followed by the region and azurecontainer.io. Default: none."""
    dns_label_scope: NotRequired[DnsLabelScope]
    """Who may reuse the label later; all but Unsecure add a hash to the name, so that nobody else can take it over. Default:
    TenantReuse."""
    dns_config: NotRequired[DnsConfigArgs]
    """Custom DNS, in a virtual network. Default: Azure's DNS servers."""
    subnet_id: NotRequired[OpenInput[str]]
    """Wired: ARM id of a subnet that is delegated to container groups, in the subscription of the group; impossible with a GPU.
    Default: no virtual network."""
    explicit_outbound: NotRequired[bool]
    """True declares that the subnet has a NAT gateway, the only supported outbound access from a subnet: without one, neither
    public images nor anything else outside of the network can be reached. Default: false, which warns."""


class RegistryLoginArgs(TypedDict):
    """A login for a registry. Plain, except the password. The stack's registry needs none: the identity pulls."""

    server: NotRequired[str]
    """Host name of the registry, without https://, such as index.docker.io. Required."""
    username: NotRequired[str]
    """The user name. Required."""
    password: NotRequired[pulumi.Input[str]]
    """Wired: the password or token, encrypted in the stack file and in the state. Required."""


class AzureFileArgs(TypedDict):
    """A share of Azure Files. Plain, except the key."""

    # An exception to using identities: no mount as an identity (Microsoft Learn, container-instances-volume-azure-files).

    share: NotRequired[str]
    """Name of the share. Required."""
    account: NotRequired[str]
    """Name of its storage account. Required."""
    key: NotRequired[pulumi.Input[str]]
    """Wired: a key of the storage account, encrypted in the stack file and in the state. Required, as Azure Files can't be
    mounted as an identity. The account must allow shared keys, which the stack's own doesn't."""
    read_only: NotRequired[bool]
    """Whether the volume is read-only for all containers. Default: false."""


class GitRepoArgs(TypedDict):
    """A git repository that is cloned when the group starts. All of it is plain."""

    repository: NotRequired[str]
    """URL of the repository, https://…, without a password, as it is visible to everybody who may read the group. Required."""
    directory: NotRequired[str]
    """Folder in the volume to clone into; `.` is the volume itself. Default: the repository's name."""
    revision: NotRequired[str]
    """Commit to check out. Default: the newest."""


class VolumeArgs(TypedDict):
    """A volume for containers of the group. Exactly one of the keys."""

    empty_dir: NotRequired[bool]
    """Plain: true creates an empty folder with the lifetime of the group, by which containers can share files."""
    secret: NotRequired[Mapping[str, pulumi.Input[str]]]
    """Wired: secret files, the text by the file's name. They are kept in memory, encrypted in the stack file and in the state,
    and never shown by Azure."""
    azure_file: NotRequired[AzureFileArgs]
    """A share of Azure Files, which outlives the group. It requires the account's key."""
    git_repo: NotRequired[GitRepoArgs]
    """A git repository that is cloned when the group starts."""


class ContainerGroupSettings(ContainerBasics, NetworkSettings):
    """Settings of a container group: one container, or several in `containers`. Plain, except where marked as wired."""

    container_name: NotRequired[str]
    """Name of the single container. Default: the group's name here."""
    containers: NotRequired[Mapping[str, ContainerSettings]]
    """Several containers, by name, in place of the keys of a single one. They share address, volumes and machine. Default: a
    single container by the other keys."""
    init_containers: NotRequired[Mapping[str, InitContainerSettings]]
    """Init containers, by name, which run one after the other before the others start. Default: none."""
    init_order: NotRequired[Sequence[str]]
    """The names of all init containers in the order in which they run. Default: sorted by name, as the engine sorts the keys of a
    stack file; with a `file`, its order."""
    volumes: NotRequired[Mapping[str, VolumeArgs | Literal["empty"]]]
    """Volumes that containers mount, by name. Default: none."""
    registries: NotRequired[Sequence[RegistryLoginArgs]]
    """Registries with a user name and a password. The stack's registry is accessed as the stack's identity. Default: none."""
    restart_policy: NotRequired[RestartPolicy]
    """Whether a container that ends is restarted. Default: OnFailure, as for a job."""
    send_logs: NotRequired[bool]
    """Whether logs are sent to the log workspace, if there is one. Azure restarts a new group once when its diagnostic setting is
    created: set false for a group that must not start twice; `az container logs` shows its logs. Default: true."""
    os_type: NotRequired[OsType]
    """Operating system. Default: Linux."""
    zones: NotRequired[Sequence[str]]
    """The availability zone that the group is pinned to, 1, 2 or 3; impossible with a GPU. Default: Azure's choice."""
    priority: NotRequired[Priority]
    """Spot is cheaper, can be evicted at any time, and supports neither GPUs nor inbound ports. Default: Regular."""
    sku: NotRequired[Sku]
    """The kind of hardware. Default: Standard."""
    group_name: NotRequired[OpenInput[str]]
    """Name of the group in Azure. Default: built from project, team, stack and the group's name here."""
    location: NotRequired[OpenInput[str]]
    """Azure region. Default: the stack's."""
    tags: NotRequired[Mapping[str, OpenInput[str]]]
    """Additional tags, which override the stack's. Default: none."""
    as_of: NotRequired[str]
    """The date at which the group is evaluated, YYYY-MM-DD, and its tag `as-of`. Default: the stack's."""
    expires_after: NotRequired[str]
    """The last day of the group, YYYY-MM-DD; the tag `expires-at` holds the end of that day in UTC. It is for people and tools:
    Azure deletes nothing by it. Default: none; required with a GPU."""
    file: NotRequired[str]
    """A file with the group's settings: the YAML of `az container create --file`, or an ARM template; its path is relative to the
    project's folder. Keys here override those of the file; secrets must be set here. Default: none."""
    file_parameters: NotRequired[Mapping[str, Any]]
    """Values for the parameters of a template in `file`, by name. Default: the template's own."""
    overrides: NotRequired[Annotated[Overrides, OverridesOf(azure_types.CONTAINER_GROUP)]]
    """azure-native properties of the container group, set last and validated only by Azure; null removes one. Default: none."""


class ContainerGroupArgs(ContainerGroupSettings, CommonArgs):
    """Arguments of ContainerGroup."""


class ContainerGroupWiring(ContainerGroupSettings, OfStack):
    """Arguments of ContainerGroup, including the foundation's outputs."""
