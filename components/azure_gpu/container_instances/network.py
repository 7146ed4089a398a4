"""Network of a container group: address, ports, DNS label, subnet and DNS servers, with their validation.

By default a group has no address. It has outbound access anyway; from a subnet only through a NAT gateway.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NotRequired, TypedDict

from azure_gpu.catalog import names
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services import container_instances_parts
from azure_gpu.container_instances.container import ContainerSpec
from azure_gpu.formats import arm_ids
from azure_gpu.shared.context import known
from azure_gpu.shared.validation import Choice, OpenInput

_VIRTUAL_NETWORK = "Microsoft Learn, container-instances-virtual-network-concepts, 2026-07-25"

Network = Annotated[
    Literal[
        "none",
        "public",  # from the internet, at the listed ports
        "private",  # from the virtual network
    ],
    Choice("ContainerGroupNetwork", "Inbound access to the group."),
]

Protocol = Annotated[Literal["TCP", "UDP"], Choice("ContainerGroupProtocol", "The protocol of a port.")]

DnsLabelScope = Annotated[
    Literal["Unsecure", "TenantReuse", "SubscriptionReuse", "ResourceGroupReuse", "Noreuse"],
    Choice(
        "ContainerGroupDnsLabelScope",
        "Who may reuse the label later. All but the first add a hash to the name, so that nobody else can take it over.",
        (("Noreuse", "NoReuse"),),
    ),
]


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


@dataclass(frozen=True, slots=True)
class Port:
    """Resolved `PortArgs`."""

    port: int
    protocol: Protocol

    def __str__(self) -> str:
        return f"{self.port}/{self.protocol}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSpec:
    """Resolved `NetworkSettings`; the subnet stays in the arguments."""

    network: Network
    ports: tuple[Port, ...]
    dns_label: str  # empty: none
    dns_label_scope: DnsLabelScope
    dns_config: DnsConfigArgs | None

    def at_container(self, port: int) -> list[Port]:
        """Returns `port` of a container with the protocols of the group's address, else with TCP."""
        return [one for one in self.ports if one.port == port] or [Port(port, "TCP")]


def resolve(settings: NetworkSettings) -> NetworkSpec:
    """Resolves the settings. Pure."""
    return NetworkSpec(
        network=settings.get("network", "none"),
        ports=tuple(Port(one["port"], one.get("protocol", "TCP")) for one in settings.get("ports", [])),
        dns_label=settings.get("dns_label", ""),
        dns_label_scope=settings.get("dns_label_scope", "TenantReuse"),
        dns_config=settings.get("dns_config"),
    )


def problems_of(
    settings: NetworkSettings,
    spec: NetworkSpec,
    containers: Sequence[ContainerSpec],
    path: str,
    subscription_id: str,
    *,
    one_container: bool,
) -> list[Problem]:
    """Validates the network of the group at `path`. `one_container`: whether the group has a single container, set by its own
    keys, which opens the group's ports."""
    return [
        *_subnet_problems(settings, path, subscription_id),
        *_reach_problems(settings, spec, containers, path),
        *_label_problems(settings, spec, path),
        *_port_problems(spec, path),
        *([] if one_container else _container_port_problems(spec, containers, path)),
    ]


def _reach_problems(
    settings: NetworkSettings, spec: NetworkSpec, containers: Sequence[ContainerSpec], path: str
) -> list[Problem]:
    problems: list[Problem] = []
    has_subnet = "subnet_id" in settings
    if spec.network == "private" and not has_subnet:
        fix = "add subnet_id: <ARM id of a subnet that is delegated to Microsoft.ContainerInstance/containerGroups>"
        problems.append(
            Problem(
                path=f"{path}.subnet_id",
                message="required with `network: private`",
                allowed="the ARM id of a subnet",
                fix=fix,
            )
        )
    if spec.network == "public" and has_subnet:
        problems.append(
            Problem(
                path=f"{path}.network",
                message="a group in a virtual network can't have a public address",
                value=spec.network,
                allowed="none or private, with a subnet",
                fix="write network: private, or remove subnet_id",
                source="Microsoft Learn, container-instances-virtual-network-concepts, 2024-08-29",
                code=Code.IMPOSSIBLE,
            )
        )
    if spec.network == "public" and not spec.ports:
        opened = ", ".join(f"{{port: {port}}}" for container in containers for port in container.ports)
        problems.append(
            Problem(
                path=f"{path}.ports",
                message="required with `network: public`",
                allowed=f"1 to {container_instances_parts.MOST_PORTS} ports",
                fix=f"add ports: [{opened or '{port: 80}'}], or remove network",
            )
        )
    if spec.network == "none" and spec.ports:
        problems.append(
            Problem(
                path=f"{path}.network",
                message="`ports` requires `network: public` or `private`",
                value=spec.network if "network" in settings else None,
                allowed="public, or private with a subnet",
                fix=f"add network: {'private' if has_subnet else 'public'}, or remove ports",
            )
        )
    if spec.dns_config is not None and not has_subnet and spec.network != "private":
        problems.append(
            Problem(
                path=f"{path}.dns_config",
                message="custom DNS servers are documented only for groups in a virtual network",
                fix="add subnet_id, or remove dns_config if Azure refuses the group",
                source="Microsoft Learn, container-instances-custom-dns, 2024-10-21",
                code=Code.UNKNOWN,
                severity=Severity.WARNING,
            )
        )
    return problems


