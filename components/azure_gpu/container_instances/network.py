"""Who reaches a container group, and under which name: its address, the ports of it, its DNS label, its subnet, its name servers.

In: `NetworkSettings`, and the containers of the group. Out: a `NetworkSpec`, and problems. A group has no address unless one is
asked for; what runs in it reaches others all the same, from a subnet only through its NAT gateway.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NotRequired, TypedDict

from azure_gpu.catalog import names
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services import container_instances_parts
from azure_gpu.container_instances.container import ContainerSpec
from azure_gpu.formats import arm_ids
from azure_gpu.shared.context import known
from azure_gpu.shared.validation import OpenInput

_VIRTUAL_NETWORK = "Microsoft Learn, container-instances-virtual-network-concepts, 2026-07-25"


class Network(StrEnum):
    """Who reaches the group."""

    NONE = "none"  # nobody
    PUBLIC = "public"  # everybody, at the ports that are named
    PRIVATE = "private"  # whoever is in the virtual network


NetworkName = Network | Literal["none", "public", "private"]


class Protocol(StrEnum):
    """What is spoken at a port."""

    TCP = "TCP"
    UDP = "UDP"


ProtocolName = Protocol | Literal["TCP", "UDP"]


class DnsLabelScope(StrEnum):
    """Who may have the same label later. All but the first put a hash into the name, so that nobody else can take it over."""

    UNSECURE = "Unsecure"
    TENANT_REUSE = "TenantReuse"
    SUBSCRIPTION_REUSE = "SubscriptionReuse"
    RESOURCE_GROUP_REUSE = "ResourceGroupReuse"
    NO_REUSE = "Noreuse"


DnsLabelScopeName = DnsLabelScope | Literal["Unsecure", "TenantReuse", "SubscriptionReuse", "ResourceGroupReuse", "Noreuse"]


class PortArgs(TypedDict):
    """A port of the group's address. All of it is plain."""

    port: int
    """Its number, the same as in the container: the service maps none."""
    protocol: NotRequired[ProtocolName]
    """What is spoken there. Default: TCP."""


class DnsConfigArgs(TypedDict):
    """Where containers look names up. All of it is plain."""

    name_servers: Sequence[str]
    """Addresses of name servers."""
    search_domains: NotRequired[str]
    """Domains that are tried behind a short name, with spaces between them. Default: none."""
    options: NotRequired[str]
    """Options of the resolver, with spaces between them. Default: none."""


class NetworkSettings(TypedDict):
    """Who reaches a group. Plain, but for what is called wired."""

    network: NotRequired[NetworkName]
    """Who reaches the group: nobody, everybody (`public`), or whoever is in the virtual network of `subnet_id` (`private`). What
    runs in the group reaches others all the same, from a subnet only through a NAT gateway of that subnet. Default: none, so that
    nothing is on the internet by mistake."""
    ports: NotRequired[Sequence[PortArgs]]
    """Ports of the group's address, at most 5. Where the group has one container, it opens them. Default: none."""
    dns_label: NotRequired[str]
    """First part of the group's name on the internet, behind which the region and azurecontainer.io follow. Default: none."""
    dns_label_scope: NotRequired[DnsLabelScopeName]
    """Who may have the same label later; all but Unsecure put a hash into the name, so that nobody else takes it over. Default:
    TenantReuse."""
    dns_config: NotRequired[DnsConfigArgs]
    """Where containers look names up, in a virtual network. Default: Azure's own name servers."""
    subnet_id: NotRequired[OpenInput[str]]
    """Wired: ARM id of a subnet that is delegated to container groups, in the subscription of the group; impossible with a GPU.
    Default: no virtual network."""
    explicit_outbound: NotRequired[bool]
    """True says that the subnet has a NAT gateway, the only way out of a subnet that the service supports: without one neither
    public images nor anything else outside the network is reached. Default: false, which warns."""


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
    dns_label: str  # "" without one
    dns_label_scope: DnsLabelScope
    dns_config: DnsConfigArgs | None

    def at_container(self, port: int) -> list[Port]:
        """What a container opens where it opens `port`: as the group's address has it, or TCP."""
        return [one for one in self.ports if one.port == port] or [Port(port, Protocol.TCP)]


