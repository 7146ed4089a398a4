"""The private network of a stack: its subnets and way out, the zones of private names, and private endpoints.

The foundation declares the network; `keys_of` are the keys that other components get by it, unless they set their own. Endpoints
of other networks are declared by `endpoint` too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

import pulumi
from pulumi_azure_native import network, privatedns

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services import private_networks
from azure_gpu.catalog.services.private_networks import (
    API_SERVERS,
    BATCH_ZONE,
    CLUSTERS,
    DELEGATED,
    ENDPOINTS,
    JOBS,
    MACHINES,
    ML_ZONES,
    POOLS,
)
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.shared import existing, read_network
from azure_gpu.shared.context import Context, PrivateNetwork, after, known
from azure_gpu.shared.look_up import AskedBy
from azure_gpu.shared.validation import Choice, OpenInput

Dns = Annotated[Literal["own", "policy"], Choice("Dns", "Who registers the names of private endpoints.")]
WayOut = Annotated[Literal["nat", "firewall", "none"], Choice("WayOut", "How the subnets reach the internet.")]


class SubnetsArgs(TypedDict):
    """ARM ids of existing subnets, which are never changed. Only those of the components that the stack has are required."""

    endpoints: NotRequired[OpenInput[str]]
    """Wired: for private endpoints: one address for each registry, Batch account, vault and workspace, two for a storage
    account, eleven for a private link scope."""
    jobs: NotRequired[OpenInput[str]]
    """Wired: for the environment of jobs: /27 or larger, delegated to Microsoft.App/environments."""
    machines: NotRequired[OpenInput[str]]
    """Wired: for virtual machines."""
    clusters: NotRequired[OpenInput[str]]
    """Wired: for nodes of clusters, with an address for each."""
    api_servers: NotRequired[OpenInput[str]]
    """Wired: for API servers of clusters, with `api_server_vnet_integration`: /28 or larger, delegated to
    Microsoft.ContainerService/managedClusters."""
    pools: NotRequired[OpenInput[str]]
    """Wired: for nodes of Batch pools, with an address for each."""


class PrivateNetworkArgs(TypedDict):
    """The private network of a stack. `private` is short for all defaults."""

    private: NotRequired[bool]
    """Plain: true creates the network."""
    subnets: NotRequired[SubnetsArgs]
    """Subnets of an existing network, such as a spoke of a hub, in place of a network that the stack creates. Default: the stack
    creates one."""
    outbound: NotRequired[WayOut]
    """Plain: how nodes and machines reach the internet. nat: by a NAT gateway, which the stack creates with its network, and
    which existing subnets have; firewall: by the route table of existing subnets; none: not at all, which clusters don't
    support. Default: nat."""
    address_space: NotRequired[str]
    """Plain: the addresses of a network that the stack creates, /23 or larger. Azure can't change the ranges of subnets in use.
    Default: 10.72.0.0/20."""
    api_server_vnet_integration: NotRequired[bool]
    """Plain: true gives the API servers of clusters an address in a delegated subnet of the network, in place of a private
    endpoint: see `access.api_server_subnet_id` of a cluster, by which one cluster chooses it. Default: true where
    `subnets.api_servers` is set, else false."""
    dns: NotRequired[Dns]
    """Plain: who registers the names of private endpoints. own: the stack, in zones that it creates, or in those of
    `private_dns_zones`; policy: a policy of the company, so that the stack creates no zone. Default: own."""
    private_dns_zones: NotRequired[Sequence[str]]
    """Plain: ARM ids of existing private DNS zones, which must be linked to the network, or to that of its name servers. With
    dns: policy only those of names that no policy registers: privatelink.<region>.azmk8s.io, in which private clusters register
    themselves, and privatelink.batch.azure.com, in which the stack registers the name that nodes of a Batch account ask for.
    Default: zones that the stack creates."""


class PrivateEndpointArgs(TypedDict):
    """A private endpoint in a network of yours: the address at which the resource is reached there."""

    subnet_id: OpenInput[str]
    """Wired: ARM id of the subnet of the address."""
    private_dns_zones: NotRequired[Sequence[OpenInput[str]]]
    """Wired: ARM ids of the private DNS zones of its names, linked to that network: privatelink.api.azureml.ms and
    privatelink.notebooks.azure.net for a workspace, privatelink.batch.azure.com for a Batch account. Default: none, and the names
    resolve to public addresses, unless a policy registers the address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateNetworkSpec:
    """The resolved arguments."""

    context: Context
    address_space: str
    subnets: Mapping[str, str]  # ranges by name, where the network is created
    existing: Mapping[str, pulumi.Input[str]]  # ids of existing subnets by name; empty: the network is created
    api_servers: bool  # clusters have their API servers in a subnet
    outbound: WayOut
    by_policy: bool  # whether a policy registers the names of endpoints
    own_zones: tuple[str, ...]
    existing_zones: Mapping[str, str]  # ids by name


