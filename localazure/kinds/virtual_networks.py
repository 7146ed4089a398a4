"""Virtual networks and their subnets, which stand in a network's body or are separate resources: it is the same subnets.

A network whose body has no `subnets` keeps those that it has; one that lists them has exactly these. Source: Microsoft
Learn, REST reference of Microsoft.Network 2024-05-01.
"""

import ipaddress
from ipaddress import IPv4Network, IPv6Network

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from localazure.arm.errors import refused
from localazure.arm.kind import Change, Kind, check_reference
from localazure.arm.store import Body, Resource
from localazure.arm.words import guid
from localazure.kinds.network_common import etag, ids_in, keep_members, users_of
from localazure.kinds.stored import type_of
from localazure.services import Services

Network = IPv4Network | IPv6Network
PEERING = type_of("Microsoft.Network/virtualNetworks/virtualNetworkPeerings")
_CONFIGURATIONS = {
    azure_types.NETWORK_INTERFACE.arm_type: "ipConfigurations",
    azure_types.BASTION_HOST.arm_type: "bastionHostIpConfigurations",
}


class VirtualNetworks(Kind):
    azure_type = azure_types.VIRTUAL_NETWORK

    def check(self, change: Change) -> None:
        spaces = _spaces(change.properties, change.id)
        requested: list[Body] = change.properties.get("subnets") or []
        for subnet in requested:
            _check_subnet(subnet.get("properties") or {}, str(subnet.get("name") or ""), spaces, change)
        _check_overlap(
            [(str(one.get("name")), network) for one in requested for network in prefixes(one.get("properties") or {})]
        )
        if change.properties.get("subnets") is not None and change.previous is not None:
            kept = {str(one.get("name") or "").lower() for one in requested}
            for gone in subnets_of(change.id, change.services):
                if gone.id.name.lower() not in kept:
                    check_unused(gone, change.services)

    async def provision(self, change: Change) -> Body:
        """Subnets of the body are stored as separate resources, and shown from there."""
        keep_members(change, "subnets", azure_types.SUBNET)
        return {}

    def live(self, resource: Resource, services: Services) -> Body:
        shown = [_part(one, _use(one, services)) for one in subnets_of(resource.id, services)]
        joined = [
            _part(one, {"resourceGuid": guid(one.key), **_peered(one, services)})
            for one in services.store.of_type(PEERING.arm_type, resource.key)
        ]
        given = resource.properties.get("virtualNetworkPeerings") or []
        return {"properties": {"subnets": shown, "virtualNetworkPeerings": joined or given}}

    def check_removal(self, resource: Resource, services: Services) -> None:
        for subnet in subnets_of(resource.id, services):
            check_unused(subnet, services)


class Subnets(Kind):
    azure_type = azure_types.SUBNET

    def check(self, change: Change) -> None:
        network = change.services.store.get(change.id.scope)
        if network is None:
            raise ValueError("a subnet is changed below its network")
        _check_subnet(change.properties, change.id.name, _spaces(network.properties, network.id), change)
        others = [one for one in subnets_of(network.id, change.services) if one.key != change.id.key]
        taken = [(one.id.name, prefix) for one in others for prefix in prefixes(one.properties)]
        _check_overlap([*taken, *((change.id.name, prefix) for prefix in prefixes(change.properties))])
        before = change.previous
        if before is None or _texts(before) == {str(one) for one in prefixes(change.properties)}:
            return
        if users_of(before.key, "subnet", change.services):
            raise refused("InUsePrefixCannotBeDeleted", subnet=change.id.name)

    def live(self, resource: Resource, services: Services) -> Body:
        return {"properties": _use(resource, services)}

    def check_removal(self, resource: Resource, services: Services) -> None:
        check_unused(resource, services)


class Peerings(Kind):
    """One side of two joined networks: connected as soon as the other has one, too (Microsoft Learn, REST reference of
    "Virtual Network Peerings - Create Or Update" 2024-05-01)."""

    azure_type = PEERING

    def live(self, resource: Resource, services: Services) -> Body:
        return {"properties": _peered(resource, services)}


def _part(one: Resource, shown: Body) -> Body:
    """A subnet or a peering in its network's document. `shown`: what the service adds to its properties."""
    own = {"id": one.id.text, "name": one.id.name, "type": one.id.type, "etag": etag(one)}
    return {**own, "properties": {**one.properties, **shown, "provisioningState": "Succeeded"}}