def _subnet_problems(settings: NetworkSettings, path: str, subscription_id: str) -> list[Problem]:
    explicit = settings.get("explicit_outbound", False)
    if "subnet_id" not in settings:
        fix = "add subnet_id, or remove it"
        message = "`explicit_outbound` requires `subnet_id`; outside of a virtual network a group has outbound access"
        return [Problem(path=f"{path}.explicit_outbound", message=message, value=explicit, fix=fix)] if explicit else []
    problems: list[Problem] = []
    subnet = arm_ids.parse(known(settings["subnet_id"]) or "")
    if subnet is not None and subscription_id and subnet.subscription.lower() != subscription_id.lower():
        problems.append(
            Problem(
                path=f"{path}.subnet_id",
                message="the subnet must be in the subscription of the group",
                value=subnet.text,
                allowed=f"a subnet of subscription {subscription_id}",
                fix="use a subnet of that subscription, or deploy the group in the subnet's",
                source=_VIRTUAL_NETWORK,
                code=Code.IMPOSSIBLE,
            )
        )
    if not explicit:
        problems.append(
            Problem(
                path=f"{path}.subnet_id",
                message="without a NAT gateway at its subnet the group has no outbound access, public images included",
                fix="add a NAT gateway with a public address to the subnet, and set explicit_outbound: true",
                source=_VIRTUAL_NETWORK,
                severity=Severity.WARNING,
            )
        )
    return problems


def _label_problems(settings: NetworkSettings, spec: NetworkSpec, path: str) -> list[Problem]:
    problems: list[Problem] = []
    if "dns_label" in settings:
        problems += names.check(names.DNS_LABEL, spec.dns_label, f"{path}.dns_label")
        if spec.network != "public":
            problems.append(
                Problem(
                    path=f"{path}.dns_label",
                    message="`dns_label` requires `network: public`",
                    value=spec.dns_label,
                    allowed="network: public",
                    fix="remove dns_label, or write network: public",
                    source="Microsoft Learn, container-instances-virtual-network-concepts, 2024-08-29",
                )
            )
    elif "dns_label_scope" in settings:
        problems.append(
            Problem(
                path=f"{path}.dns_label_scope",
                message="`dns_label_scope` requires `dns_label`",
                value=spec.dns_label_scope,
                fix="add dns_label, or remove it",
            )
        )
    return problems


def _port_problems(spec: NetworkSpec, path: str) -> list[Problem]:
    problems: list[Problem] = []
    for index, port in enumerate(spec.ports):
        here = f"{path}.ports[{index}]"
        problems += container_instances_parts.check_port(port.port, f"{here}.port")
        if port in spec.ports[:index]:
            problems.append(_twice(f"{here}.port", str(port), "duplicate port"))
    return problems


def _container_port_problems(spec: NetworkSpec, containers: Sequence[ContainerSpec], path: str) -> list[Problem]:
    problems: list[Problem] = []
    opened: dict[int, str] = {}
    for container in containers:
        for index, port in enumerate(container.ports):
            here = f"{container.path}.ports[{index}]"
            problems += container_instances_parts.check_port(port, here)
            if port in opened:
                message = f"containers share one address and can't open the same port: {opened[port]} and {container.name}"
                same = opened[port] == container.name
                problems.append(_twice(here, port, "duplicate port" if same else message))
            opened.setdefault(port, container.name)
    for index, port in enumerate(spec.ports):
        if port.port not in opened and port.port in container_instances_parts.PORTS:
            problems.append(
                Problem(
                    path=f"{path}.ports[{index}].port",
                    message="no container opens this port",
                    value=port.port,
                    allowed=", ".join(map(str, opened)) or "none: no container opens a port",
                    fix=f"add ports: [{port.port}] to the container that listens there, or remove it here",
                    source="Microsoft Learn, container-instances-troubleshooting, 2024-08-29: the service maps no ports",
                )
            )
    return problems


def _twice(path: str, value: object, message: str) -> Problem:
    return Problem(path=path, message=message, value=value, allowed="each port once", fix="remove one of them")