def resolve(args: PrivateNetworkArgs, context: Context, path: str, *, monitor: bool) -> tuple[PrivateNetworkSpec, list[Problem]]:
    """Resolves and validates the arguments. Pure. `monitor`: a private link scope is created in it."""
    space = args.get("address_space", private_networks.DEFAULT_ADDRESS_SPACE)
    zones, by_policy = args.get("private_dns_zones", []), args.get("dns") == "policy"
    api_servers = args.get("api_server_vnet_integration", API_SERVERS in args.get("subnets", {}))
    of_space = list(private_networks.check_space(space, f"{path}.address_space"))
    found = {each.name.lower(): each.text for each in map(arm_ids.parse, zones) if each is not None}
    spec = PrivateNetworkSpec(
        context=context,
        address_space=space,
        subnets=private_networks.subnets(private_networks.DEFAULT_ADDRESS_SPACE if of_space else space, api_servers=api_servers),
        existing=dict(cast(Mapping[str, pulumi.Input[str]], args.get("subnets", {}))),
        api_servers=api_servers,
        outbound=args.get("outbound", "nat"),
        by_policy=by_policy,
        own_zones=() if by_policy else tuple(each for each in private_networks.zones_of(monitor=monitor) if each not in found),
        existing_zones=found,
    )
    of_zones = private_networks.check_zones(zones, f"{path}.private_dns_zones", by_policy=by_policy, monitor=monitor)
    return spec, [*of_space, *of_zones, *_together(args, spec, path), *_of_subnets(spec, f"{path}.subnets")]


def _together(args: PrivateNetworkArgs, spec: PrivateNetworkSpec, path: str) -> Iterator[Problem]:
    """Rejects keys that exclude each other."""
    if not args.get("private", True):
        yield refused("network.not_private", f"{path}.private", False)
    if spec.existing and "address_space" in args:
        yield refused("network.addresses_of_existing", f"{path}.address_space", spec.address_space)
    if "subnets" in args and not spec.existing:
        yield refused("network.empty_subnets", f"{path}.subnets", names=", ".join(spec.subnets))
    if not spec.existing and spec.outbound == "firewall":
        yield refused("network.firewall_of_new", f"{path}.outbound", spec.outbound)
    if spec.existing and spec.api_servers and API_SERVERS not in spec.existing:
        yield no_subnet(f"{path}.api_server_vnet_integration", API_SERVERS)


def _of_subnets(spec: PrivateNetworkSpec, path: str) -> Iterator[Problem]:
    """Rejects what aren't subnets of one network. An output can't be validated."""
    networks: dict[str, str] = {}
    for name, given in spec.existing.items():
        text = known(given)
        wrong = existing.check_id(text, azure_types.SUBNET, f"{path}.{name}") if text is not None else []
        yield from wrong
        if text is not None and not wrong:
            networks.setdefault(text.rpartition("/subnets/")[0].lower(), name)
    if len(networks) > 1:
        yield refused("network.several_networks", path, list(networks), names=", ".join(networks.values()))


_AT_PLAN: Any = object()  # stands for an id that isn't known before the network exists, as an output does


def planned(spec: PrivateNetworkSpec) -> PrivateNetwork:
    """Returns the network of a stack while it is planned."""
    subnets = spec.existing or {each: _AT_PLAN for each in spec.subnets}
    return _network(spec, subnets, {each: _AT_PLAN for each in spec.own_zones})


