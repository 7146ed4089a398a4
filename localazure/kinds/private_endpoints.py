"""Private endpoints: kept, approved and shown. No network is imitated: what lies behind one answers on loopback without it too.

Group ids: Microsoft Learn, private-link/private-endpoint-overview, "Private-link resource". Codes are assumed.
"""

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from azure_gpu.formats.azure_types import AzureType
from localazure.arm.errors import ArmError, not_implemented
from localazure.arm.kind import Change, merged
from localazure.arm.store import Body, Resource
from localazure.kinds import endpoint_interfaces
from localazure.kinds.network_common import NetworkKind, etag
from localazure.services import Services

_GROUPS: dict[AzureType, tuple[str, ...]] = {
    azure_types.ML_WORKSPACE: ("amlworkspace",),
    azure_types.KEY_VAULT: ("vault",),
    azure_types.REGISTRY: ("registry",),
    azure_types.BATCH_ACCOUNT: ("batchAccount", "nodeManagement"),
    azure_types.STORAGE_ACCOUNT: ("blob", "blob_secondary", "dfs", "file", "queue", "table", "web"),
}


class PrivateEndpoints(NetworkKind):
    """Approved at once. What is shown: Test_Networking_PrivateEndpoint_20240301_CRUD (2024-11-08)."""

    azure_type = azure_types.PRIVATE_ENDPOINT
    shown_only = ("properties.isIPv6EnabledPrivateEndpoint", "properties.ipVersionType")

    def check(self, change: Change) -> None:
        properties = change.properties
        subnet = str((properties.get("subnet") or {}).get("id") or "")
        parsed = parse(subnet)
        if parsed is None or not parsed.is_type(azure_types.SUBNET.arm_type):
            raise _bad("InvalidRequestFormat", "A private endpoint requires 'properties.subnet.id'.", "properties.subnet")
        connections = [each for name in endpoint_interfaces.CONNECTIONS for each in properties.get(name) or []]
        if len(connections) != 1:
            message = f"A private endpoint has one connection; {len(connections)} were given."
            raise _bad("PrivateEndpointMustHaveOneConnection", message, f"properties.{endpoint_interfaces.CONNECTIONS[0]}")
        _check_connection(connections[0].get("properties") or {}, change.services)

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
                "ipVersionType": "IPv4",
                "isIPv6EnabledPrivateEndpoint": False,
            }
        }

    def defaults(self, change: Change) -> Body:  # noqa: ARG002
        return {"properties": {"customNetworkInterfaceName": "", "ipConfigurations": []}}


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
    if len(groups) != 1 or groups[0].lower() not in {each.lower() for each in _GROUPS[known]}:
        message = (
            f"'{parsed.type}' takes one of the group ids {', '.join(_GROUPS[known])}; given were {', '.join(groups) or 'none'}."
        )
        raise _bad("InvalidGroupId", message, "groupIds")


def _approved(resource: Resource, kind: str, connection: Body) -> Body:
    name = connection.get("name") or resource.id.name
    words = "Auto Approved" if resource.state == "Creating" else "Auto-Approved"  # as recorded
    state = {"status": "Approved", "description": words, "actionsRequired": "None"}
    live: Body = {"provisioningState": "Succeeded", "privateLinkServiceConnectionState": state}
    shown = merged(connection, {"properties": live})
    own = {"id": f"{resource.id.text}/{kind}/{name}", "name": name, "type": f"{resource.id.type}/{kind}"}
    return {**shown, **own, "etag": etag(resource)}


def _bad(code: str, message: str, target: str) -> ArmError:
    return ArmError(400, code, message, target=target)
