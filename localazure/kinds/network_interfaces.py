"""Network interfaces: an address in a subnet, for a machine. No packet goes through one.

Source: Microsoft Learn, REST reference of Microsoft.Network/networkInterfaces 2024-05-01.
"""

import ipaddress
from collections.abc import Collection

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from localazure.arm.errors import refused
from localazure.arm.kind import Change, Kind, check_reference, missing_reference
from localazure.arm.store import Body, Resource
from localazure.arm.words import guid, number
from localazure.kinds.network_common import named, users_of
from localazure.kinds.virtual_networks import prefixes
from localazure.services import Services
from localazure.weather import reserved_interfaces

_FIRST = 4  # the first address of a subnet that Azure gives out


class NetworkInterfaces(Kind):
    azure_type = azure_types.NETWORK_INTERFACE

    def check(self, change: Change) -> None:
        super().check(change)
        configurations = change.properties["ipConfigurations"]
        for each in configurations:
            self._check_configuration(each, change)
        check_reference(change.properties.get("networkSecurityGroup"), change, azure_types.NETWORK_SECURITY_GROUP.arm_type)
        if sum(bool((one.get("properties") or {}).get("primary")) for one in configurations) != 1 and len(configurations) > 1:
            raise refused(
                "network: invalid", message="Exactly one IP configuration must be primary.", target="properties.ipConfigurations"
            )

    def _check_configuration(self, each: Body, change: Change) -> None:
        properties = each.get("properties") or {}
        subnet_id = check_reference(properties.get("subnet"), change, azure_types.SUBNET.arm_type)
        network = parse(subnet_id.rsplit("/subnets/", 1)[0])
        above = change.services.store.get(network.key) if network else None
        if above is not None and above.location != change.body.get("location"):
            raise missing_reference(subnet_id, change.id.text)
        address = check_reference(properties.get("publicIPAddress"), change, azure_types.PUBLIC_IP_ADDRESS.arm_type).lower()
        for other in users_of(address, "publicIPAddress", change.services, but=change.id.key) if address else ():
            raise refused("PublicIPAddressInUse", resource=change.id.text, address=address, by=other.id.text)
        self._check_private(properties, subnet_id.lower(), change)

    def _check_private(self, properties: Body, subnet: str, change: Change) -> None:
        requested = properties.get("privateIPAddress")
        if properties.get("privateIPAllocationMethod") != "Static":
            return
        found = change.services.store.get(subnet)
        inside = found is not None and requested and any(_in(str(requested), prefix) for prefix in prefixes(found.properties))
        if not inside:
            raise refused("PrivateIPAddressNotInSubnet", address=str(requested), subnet=subnet)
        for other, address in _taken(subnet, change.services):
            if address == requested and other != change.id.key:
                raise refused("PrivateIPAddressIsAllocated", configuration=change.id.text, address=address, by=other)

    async def provision(self, change: Change) -> Body:
        """Addresses for configurations that have none. They are kept for as long as the interface is there."""
        before = (change.previous.service.get("properties") or {}) if change.previous else {}
        mac = ":".join(f"{number(f'{change.id.key}/{index}', 256):02X}" for index in range(3))
        given = {one["name"]: one for one in before.get("addresses") or ()}
        addresses = [self._address(each, given.get(each["name"]), change) for each in change.properties["ipConfigurations"]]
        return {"properties": {"macAddress": f"00-0D-3A-{mac.replace(':', '-')}", "addresses": addresses}}

    def _address(self, each: Body, before: Body | None, change: Change) -> Body:
        properties = each.get("properties") or {}
        subnet = str(properties["subnet"]["id"]).lower()
        if properties.get("privateIPAllocationMethod") == "Static":
            return {"name": each["name"], "subnet": subnet, "address": properties["privateIPAddress"]}
        if before is not None and before["subnet"] == subnet:
            return before
        return {"name": each["name"], "subnet": subnet, "address": free_address(subnet, change.services)}

    def live(self, resource: Resource, services: Services) -> Body:
        addresses = {one["name"]: one["address"] for one in (resource.service.get("properties") or {}).get("addresses") or ()}
        single = len(resource.properties["ipConfigurations"]) == 1
        shown = [
            {
                **each,
                "properties": {
                    "privateIPAllocationMethod": "Dynamic",
                    "privateIPAddressVersion": "IPv4",
                    "primary": single,
                    **each.get("properties", {}),
                    "privateIPAddress": addresses.get(each["name"], ""),
                },
            }
            for each in resource.properties["ipConfigurations"]
        ]
        machine = machine_of(resource, services)
        more: Body = {"virtualMachine": {"id": machine.id.text}, "primary": True} if machine else {}
        configurations = named(shown, resource.id, "ipConfigurations")
        return {"properties": {"ipConfigurations": configurations, **more}}

    def view(self, resource: Resource, services: Services) -> Body:
        body = super().view(resource, services)
        body["properties"].pop("addresses", None)
        zone = f"{guid(str(body['properties']['ipConfigurations'][0]['properties'].get('subnet')))}.internal.cloudapp.net"
        body["properties"]["dnsSettings"] = {"internalDomainNameSuffix": zone, **body["properties"].get("dnsSettings", {})}
        endpoint = resource.private.get("endpoint")
        if endpoint:
            body["properties"]["privateEndpoint"] = {"id": endpoint}
            body |= {"managedBy": endpoint}
        return {"kind": "Regular", **body}

    def check_removal(self, resource: Resource, services: Services) -> None:
        if resource.private.get("endpoint"):
            raise refused("NicInUseWithPrivateEndpoint", nic=resource.id.text, endpoint=resource.private["endpoint"])
        machine = machine_of(resource, services)
        if machine is not None:
            raise refused("NicInUse", nic=resource.id.text, machine=machine.id.text)
        reserved = reserved_interfaces.reserved_for(resource, services)
        if reserved:
            raise refused("NicReservedForAnotherVm", machine=reserved)


def machine_of(nic: Resource, services: Services) -> Resource | None:
    """The machine that has this interface."""
    for machine in services.store.of_type(azure_types.VIRTUAL_MACHINE.arm_type):
        used = (machine.properties.get("networkProfile") or {}).get("networkInterfaces") or ()
        if nic.key in (str(one.get("id") or "").lower() for one in used):
            return machine
    return None


def free_address(subnet: str, services: Services, but: Collection[str] = ()) -> str:
    """The first address of a subnet that nobody has, and that isn't one of `but`."""
    found = services.store.get(subnet)
    taken = {address for _, address in _taken(subnet, services)} | set(but)
    for prefix in prefixes(found.properties) if found else ():
        for index in range(_FIRST, prefix.num_addresses - 1):
            if str(prefix[index]) not in taken:
                return str(prefix[index])
    raise refused("SubnetIsFull", subnet=subnet.rsplit("/", 1)[-1])


def _taken(subnet: str, services: Services) -> list[tuple[str, str]]:
    """Addresses in a subnet, with the interface that has each."""
    return [
        (nic.key, str(one["address"]))
        for nic in services.store.of_type(azure_types.NETWORK_INTERFACE.arm_type)
        for one in (nic.service.get("properties") or {}).get("addresses") or ()
        if one["subnet"] == subnet
    ]


def _in(address: str, prefix: ipaddress.IPv4Network | ipaddress.IPv6Network) -> bool:
    try:
        return ipaddress.ip_address(address) in prefix
    except ValueError:
        return False