def _network(
    spec: PrivateNetworkSpec, subnets: Mapping[str, pulumi.Input[str]], own_zones: Mapping[str, pulumi.Input[str]]
) -> PrivateNetwork:
    used = {name: each for name, each in subnets.items() if name != API_SERVERS or spec.api_servers}
    zones = {**spec.existing_zones, **own_zones}
    return PrivateNetwork(subnets=used, zones=zones, by_policy=spec.by_policy, outbound=spec.outbound)


# What puts a component into the network: the key of its subnet, and the subnet.
_PUT_BY = {
    "BatchAccount": ("private_endpoint", ENDPOINTS),
    "BatchPool": ("subnet_id", POOLS),
    "JobEnvironment": ("subnet_id", JOBS),
    "GpuCluster": ("subnet_id", CLUSTERS),
    "GpuVm": ("subnet_id", MACHINES),
    "MlWorkspace": ("private_endpoint", ENDPOINTS),
}
_WITHOUT_A_WAY_OUT = (ENDPOINTS, API_SERVERS)
_CLUSTERS_OUT = {"nat": "userAssignedNATGateway", "firewall": "userDefinedRouting"}


def _is_outside(component: str, args: Mapping[str, Any], of: PrivateNetwork | None) -> bool:
    """Whether the network concerns a component not at all."""
    with_own_network = component == "GpuVm" and {"address_space", "outbound", "bastion"} & args.keys()
    return of is None or component not in _PUT_BY or "existing" in args or bool(with_own_network)


def keys_of(component: str, args: Mapping[str, Any], of: PrivateNetwork | None) -> dict[str, Any]:
    """Returns keys of a component in the private network: its own where it sets them. `component`: such as BatchPool."""
    if of is None or _is_outside(component, args, of):
        return {}
    key, subnet = _PUT_BY[component]
    keys: dict[str, Any] = {} if subnet not in of["subnets"] else {key: of["subnets"][subnet]}
    if key == "private_endpoint" and keys:
        keys = {key: endpoint_keys(of, [BATCH_ZONE] if component == "BatchAccount" else ML_ZONES)}
    if component == "BatchPool":
        keys |= {"public_addresses": False, "explicit_outbound": of["outbound"] != "none"}
    elif component == "GpuCluster":
        servers = {"api_server_subnet_id": of["subnets"][API_SERVERS]} if API_SERVERS in of["subnets"] and key not in args else {}
        access = {"network": "private", **_zone_of_clusters(of), **servers, **args.get("access", {})}
        out = {"outbound": _CLUSTERS_OUT[of["outbound"]]} if of["outbound"] in _CLUSTERS_OUT else {}
        return {"azure_policy": True, **keys, **out, **args, "access": access}
    elif component == "MlWorkspace":
        keys |= {"network": "private", "managed_network": "internet_outbound"}
    return {key: args.get(key, value) for key, value in keys.items()}


def _zone_of_clusters(of: PrivateNetwork) -> dict[str, Any]:
    found = [zone for name, zone in of["zones"].items() if private_networks.is_of_clusters(name)]
    return {"private_dns_zone": found[0]} if found else {}


def missing(component: str, args: Mapping[str, Any], of: PrivateNetwork | None, path: str) -> list[Problem]:
    """Returns problems of a component that existing subnets have no place for, or no way out. `path`: of the component."""
    if of is None or _is_outside(component, args, of):
        return []
    problems: list[Problem] = []
    key, subnet = _PUT_BY[component]
    if subnet not in of["subnets"] and (key not in args or component == "MlWorkspace"):  # whose vault has an endpoint, too
        problems.append(no_subnet(f"{path}.{key}", subnet))
    if component == "BatchAccount" and key not in args and of["by_policy"] and BATCH_ZONE not in of["zones"]:
        problems.append(private_networks.no_zone_of_nodes("foundation.network.private_dns_zones"))
    if component == "GpuCluster" and of["outbound"] == "none" and "outbound" not in args:
        problems.append(refused("network.cluster_without_way_out", f"{path}.outbound"))
    return problems


def no_subnet(path: str, subnet: str) -> Problem:
    """The problem of what is private and has no subnet."""
    return refused("network.no_subnet", path, subnet=subnet)


