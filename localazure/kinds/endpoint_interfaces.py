"""The network interface that a private endpoint has: made with it, in its subnet, and gone with it.

Form: Test_Networking_PrivateEndpoint_20240301_CRUD (2024-11-08). Names of other services than storage's:
Microsoft Learn, private-link/private-endpoint-dns.
"""

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from localazure import evidence
from localazure.arm.store import Body, Resource
from localazure.arm.words import guid
from localazure.kinds import private_link_scopes
from localazure.kinds.network_interfaces import free_address
from localazure.services import Services

CONNECTIONS = ("privateLinkServiceConnections", "manualPrivateLinkServiceConnections")


def links_of(endpoint: Resource) -> list[Body]:
    """What an endpoint leads to: the properties of each of its connections."""
    return [each.get("properties") or {} for kind in CONNECTIONS for each in endpoint.properties.get(kind) or ()]


def id_of(endpoint: Resource) -> str:
    """The id of the interface: of a name that the client chose, or of one that the service makes up."""
    made_up = f"{endpoint.id.name}.nic.{guid(endpoint.key + endpoint.created_at)}"
    name = endpoint.properties.get("customNetworkInterfaceName") or made_up
    return f"{endpoint.id.scope}/providers/{azure_types.NETWORK_INTERFACE.arm_type}/{name}"


def make(endpoint: Resource, services: Services) -> None:
    """Stores the interface. An endpoint whose subnet isn't here, or that has one already, gets none."""
    named = parse(id_of(endpoint))
    subnet = services.store.get(str((endpoint.properties.get("subnet") or {}).get("id")))
    if named is None or subnet is None or services.store.get(named.key) is not None:
        return
    names = _names(endpoint, services) or [("", "")]
    now = services.clock.stamp()
    body: Body = {
        "location": endpoint.location,
        "properties": {
            "dnsSettings": {"dnsServers": [], "appliedDnsServers": []},
            "enableAcceleratedNetworking": False,
            "enableIPForwarding": False,
            "nicType": "Standard",
            "ipConfigurations": [_configuration(endpoint, subnet, *each, first=not i) for i, each in enumerate(names)],
        },
    }
    nic = Resource(id=named, body=body, service={"properties": {"macAddress": ""}}, created_at=now, changed_at=now)
    nic.private["endpoint"] = endpoint.id.text
    addresses: list[Body] = []
    for each in body["properties"]["ipConfigurations"]:
        taken = {one["address"] for one in addresses}
        addresses.append({"name": each["name"], "subnet": subnet.key, "address": free_address(subnet.key, services, but=taken)})
    nic.service["properties"]["addresses"] = addresses
    services.store.put(nic)


def drop(endpoint: Resource, services: Services) -> None:
    services.store.delete(id_of(endpoint))


def of_endpoint(endpoint: Resource, services: Services) -> Resource | None:
    return services.store.get(id_of(endpoint))


def names_of(endpoint: Resource, services: Services) -> list[Body]:
    """The names that the endpoint has addresses for, as its `customDnsConfigs`."""
    nic = of_endpoint(endpoint, services)
    addresses = nic.service["properties"]["addresses"] if nic else []
    return [
        {"fqdn": name, "ipAddresses": [one["address"]]}
        for (name, _), one in zip(_names(endpoint, services), addresses, strict=False)
    ]


def _configuration(endpoint: Resource, subnet: Resource, name: str, member: str, *, first: bool) -> Body:
    groups: list[str] = [group for link in links_of(endpoint)[:1] for group in link.get("groupIds") or ()]
    linked: Body = {"groupId": groups[0] if groups else "", "requiredMemberName": member, "fqdns": [name] if name else []}
    return {
        "name": f"privateEndpointIpConfig.{guid(endpoint.key + endpoint.created_at + name)}",
        "properties": {
            "subnet": {"id": subnet.id.text},
            "primary": first,
            "privateIPAllocationMethod": "Dynamic",
            "privateLinkConnectionProperties": linked,
        },
    }


def _names(endpoint: Resource, services: Services) -> list[tuple[str, str]]:
    """Names of what the endpoint leads to, each with the member of the group that it stands for."""
    given = next(iter(links_of(endpoint)), {})
    target = services.store.get(str(given.get("privateLinkServiceId")))
    group = str((given.get("groupIds") or [""])[0])
    if target is None or not group:
        return []
    words = {"name": target.id.name.lower(), "group": group, "location": target.location}
    groups = next((row for kind, row in evidence.types().items() if target.id.is_type(kind)), {}).get("endpoint_groups", {})
    rows = next((rows for name, rows in groups.items() if name.lower() == group.lower()), [])
    named = [(name.format_map(words), member.format_map(words)) for name, member in rows]
    in_scope = target.id.is_type(azure_types.PRIVATE_LINK_SCOPE.arm_type)
    return [*named, *(private_link_scopes.names_of_workspaces(target, services) if in_scope else ())]