def resolve(said: NetworkSettings) -> NetworkSpec:
    """What is declared. Pure."""
    return NetworkSpec(
        network=Network(said.get("network", Network.NONE)),
        ports=tuple(Port(one["port"], Protocol(one.get("protocol", Protocol.TCP))) for one in said.get("ports", [])),
        dns_label=said.get("dns_label", ""),
        dns_label_scope=DnsLabelScope(said.get("dns_label_scope", DnsLabelScope.TENANT_REUSE)),
        dns_config=said.get("dns_config"),
    )


def problems_of(
    said: NetworkSettings,
    spec: NetworkSpec,
    containers: Sequence[ContainerSpec],
    path: str,
    subscription_id: str,
    *,
    alone: bool,
) -> list[Problem]:
    """What is wrong with the network of the group at `path`. `alone`: its one container opens the ports of the group."""
    return [
        *_subnet_problems(said, path, subscription_id),
        *_reach_problems(said, spec, containers, path),
        *_label_problems(said, spec, path),
        *_port_problems(spec, path),
        *([] if alone else _container_port_problems(spec, containers, path)),
    ]


def _reach_problems(said: NetworkSettings, spec: NetworkSpec, containers: Sequence[ContainerSpec], path: str) -> list[Problem]:
    problems: list[Problem] = []
    has_subnet = "subnet_id" in said
    if spec.network is Network.PRIVATE and not has_subnet:
        fix = "add subnet_id: <ARM id of a subnet that is delegated to Microsoft.ContainerInstance/containerGroups>"
        problems.append(
            Problem(
                path=f"{path}.subnet_id",
                message="a private group lies in a subnet, and none is given",
                allowed="the ARM id of a subnet",
                fix=fix,
            )
        )
    if spec.network is Network.PUBLIC and has_subnet:
        problems.append(
            Problem(
                path=f"{path}.network",
                message="a group in a virtual network can't have a public address",
                value=spec.network.value,
                allowed="none or private, with a subnet",
                fix="write network: private, or leave subnet_id out",
                source="Microsoft Learn, container-instances-virtual-network-concepts, 2024-08-29",
                code=Code.IMPOSSIBLE,
            )
        )
    if spec.network is Network.PUBLIC and not spec.ports:
        opened = ", ".join(f"{{port: {port}}}" for container in containers for port in container.ports)
        problems.append(
            Problem(
                path=f"{path}.ports",
                message="a public group needs the ports at which it is reached",
                allowed=f"1 to {container_instances_parts.MOST_PORTS} ports",
                fix=f"add ports: [{opened or '{port: 80}'}], or leave network out",
            )
        )
    if spec.network is Network.NONE and spec.ports:
        problems.append(
            Problem(
                path=f"{path}.network",
                message="there are ports for others, and nobody reaches a group without a network",
                value=spec.network.value if "network" in said else None,
                allowed="public, or private with a subnet",
                fix=f"add network: {'private' if has_subnet else 'public'}, or leave ports out",
            )
        )
    if spec.dns_config is not None and not has_subnet and spec.network is not Network.PRIVATE:
        problems.append(
            Problem(
                path=f"{path}.dns_config",
                message="Azure's pages know name servers of one's own in a virtual network alone, and this group is in none",
                fix="add subnet_id, or leave dns_config out if Azure refuses the group",
                source="Microsoft Learn, container-instances-custom-dns, 2024-10-21",
                code=Code.UNKNOWN,
                severity=Severity.WARNING,
            )
        )
    return problems