def look_up(spec: PrivateNetworkSpec | None, path: str, asked_by: AskedBy) -> list[Problem]:
    """Reads the network of existing subnets; returns the problems of what doesn't fit. `path`: of the network."""
    given = {name: arm_ids.parse(known(each) or "") for name, each in spec.existing.items()} if spec is not None else {}
    subnets = {name: each for name, each in given.items() if each is not None and each.is_type(azure_types.SUBNET.arm_type)}
    if spec is None or not subnets:
        return []
    first, own, unchecked = next(iter(subnets)), spec.context.subscription_id, "whether the subnets fit"
    found, problems = read_network.of_subnet(subnets[first], f"{path}.subnets.{first}", asked_by, own, unchecked)
    if found is None:
        return problems
    for name, each in subnets.items():
        shown, here = read_network.shown(found, each.name), f"{path}.subnets.{name}"
        if shown is None:
            problems += read_network.no_such_subnet(found, each, here)
        elif name not in (CLUSTERS, API_SERVERS):  # which each cluster checks, as it knows the number of its nodes
            problems += private_networks.check_subnet(name, shown, here)
    servers = read_network.name_servers(found)
    return [*problems, private_networks.own_name_servers(servers, f"{path}.dns")] if servers and spec.own_zones else problems


def endpoint_keys(of: PrivateNetwork, zones: Sequence[str]) -> PrivateEndpointArgs:
    """Returns the settings of an endpoint in the network: without zones where a policy registers names."""
    found = [of["zones"][each] for each in zones if each in of["zones"] and not of["by_policy"]]
    settings = PrivateEndpointArgs(subnet_id=of["subnets"][ENDPOINTS])
    if found:
        settings["private_dns_zones"] = found
    return settings