def _peered(peering: Resource, services: Services) -> Body:
    other = services.store.get(str((peering.properties.get("remoteVirtualNetwork") or {}).get("id")))
    theirs = services.store.of_type(PEERING.arm_type, other.key) if other is not None else []
    connected = any(peering.id.scope.lower() in ids_in(one.body, "remoteVirtualNetwork") for one in theirs)
    space = other.properties["addressSpace"] if other is not None else {}
    return {
        "peeringState": "Connected" if connected else "Initiated",
        "peeringSyncLevel": "FullyInSync" if connected else "RemoteNotInSync",
        "remoteAddressSpace": space,
        "remoteVirtualNetworkAddressSpace": space,
    }


def subnets_of(network: ArmId, services: Services) -> list[Resource]:
    return services.store.of_type(azure_types.SUBNET.arm_type, network.key)


def check_unused(subnet: Resource, services: Services) -> None:
    used = users_of(subnet.key, "subnet", services)
    if used:
        raise refused("InUseSubnetCannotBeDeleted", subnet=subnet.id.name, by=used[0].id.text)


def prefixes(properties: Body) -> list[Network]:
    """Those of a subnet or an address space that can be read."""
    given = [properties.get("addressPrefix"), *(properties.get("addressPrefixes") or ())]
    return [found for text in given if text and (found := _network(str(text))) is not None]


def _texts(subnet: Resource) -> set[str]:
    return {str(one) for one in prefixes(subnet.properties)}


def _use(subnet: Resource, services: Services) -> Body:
    """What has an address in the subnet, and the private endpoints in it: Test_Network_v1api20240301_CreationAndDeletion
    (2024-11-08)."""
    users = users_of(subnet.key, "subnet", services)
    configurations = [
        {"id": f"{one.id.text}/{_CONFIGURATIONS[one.id.type]}/{each['name']}"}
        for one in users
        if one.id.type in _CONFIGURATIONS
        for each in one.properties.get("ipConfigurations") or ()
        if subnet.key in ids_in(each, "subnet")
    ]
    endpoints = [{"id": one.id.text} for one in users if one.id.is_type(azure_types.PRIVATE_ENDPOINT.arm_type)]
    found: Body = {"ipConfigurations": configurations} if configurations else {}
    return found | ({"privateEndpoints": endpoints, "purpose": "PrivateEndpoints"} if endpoints else {})


def _spaces(properties: Body, network: ArmId) -> list[Network]:
    space: Body = properties.get("addressSpace") or {}
    if not space.get("addressPrefixes"):
        raise refused("network: no prefix", what=f"Virtual network {network.name}", target="properties.addressSpace")
    for text in space["addressPrefixes"]:
        if _network(str(text)) is None:
            raise refused("InvalidAddressPrefixFormat", prefix=str(text), resource=network.text)
    return prefixes({"addressPrefixes": space["addressPrefixes"]})


def _check_subnet(properties: Body, name: str, spaces: list[Network], change: Change) -> None:
    given = [properties.get("addressPrefix"), *(properties.get("addressPrefixes") or ())]
    texts = [str(text) for text in given if text]
    whole = change.id.is_type(azure_types.VIRTUAL_NETWORK.arm_type)
    network_name = change.id.name if whole else change.id.scope.rsplit("/", 1)[-1]
    if not texts:
        raise refused("network: no prefix", what=f"Subnet {name}", target="properties.addressPrefix")
    for text in texts:
        network = _network(text)
        if network is None:
            raise refused("InvalidAddressPrefixFormat", prefix=text, resource=change.id.text)
        # pyrefly: ignore[bad-argument-type]
        if not any(network.version == space.version and network.subnet_of(space) for space in spaces):
            raise refused("NetcfgSubnetRangeOutsideVnet", subnet=name, network=network_name)
    check_reference(properties.get("networkSecurityGroup"), change, azure_types.NETWORK_SECURITY_GROUP.arm_type)


def _check_overlap(found: list[tuple[str, Network]]) -> None:
    for index, (name, network) in enumerate(found):
        for other, taken in found[:index]:
            if name.lower() != other.lower() and network.version == taken.version and network.overlaps(taken):
                raise refused("NetcfgSubnetRangesOverlap", subnet=name)


def _network(text: str) -> Network | None:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        return None
