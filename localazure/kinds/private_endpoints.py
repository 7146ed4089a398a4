"""Private endpoints: kept, approved and shown. No network is imitated: what lies behind one answers on loopback without it too.

Group ids: Microsoft Learn, private-link/private-endpoint-overview, "Private-link resource".
"""

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from localazure import evidence
from localazure.arm.kind import Change, Kind, merged
from localazure.arm.store import Body, Resource
from localazure.kinds import endpoint_interfaces, private_link_scopes
from localazure.kinds.network_common import etag
from localazure.services import Services

_GROUPS = {arm_type: row["endpoint_groups"] for arm_type, row in evidence.types().items() if "endpoint_groups" in row}


class PrivateEndpoints(Kind):
    """Approved at once. What is shown: Test_Networking_PrivateEndpoint_20240301_CRUD (2024-11-08)."""

    azure_type = azure_types.PRIVATE_ENDPOINT

    def facts(self, change: Change) -> Body:
        """Of its connection: what it leads to, and the groups that it names."""
        properties, store = change.properties, change.services.store
        given = [(kind, each) for kind in endpoint_interfaces.CONNECTIONS for each in properties.get(kind) or []]
        kind, connection = given[0] if given else ("", {})
        linked: Body = connection.get("properties") or {}
        subnet = parse(str((properties.get("subnet") or {}).get("id") or ""))
        text = str(linked.get("privateLinkServiceId") or "")
        target = parse(text)
        known = next((each for each in _GROUPS if target is not None and target.is_type(each)), "")
        groups = [str(each) for each in linked.get("groupIds") or []]
        taken = _GROUPS.get(known, ())
        return {
            "id": change.id.text,
            "subnet": subnet is not None and subnet.is_type(azure_types.SUBNET.arm_type),
            "connection": f"{change.id.text}/{kind}/{connection.get('name')}",
            "target": text if known or target is None else target.type,
            "target_type": known,
            "there": target is not None and store.get(target.key) is not None,
            "adding": target is not None and private_link_scopes.is_adding(target.key, change.services),
            "groups": groups,
            "named": ", ".join(groups),
            "taken": [each for each in groups if each.lower() in {one.lower() for one in taken}],
        }

    async def provision(self, change: Change) -> Body:
        endpoint_interfaces.make(change.stored, change.services)
        return {}

    async def remove(self, resource: Resource, services: Services) -> None:
        endpoint_interfaces.drop(resource, services)

    def live(self, resource: Resource, services: Services) -> Body:
        connections = {
            name: [_approved(resource, name, each) for each in resource.properties.get(name) or []]
            for name in endpoint_interfaces.CONNECTIONS
        }
        subnet = services.store.get(str((resource.properties.get("subnet") or {}).get("id")))
        interfaces = [{"id": endpoint_interfaces.id_of(resource)}] if subnet is not None else []
        names = endpoint_interfaces.names_of(resource, services)
        return {
            "properties": {
                **connections,
                "networkInterfaces": interfaces,
                "customDnsConfigs": names,
            }
        }


def _approved(resource: Resource, kind: str, connection: Body) -> Body:
    name = connection.get("name") or resource.id.name
    words = "Auto Approved" if resource.state == "Creating" else "Auto-Approved"  # as recorded
    state = {"status": "Approved", "description": words, "actionsRequired": "None"}
    live: Body = {"provisioningState": "Succeeded", "privateLinkServiceConnectionState": state}
    shown = merged(connection, {"properties": live})
    own = {"id": f"{resource.id.text}/{kind}/{name}", "name": name, "type": f"{resource.id.type}/{kind}"}
    return {**shown, **own, "etag": etag(resource)}
