"""Private link scopes of Azure Monitor and what is in them: kept and shown. Nothing is kept from sending or querying."""

from azure_gpu.formats import azure_types
from localazure import evidence
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body, Resource
from localazure.arm.words import guid
from localazure.services import Services


class PrivateLinkScopes(Kind):
    azure_type = azure_types.PRIVATE_LINK_SCOPE

    def live(self, resource: Resource, services: Services) -> Body:
        return {"properties": {"privateEndpointConnections": connections(resource, services)}}


class ScopedResources(Kind):
    azure_type = azure_types.PRIVATE_LINK_SCOPED_RESOURCE

    def facts(self, change: Change) -> Body:
        others = [each for each in _in_scope(change.id.scope, change.services) if each.key != change.id.key]
        linked = str(change.properties.get("linkedResourceId")).lower()
        return {
            "twice": any(str(each.properties.get("linkedResourceId")).lower() == linked for each in others),
            "in_progress": any(each.state != "Succeeded" for each in others),
        }


def _in_scope(scope: str, services: Services) -> list[Resource]:
    return services.store.of_type(azure_types.PRIVATE_LINK_SCOPED_RESOURCE.arm_type, scope)


def is_adding(scope: str, services: Services) -> bool:
    """Whether a resource is being added to a scope."""
    return any(each.state in ("Creating", "Updating") for each in _in_scope(scope, services))


def scopes_of(resource: Resource, services: Services) -> list[tuple[str, str]]:
    """The scopes that a workspace or component is in: the id of the scoped resource, and the scope's own."""
    found = services.store.of_type(azure_types.PRIVATE_LINK_SCOPED_RESOURCE.arm_type)
    return [
        (each.id.text, guid(each.id.scope.lower()))
        for each in found
        if str(each.properties.get("linkedResourceId")).lower() == resource.key
    ]


def names_of_workspaces(scope: Resource, services: Services) -> list[tuple[str, str]]:
    """Names that an endpoint of a scope has for its workspaces, which have one address a region, each with its member."""
    linked = [services.store.get(str(each.properties.get("linkedResourceId"))) for each in _in_scope(scope.key, services)]
    regions: dict[str, str] = {}
    for each in linked:
        if each is not None and each.id.is_type(azure_types.LOG_WORKSPACE.arm_type):
            regions.setdefault(each.location, each.service["properties"]["customerId"])
    rows = evidence.types()[azure_types.PRIVATE_LINK_SCOPE.arm_type]["endpoint_names_of_workspaces"]
    return [
        (name.format(customer=customer), member.format(region=region))
        for region, customer in regions.items()
        for name, member in rows
    ]


def connections(target: Resource, services: Services, action: str = "actionsRequired") -> list[Body]:
    """The private endpoints that lead to a resource, as it shows them. `action`: how its service spells that member."""
    return [_connection(target, each, action) for each in _endpoints(target, services)]


def _endpoints(scope: Resource, services: Services) -> list[Resource]:
    return [
        each
        for each in services.store.of_type(azure_types.PRIVATE_ENDPOINT.arm_type)
        for connection in each.properties.get("privateLinkServiceConnections") or ()
        if str((connection.get("properties") or {}).get("privateLinkServiceId")).lower() == scope.key
    ]


def _connection(scope: Resource, endpoint: Resource, action: str) -> Body:
    name = f"{endpoint.id.name}.{guid(endpoint.key + scope.key)}"
    return {
        "id": f"{scope.id.text}/privateEndpointConnections/{name}",
        "name": name,
        "type": f"{scope.id.type}/privateEndpointConnections",
        "properties": {
            "privateEndpoint": {"id": endpoint.id.text},
            "privateLinkServiceConnectionState": {"status": "Approved", "description": "Auto-Approved", action: "None"},
            "provisioningState": "Succeeded",
        },
    }
