"""Whether a node reaches its account: by the public name, or by a name of the private endpoint for nodes that is in a zone.

Microsoft Learn, batch/private-connectivity (a DNS record is needed); that a node without one is unusable: MicrosoftDocs/
SupportArticles-docs pull request 1368 (2024-02-02). The code and its words aren't recorded.
"""

from azure_gpu.formats import azure_types
from localazure.arm.store import Resource
from localazure.batch.failures import NodeError
from localazure.kinds import endpoint_interfaces
from localazure.services import Services

GROUP = "nodemanagement"


def check(account: str, services: Services) -> None:
    """NodeError where the account is closed to the public and no zone has the name of its nodes' endpoint."""
    found = services.store.get(account)
    if found is None or found.properties.get("publicNetworkAccess") != "Disabled":
        return
    groups = services.store.of_type(azure_types.PRIVATE_DNS_ZONE_GROUP.arm_type)
    registered = {each.id.scope.lower() for each in groups if each.properties.get("privateDnsZoneConfigs")}
    endpoints = services.store.of_type(azure_types.PRIVATE_ENDPOINT.arm_type)
    if not any(each.key in registered and _leads_to(each, found) for each in endpoints):
        raise NodeError("NodeNotReady", Message="No private DNS zone has the name of the account's node management endpoint.")


def _leads_to(endpoint: Resource, account: Resource) -> bool:
    linked = [
        each.get("properties") or {} for kind in endpoint_interfaces.CONNECTIONS for each in endpoint.properties.get(kind) or ()
    ]
    return any(
        str(each.get("privateLinkServiceId")).lower() == account.key
        and GROUP in {str(group).lower() for group in each.get("groupIds") or ()}
        for each in linked
    )