def _subnet_problems(said: NetworkSettings, path: str, subscription_id: str) -> list[Problem]:
    explicit = said.get("explicit_outbound", False)
    if "subnet_id" not in said:
        fix = "add subnet_id, or leave this out"
        message = "a group outside of a virtual network reaches the internet by itself"
        return [Problem(path=f"{path}.explicit_outbound", message=message, value=explicit, fix=fix)] if explicit else []
    problems: list[Problem] = []
    subnet = arm_ids.parse(known(said["subnet_id"]) or "")
    if subnet is not None and subscription_id and subnet.subscription.lower() != subscription_id.lower():
        problems.append(
            Problem(
                path=f"{path}.subnet_id",
                message="the subnet of a container group lies in the group's own subscription, and this one doesn't",
                value=subnet.text,
                allowed=f"a subnet of subscription {subscription_id}",
                fix="name a subnet of that subscription, or deploy the group with the subnet's",
                source=_VIRTUAL_NETWORK,
                code=Code.IMPOSSIBLE,
            )
        )
    if not explicit:
        problems.append(
            Problem(
                path=f"{path}.subnet_id",
                message="without a NAT gateway at its subnet the group reaches nothing outside, public images included",
                fix="give the subnet a NAT gateway with a public address, and say so by explicit_outbound: true",
                source=_VIRTUAL_NETWORK,
                severity=Severity.WARNING,
            )
        )
    return problems


def _label_problems(said: NetworkSettings, spec: NetworkSpec, path: str) -> list[Problem]:
    problems: list[Problem] = []
    if "dns_label" in said:
        problems += names.check(names.DNS_LABEL, spec.dns_label, f"{path}.dns_label")
        if spec.network is not Network.PUBLIC:
            problems.append(
                Problem(
                    path=f"{path}.dns_label",
                    message="only a public group has a name on the internet",
                    value=spec.dns_label,
                    allowed="network: public",
                    fix="leave dns_label out, or write network: public",
                    source="Microsoft Learn, container-instances-virtual-network-concepts, 2024-08-29",
                )
            )
    elif "dns_label_scope" in said:
        problems.append(
            Problem(
                path=f"{path}.dns_label_scope",
                message="there is no label that this could hold for",
                value=spec.dns_label_scope.value,
                fix="add dns_label, or leave this out",
            )
        )
    return problems


def _port_problems(spec: NetworkSpec, path: str) -> list[Problem]:
    problems: list[Problem] = []
    for index, port in enumerate(spec.ports):
        here = f"{path}.ports[{index}]"
        problems += container_instances_parts.check_port(port.port, f"{here}.port")
        if port in spec.ports[:index]:
            problems.append(_twice(f"{here}.port", str(port), "the group's address has this port twice"))
    return problems


def _container_port_problems(spec: NetworkSpec, containers: Sequence[ContainerSpec], path: str) -> list[Problem]:
    problems: list[Problem] = []
    opened: dict[int, str] = {}
    for container in containers:
        for index, port in enumerate(container.ports):
            here = f"{container.path}.ports[{index}]"
            problems += container_instances_parts.check_port(port, here)
            if port in opened:
                message = f"two containers can't open one port, as they share one address: {opened[port]} and {container.name}"
                same = opened[port] == container.name
                problems.append(_twice(here, port, "the container opens this port twice" if same else message))
            opened.setdefault(port, container.name)
    for index, port in enumerate(spec.ports):
        if port.port not in opened and port.port in container_instances_parts.PORTS:
            problems.append(
                Problem(
                    path=f"{path}.ports[{index}].port",
                    message="no container opens this port, so nothing answers there",
                    value=port.port,
                    allowed=", ".join(map(str, opened)) or "none: no container opens a port",
                    fix=f"add ports: [{port.port}] to the container that listens there, or remove it here",
                    source="Microsoft Learn, container-instances-troubleshooting, 2024-08-29: the service maps no ports",
                )
            )
    return problems


def _twice(path: str, value: object, message: str) -> Problem:
    return Problem(path=path, message=message, value=value, allowed="each port once", fix="remove one of them")
