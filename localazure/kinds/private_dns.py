"""Private DNS zones, their links to networks, and zone groups of private endpoints: kept and shown. No name is resolved by one.

Statuses, headers and members: Test_Networking_PrivateEndpoint_20240301_CRUD (2024-11-08).
"""

from types import MappingProxyType

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from localazure.arm import removal
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body, Resource
from localazure.kinds import endpoint_interfaces
from localazure.kinds.network_common import NetworkKind, check_reference, etag, guid, ids_in
from localazure.services import Services

_LIMITS: Body = {
    "maxNumberOfRecordSets": 25000,
    "maxNumberOfVirtualNetworkLinks": 1000,
    "maxNumberOfVirtualNetworkLinksWithRegistration": 100,
}


class _OfPrivateDns(Kind):
    location = "global"
    long_running = True
    long_running_delete = True
    created_status = 202
    updated_status = 202
    created_headers = "both"
    extra_api_versions = frozenset({"2018-09-01"})


class PrivateZones(_OfPrivateDns):
    azure_type = azure_types.PRIVATE_ZONE

    def check_removal(self, resource: Resource, services: Services) -> None:
        removal.refuse_with_children(resource, azure_types.PRIVATE_ZONE_LINK.arm_type, services)

    def view(self, resource: Resource, services: Services) -> Body:
        body = super().view(resource, services)
        links = services.store.of_type(azure_types.PRIVATE_ZONE_LINK.arm_type, resource.key)
        registering = [one for one in links if one.properties.get("registrationEnabled")]
        groups = services.store.of_type(azure_types.PRIVATE_DNS_ZONE_GROUP.arm_type)
        records = sum(resource.key in set(ids_in(_named(one), "privateDnsZoneId")) for one in groups)
        counts = {
            "numberOfRecordSets": 1 + records,
            "numberOfVirtualNetworkLinks": len(links),
            "numberOfVirtualNetworkLinksWithRegistration": len(registering),
        }
        made = guid(resource.key + resource.changed_at)
        return {"etag": made, **body, "properties": {**_LIMITS, **counts, **(body.get("properties") or {})}}


class PrivateZoneLinks(_OfPrivateDns):
    azure_type = azure_types.PRIVATE_ZONE_LINK
    parent_type = azure_types.PRIVATE_ZONE.arm_type

    def check(self, change: Change) -> None:
        check_reference(change.properties.get("virtualNetwork"), change, azure_types.VIRTUAL_NETWORK.arm_type)

    def defaults(self, change: Change) -> Body:  # noqa: ARG002
        return {"properties": {"registrationEnabled": False}}

    def view(self, resource: Resource, services: Services) -> Body:
        body = super().view(resource, services)
        state = "Completed" if resource.state == "Succeeded" else "InProgress"
        return {
            "etag": f'"{guid(resource.key + resource.changed_at)}"',
            **body,
            "properties": {**body["properties"], "virtualNetworkLinkState": state},
        }


class PrivateZoneGroups(NetworkKind):
    """Writes the addresses of an endpoint into zones."""

    azure_type = azure_types.PRIVATE_DNS_ZONE_GROUP
    parent_type = azure_types.PRIVATE_ENDPOINT.arm_type
    location = "none"
    patchable = False
    has_guid = False
    states = MappingProxyType({"Creating": "Updating"})

    def check(self, change: Change) -> None:
        for each in change.properties.get("privateDnsZoneConfigs") or ():
            zone = {"id": (each.get("properties") or {}).get("privateDnsZoneId")}
            check_reference(zone, change, azure_types.PRIVATE_ZONE.arm_type)

    def live(self, resource: Resource, services: Services) -> Body:
        endpoint = services.store.get(resource.id.scope)
        told = endpoint_interfaces.names_of(endpoint, services) if endpoint is not None else []
        state = self.states.get(resource.state, resource.state)
        shown = [
            {
                **each,
                "id": f"{resource.id.text}/privateDnsZoneConfigs/{each.get('name')}",
                "etag": etag(resource),
                "type": f"{resource.id.type}/privateDnsZoneConfigs",
                "properties": {**each["properties"], "provisioningState": state, "recordSets": _records(each, told, state)},
            }
            for each in resource.properties.get("privateDnsZoneConfigs") or ()
        ]
        return {"properties": {"privateDnsZoneConfigs": shown}}


def _records(config: Body, told: list[Body], state: str) -> list[Body]:
    parsed = parse(str(config["properties"].get("privateDnsZoneId")))
    zone = parsed.name if parsed else ""
    return [
        {
            "recordType": "A",
            "recordSetName": one["fqdn"].partition(".")[0],
            "fqdn": f"{one['fqdn'].partition('.')[0]}.{zone}",
            "ttl": 10,
            "provisioningState": state,
            "ipAddresses": one["ipAddresses"],
        }
        for one in told
    ]


def _named(group: Resource) -> list[Body]:
    """The zones of a group, each as a reference."""
    configs = group.properties.get("privateDnsZoneConfigs") or ()
    return [{"privateDnsZoneId": {"id": (each.get("properties") or {}).get("privateDnsZoneId")}} for each in configs]
