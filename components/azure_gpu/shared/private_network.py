"""The private network of a stack: its subnets and way out, the zones of private names, and private endpoints.

The foundation declares the network; `keys_of` are the keys that other components get by it, unless they set their own. Endpoints
of other networks are declared by `endpoint` too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, NotRequired, TypedDict

import pulumi
from pulumi_azure_native import network, privatedns

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services import private_networks
from azure_gpu.catalog.services.private_networks import BATCH_ZONE, CLUSTERS, ENDPOINTS, JOBS, MACHINES, ML_ZONES, POOLS
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.shared.context import Context, PrivateNetwork
from azure_gpu.shared.validation import OpenInput

ENVIRONMENTS = "Microsoft.App/environments"  # that the subnet of an environment with workload profiles is delegated to


class Dns(StrEnum):
    """Who registers the names of private endpoints."""

    OWN = "own"
    POLICY = "policy"


class PrivateNetworkArgs(TypedDict):
    """The private network of a stack. `private` is short for all defaults."""

    private: NotRequired[bool]
    """Plain: true creates the network."""
    address_space: NotRequired[str]
    """Plain: its addresses, /23 or larger. Azure can't change the ranges of subnets in use. Default: 10.72.0.0/20."""
    dns: NotRequired[Dns | Literal["own", "policy"]]
    """Plain: who registers the names of private endpoints. own: the stack, in zones that it creates, or in those of
    `private_dns_zones`; policy: a policy of the company, so that the stack creates no zone. Default: own."""
    private_dns_zones: NotRequired[Sequence[str]]
    """Plain: ARM ids of existing private DNS zones, which the network must be linked to; with dns: own. Default: zones that the
    stack creates."""


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
    subnets: Mapping[str, str]  # ranges by name
    own_zones: tuple[str, ...]
    existing_zones: Mapping[str, str]  # ids by name


def resolve(args: PrivateNetworkArgs, context: Context, path: str) -> tuple[PrivateNetworkSpec, list[Problem]]:
    """Resolves and validates the arguments. Pure."""
    space = args.get("address_space", private_networks.DEFAULT_ADDRESS_SPACE)
    zones, by_policy = args.get("private_dns_zones", []), args.get("dns") == Dns.POLICY
    of_space = list(private_networks.check_space(space, f"{path}.address_space"))
    problems = [*of_space, *private_networks.check_zones(zones, f"{path}.private_dns_zones")]
    if not args.get("private", True):
        fix = "remove `network`, or write network: private"
        problems.append(Problem(f"{path}.private", "only true is supported", value=False, allowed="true", fix=fix))
    if by_policy and zones:
        problems.append(
            Problem(
                path=f"{path}.private_dns_zones",
                message="a policy registers the names, and chooses the zones",
                allowed="with dns: own",
                fix="remove it, or write dns: own",
            )
        )
    found = {each.name.lower(): each.text for each in map(arm_ids.parse, zones) if each is not None}
    spec = PrivateNetworkSpec(
        context=context,
        address_space=space,
        subnets=private_networks.subnets(private_networks.DEFAULT_ADDRESS_SPACE if of_space else space),
        own_zones=() if by_policy else tuple(each for each in private_networks.ZONES if each not in found),
        existing_zones=found,
    )
    return spec, problems


_AT_PLAN: Any = object()  # stands for an id that isn't known before the network exists, as an output does
PLANNED = PrivateNetwork(
    subnets={each: _AT_PLAN for each in (ENDPOINTS, JOBS, MACHINES, CLUSTERS, POOLS)},
    zones={each: _AT_PLAN for each in private_networks.ZONES},
)
"""The network of a stack while it is planned."""


def keys_of(component: str, args: Mapping[str, Any], of: PrivateNetwork | None) -> dict[str, Any]:
    """Returns keys of a component in the private network: its own where it sets them. `component`: such as BatchPool."""
    if of is None or "existing" in args:
        return {}
    subnets = of["subnets"]
    keys: dict[str, Any] = {}
    if component == "BatchAccount":
        keys = {"private_endpoint": endpoint_keys(of, [BATCH_ZONE])}
    elif component == "BatchPool":
        keys = {"subnet_id": subnets[POOLS], "public_addresses": False, "explicit_outbound": True}
    elif component == "JobEnvironment":
        keys = {"subnet_id": subnets[JOBS]}
    elif component == "GpuCluster":
        keys = {"subnet_id": subnets[CLUSTERS], "outbound": "userAssignedNATGateway"}
        return {**keys, **args, "access": {"network": "private", **args.get("access", {})}}
    elif component == "GpuVm" and not {"address_space", "outbound", "bastion"} & args.keys():
        keys = {"subnet_id": subnets[MACHINES]}
    elif component == "MlWorkspace":
        keys = {
            "network": "private",
            "managed_network": "internet_outbound",
            "private_endpoint": endpoint_keys(of, ML_ZONES),
        }
    return {key: args.get(key, value) for key, value in keys.items()}