def of_nodes(settings: PrivateEndpointArgs, of: PrivateNetwork | None) -> PrivateEndpointArgs:
    """Returns the settings of the endpoint of an account's nodes, which no policy registers. `settings`: of the account's."""
    if of is None or not of["by_policy"] or BATCH_ZONE not in of["zones"]:
        return settings
    return {"private_dns_zones": [of["zones"][BATCH_ZONE]], **settings}


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Where the resources of a network are declared."""

    name: str  # of the component
    resource_group_name: pulumi.Input[str]
    location: pulumi.Input[str] | None
    tags: Mapping[str, pulumi.Input[str]]
    parent: pulumi.Resource
    hooks: pulumi.ResourceHookBinding | None = None

    @property
    def common(self) -> dict[str, Any]:
        return {"resource_group_name": self.resource_group_name, "location": self.location, "tags": self.tags}

    @property
    def opts(self) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=self.parent, hooks=self.hooks)


def declare(spec: PrivateNetworkSpec, at: Surroundings) -> PrivateNetwork:
    """Declares the network where none exists, and the zones."""
    if spec.existing:
        first = pulumi.Output.from_input(next(iter(spec.existing.values())))
        return _network(spec, spec.existing, _zones(spec, at, first.apply(lambda text: text.rpartition("/subnets/")[0])))
    declared = _new_network(spec, at)
    subnets = {name: pulumi.Output.concat(declared.id, "/subnets/", name) for name in spec.subnets}
    return _network(spec, subnets, _zones(spec, at, declared.id))


def _new_network(spec: PrivateNetworkSpec, at: Surroundings) -> "network.VirtualNetwork":
    """Declares a network, with a security group for its subnets, and a NAT gateway unless there is no way out."""

    def named(azure_type: AzureType, what: str = "private") -> str:
        return spec.context.name(azure_type.arm_type, what)

    group = network.NetworkSecurityGroup(
        f"{at.name}-security-group",
        network_security_group_name=named(azure_types.NETWORK_SECURITY_GROUP),
        **at.common,  # without rules of its own: Azure's let in the network itself alone
        opts=at.opts,
    )
    gateway = _nat(spec, at) if spec.outbound == "nat" else None
    return network.VirtualNetwork(
        f"{at.name}-network",
        virtual_network_name=named(azure_types.VIRTUAL_NETWORK),
        **at.common,
        address_space=network.AddressSpaceArgs(address_prefixes=[spec.address_space]),
        # Azure returns a network with its subnets, so that every refresh would show a change if they were separate resources.
        subnets=[_subnet(name, prefix, group, gateway) for name, prefix in spec.subnets.items()],
        opts=at.opts,
    )


def _nat(spec: PrivateNetworkSpec, at: Surroundings) -> "network.NatGateway":
    address = network.PublicIPAddress(
        f"{at.name}-nat-address",
        public_ip_address_name=spec.context.name(azure_types.PUBLIC_IP_ADDRESS.arm_type, "nat"),
        **at.common,
        public_ip_allocation_method=network.IPAllocationMethod.STATIC,
        public_ip_address_version=network.IPVersion.I_PV4,
        sku=network.PublicIPAddressSkuArgs(name=network.PublicIPAddressSkuName.STANDARD),
        opts=at.opts,
    )
    return network.NatGateway(
        f"{at.name}-nat",
        nat_gateway_name=spec.context.name(azure_types.NAT_GATEWAY.arm_type, "private"),
        **at.common,
        sku=network.NatGatewaySkuArgs(name=network.NatGatewaySkuName.STANDARD),
        public_ip_addresses=[network.SubResourceArgs(id=address.id)],
        opts=at.opts,
    )


def _subnet(
    name: str, prefix: str, group: "network.NetworkSecurityGroup", gateway: "network.NatGateway | None"
) -> "network.SubnetArgs":
    delegated = [network.DelegationArgs(name=name, service_name=DELEGATED[name].service)] if name in DELEGATED else None
    return network.SubnetArgs(
        name=name,
        address_prefix=prefix,
        default_outbound_access=False,
        network_security_group=network.NetworkSecurityGroupArgs(id=group.id),
        nat_gateway=network.SubResourceArgs(id=gateway.id) if gateway is not None and name not in _WITHOUT_A_WAY_OUT else None,
        delegations=delegated,
    )


def _zones(spec: PrivateNetworkSpec, at: Surroundings, network_id: pulumi.Output[str]) -> dict[str, pulumi.Output[str]]:
    """Returns the zones of the stack, which are linked to its network before they are used."""
    found: dict[str, pulumi.Output[str]] = {}
    common: dict[str, Any] = {**at.common, "location": "global"}
    for name in spec.own_zones:
        short = name.removeprefix("privatelink.").partition(".")[0] if name not in ML_ZONES else name.split(".")[1]
        zone = privatedns.PrivateZone(f"{at.name}-zone-{short}", private_zone_name=name, **common, opts=at.opts)
        link = privatedns.VirtualNetworkLink(
            f"{at.name}-link-{short}",
            virtual_network_link_name=spec.context.name(azure_types.PRIVATE_ZONE_LINK.arm_type, "private"),
            private_zone_name=zone.name,
            **common,
            registration_enabled=False,
            virtual_network=privatedns.SubResourceArgs(id=network_id),
            opts=at.opts,  # deleted before its zone, which Azure doesn't delete while it has links
        )
        found[name] = after(zone.id, [link])
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a private endpoint leads to."""

    id: pulumi.Input[str]
    group: str  # the part of the resource, such as blob
    connection: str  # the connection's name


def endpoint(
    prefix: str, name: str, target: Target, settings: PrivateEndpointArgs, at: Surroundings
) -> list[pulumi.CustomResource]:
    """Declares a private endpoint, with its names in the zones that are set. `prefix`: of the logical names; `name`: in Azure."""
    declared = network.PrivateEndpoint(
        f"{prefix}-private-endpoint",
        private_endpoint_name=name,
        **at.common,
        subnet=network.SubnetArgs(id=settings["subnet_id"]),
        private_link_service_connections=[
            network.PrivateLinkServiceConnectionArgs(
                name=target.connection, private_link_service_id=target.id, group_ids=[target.group]
            )
        ],
        opts=at.opts,
    )
    zones = list[pulumi.Input[str]](settings.get("private_dns_zones", ()))
    if not zones:
        return [declared]
    registered = network.PrivateDnsZoneGroup(
        f"{prefix}-private-zones",
        private_dns_zone_group_name="default",
        private_endpoint_name=declared.name,
        resource_group_name=at.resource_group_name,
        private_dns_zone_configs=[
            network.PrivateDnsZoneConfigArgs(name=f"zone-{number}", private_dns_zone_id=zone)
            for number, zone in enumerate(zones, 1)
        ],
        opts=pulumi.ResourceOptions(parent=at.parent, deleted_with=declared),
    )
    return [declared, registered]
