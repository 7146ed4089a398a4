"""Private endpoints: kept, approved and shown. No network is imitated: what lies behind one answers on loopback without it too.

Group ids: Microsoft Learn, private-link/private-endpoint-overview, "Private-link resource". Codes are assumed.
"""

import uuid

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from azure_gpu.formats.azure_types import AzureType
from localazure.arm.errors import ArmError, not_implemented
from localazure.arm.kind import Change, Kind, merged
from localazure.arm.store import Body, Resource
from localazure.services import Services

_CONNECTIONS = ("privateLinkServiceConnections", "manualPrivateLinkServiceConnections")
_GROUPS: dict[AzureType, tuple[str, ...]] = {
    azure_types.ML_WORKSPACE: ("amlworkspace",),
    azure_types.KEY_VAULT: ("vault",),
    azure_types.REGISTRY: ("registry",),
    azure_types.STORAGE_ACCOUNT: ("blob", "blob_secondary", "dfs", "file", "queue", "table", "web"),
}


class PrivateEndpoints(Kind):
    """Approved at once."""

    azure_type = azure_types.PRIVATE_ENDPOINT
    long_running = True
    long_running_delete = True

    def check(self, change: Change) -> None:
        properties = change.properties
        subnet = str((properties.get("subnet") or {}).get("id") or "")
        parsed = parse(subnet)
        if parsed is None or not parsed.is_type(azure_types.SUBNET.arm_type):
            raise _bad(
                "InvalidRequestFormat", "A private endpoint lies in a subnet: 'properties.subnet.id'.", "properties.subnet"
            )
        connections = [each for name in _CONNECTIONS for each in properties.get(name) or []]
        if len(connections) != 1:
            message = f"A private endpoint has one connection; {len(connections)} were given."
            raise _bad("PrivateEndpointMustHaveOneConnection", message, f"properties.{_CONNECTIONS[0]}")
        _check_connection(connections[0].get("properties") or {}, change.services)

    async def provision(self, change: Change) -> Body:
        before = (change.resource.service if change.resource else {}).get("properties") or {}
        return {"properties": {"resourceGuid": before.get("resourceGuid") or str(uuid.uuid4()), "customDnsConfigs": []}}

    def view(self, resource: Resource, services: Services) -> Body:  # noqa: ARG002
        body = merged(resource.body, resource.service)
        properties = dict(body["properties"])
        for name in _CONNECTIONS:
            properties[name] = [_approved(resource, name, each) for each in properties.get(name) or []]
        return {**body, "properties": {"networkInterfaces": [], **properties}}


def _check_connection(connection: Body, services: Services) -> None:
    target = str(connection.get("privateLinkServiceId") or "")
    parsed = parse(target)
    known = next((each for each in _GROUPS if parsed is not None and parsed.is_type(each.arm_type)), None)
    if parsed is None or known is None:
        raise not_implemented(f"a private endpoint to '{parsed.type if parsed else target}'")
    if services.store.get(parsed.key) is None:
        message = f"Resource {target} referenced by a private endpoint was not found."
        raise _bad("InvalidResourceReference", message, "privateLinkServiceId")
    groups = [str(each) for each in connection.get("groupIds") or []]
    if len(groups) != 1 or groups[0].lower() not in _GROUPS[known]:
        message = (
            f"'{parsed.type}' takes one of the group ids {', '.join(_GROUPS[known])}; given were {', '.join(groups) or 'none'}."
        )
        raise _bad("InvalidGroupId", message, "groupIds")


def _approved(resource: Resource, kind: str, connection: Body) -> Body:
    name = connection.get("name") or resource.id.name
    state = {"status": "Approved", "description": "Auto-Approved", "actionsRequired": "None"}
    live: Body = {"provisioningState": "Succeeded", "privateLinkServiceConnectionState": state}
    shown = merged(connection, {"properties": live})
    return {**shown, "id": f"{resource.id.text}/{kind}/{name}", "name": name}


def _bad(code: str, message: str, target: str) -> ArmError:
    return ArmError(400, code, message, target=target)