def endpoint_keys(of: PrivateNetwork, zones: Sequence[str]) -> PrivateEndpointArgs:
    """Returns the settings of an endpoint in the network: without zones where a policy registers names."""
    found = [of["zones"][each] for each in zones if each in of["zones"]]
    settings = PrivateEndpointArgs(subnet_id=of["subnets"][ENDPOINTS])
    if found:
        settings["private_dns_zones"] = found
    return settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Where the resources of a network are declared."""

    name: str  # of the component
    resource_group_name: pulumi.Input[str]
    location: pulumi.Input[str] | None
    tags: Mapping[str, pulumi.Input[str]]
    parent: pulumi.Resource

    @property
    def common(self) -> dict[str, Any]:
        return {"resource_group_name": self.resource_group_name, "location": self.location, "tags": self.tags}

    @property
    def opts(self) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=self.parent)


def declare(spec: PrivateNetworkSpec, at: Surroundings) -> PrivateNetwork:
    """Declares the network, with a security group and a NAT gateway for its subnets, and the zones."""

    def named(azure_type: AzureType, what: str = "private") -> str:
        return spec.context.name(azure_type.arm_type, what)

    group = network.NetworkSecurityGroup(
        f"{at.name}-security-group",
        network_security_group_name=named(azure_types.NETWORK_SECURITY_GROUP),
        **at.common,  # without rules of its own: Azure's let in the network itself alone
        opts=at.opts,
    )
    address = network.PublicIPAddress(
        f"{at.name}-nat-address",
        public_ip_address_name=named(azure_types.PUBLIC_IP_ADDRESS, "nat"),
        **at.common,
        public_ip_allocation_method=network.IPAllocationMethod.STATIC,
        public_ip_address_version=network.IPVersion.I_PV4,
        sku=network.PublicIPAddressSkuArgs(name=network.PublicIPAddressSkuName.STANDARD),
        opts=at.opts,
    )
    gateway = network.NatGateway(
        f"{at.name}-nat",
        nat_gateway_name=named(azure_types.NAT_GATEWAY),
        **at.common,
        sku=network.NatGatewaySkuArgs(name=network.NatGatewaySkuName.STANDARD),
        public_ip_addresses=[network.SubResourceArgs(id=address.id)],
        opts=at.opts,
    )
    declared = network.VirtualNetwork(
        f"{at.name}-network",
        virtual_network_name=named(azure_types.VIRTUAL_NETWORK),
        **at.common,
        address_space=network.AddressSpaceArgs(address_prefixes=[spec.address_space]),
        # Azure returns a network with its subnets, so that every refresh would show a change if they were separate resources.
        subnets=[_subnet(name, prefix, group, gateway) for name, prefix in spec.subnets.items()],
        opts=at.opts,
    )
    subnets = {name: pulumi.Output.concat(declared.id, "/subnets/", name) for name in spec.subnets}
    return PrivateNetwork(subnets=subnets, zones={**spec.existing_zones, **_zones(spec, at, declared)})


def _subnet(name: str, prefix: str, group: "network.NetworkSecurityGroup", gateway: "network.NatGateway") -> "network.SubnetArgs":
    delegated = [network.DelegationArgs(name="jobs", service_name=ENVIRONMENTS)] if name == JOBS else None
    return network.SubnetArgs(
        name=name,
        address_prefix=prefix,
        default_outbound_access=False,
        network_security_group=network.NetworkSecurityGroupArgs(id=group.id),
        nat_gateway=network.SubResourceArgs(id=gateway.id) if name != ENDPOINTS else None,
        delegations=delegated,
    )


def _zones(spec: PrivateNetworkSpec, at: Surroundings, of: "network.VirtualNetwork") -> dict[str, pulumi.Output[str]]:
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
            virtual_network=privatedns.SubResourceArgs(id=of.id),
            opts=at.opts,  # deleted before its zone, which Azure doesn't delete while it has links
        )
        found[name] = pulumi.Output.all(zone.id, link.urn).apply(lambda values: str(values[0]))
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
