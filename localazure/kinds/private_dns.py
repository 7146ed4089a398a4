"""Private DNS zones, their links to networks, and zone groups of private endpoints: kept and shown. No name is resolved by one.

Statuses, headers and members: Test_Networking_PrivateEndpoint_20240301_CRUD (2024-11-08).
"""

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from localazure.arm.kind import Kind
from localazure.arm.store import Body, Resource
from localazure.kinds import endpoint_interfaces
from localazure.kinds.network_common import etag
from localazure.services import Services


class PrivateZones(Kind):
    azure_type = azure_types.PRIVATE_ZONE

    def live(self, resource: Resource, services: Services) -> Body:
        links = services.store.of_type(azure_types.PRIVATE_ZONE_LINK.arm_type, resource.key)
        registering = [one for one in links if one.properties.get("registrationEnabled")]
        groups = services.store.of_type(azure_types.PRIVATE_DNS_ZONE_GROUP.arm_type)
        records = sum(resource.key in map(_zone_of, one.properties.get("privateDnsZoneConfigs") or ()) for one in groups)
        counts = {
            "numberOfRecordSets": 1 + records,
            "numberOfVirtualNetworkLinks": len(links),
            "numberOfVirtualNetworkLinksWithRegistration": len(registering),
        }
        return {"properties": counts}


class PrivateZoneGroups(Kind):
    """Writes the addresses of an endpoint into zones."""

    azure_type = azure_types.PRIVATE_DNS_ZONE_GROUP

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


def _zone_of(config: Body) -> str:
    return str((config.get("properties") or {}).get("privateDnsZoneId")).lower()
