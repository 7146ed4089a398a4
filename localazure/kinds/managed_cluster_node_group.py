"""The resource group that AKS makes for a cluster's nodes, and in it the identity with which nodes pull images and the address
under which they reach the outside.
"""

import uuid

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from localazure.arm.errors import ArmError
from localazure.arm.kind import Change
from localazure.arm.store import Body
from localazure.arm.words import guid, number
from localazure.services import Services
from localazure.subscriptions import SUBSCRIPTION

KUBELET = "kubeletidentity"
_LONGEST = 80  # Microsoft Learn, articles/aks/faq.md: a longer name is cut


def default_name(cluster: ArmId, region: str) -> str:
    return f"MC_{cluster.resource_group}_{cluster.name}_{region}"[:_LONGEST]


def make(change: Change, name: str) -> Body:
    """Makes what doesn't exist yet; answers `identityProfile`."""
    services = change.services
    store, location = services.store, change.body["location"]
    now = services.clock.stamp()
    own = group_id(name)
    tags = {"aks-managed-cluster-name": change.id.name, "aks-managed-cluster-rg": change.id.resource_group}
    store.made(own, {"location": location, "managedBy": change.id.text, "tags": tags}, now)
    given = ((change.properties.get("identityProfile") or {}).get(KUBELET) or {}).get("resourceId")
    identity_id = given or f"{own}/providers/{azure_types.USER_ASSIGNED_IDENTITY.arm_type}/{change.id.name}-agentpool"
    ids = {"tenantId": services.settings.tenant_id, "principalId": str(uuid.uuid4()), "clientId": str(uuid.uuid4())}
    identity = store.made(identity_id, {"location": location}, now, {"properties": ids})
    ids = identity.service["properties"]
    return {KUBELET: {"resourceId": identity.id.text, "clientId": ids["clientId"], "objectId": ids["principalId"]}}


def outbound(change: Change, name: str) -> list[Body]:
    """The addresses of the cluster's load balancer, as `effectiveOutboundIPs` names them: one of AKS's, or the client's.

    Recorded in Azure Service Operator's session Test_AKS_ManagedCluster_20250801_CRUD (2026-01-24).
    """
    services, profile = change.services, (change.properties.get("networkProfile") or {}).get("loadBalancerProfile") or {}
    given = (profile.get("outboundIPs") or {}).get("publicIPs") or []
    if given or "managedOutboundIPs" not in profile:
        return [{"id": each["id"]} for each in given if each.get("id")]
    now, addresses = services.clock.stamp(), f"{group_id(name)}/providers/{azure_types.PUBLIC_IP_ADDRESS.arm_type}"
    found: list[Body] = []
    for index in range(int(profile["managedOutboundIPs"].get("count") or 1)):
        address_id = f"{addresses}/{guid(f'{change.id.key}{index}')}"
        shown: Body = {"publicIPAddressVersion": "IPv4", "publicIPAllocationMethod": "Static", "idleTimeoutInMinutes": 30}
        sku = {"name": "Standard", "tier": "Regional"}
        body: Body = {"location": change.body["location"], "sku": sku, "properties": shown}
        address = {"ipAddress": f"203.0.113.{1 + number(address_id.lower(), 254)}"}
        services.store.made(address_id, body, now, {"properties": address})
        found.append({"id": address_id})
    return found


async def remove(name: str, cluster: ArmId, services: Services) -> None:
    """Deletes the group with everything in it, where it is the cluster's own. Bears being called twice."""
    group = services.store.get(group_id(name))
    if group is None or str(group.body.get("managedBy") or "").lower() != cluster.key:
        return
    try:
        await services.arm.delete(group.id.text)
    except ArmError as error:
        if error.status != 404:  # it went by itself meanwhile
            raise


def group_id(name: str) -> str:
    return f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{name}"
