"""The resource group that AKS makes for a cluster's nodes, and in it the identity with which nodes pull images and the address
under which they reach the outside.
"""

import uuid

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId, parse
from localazure.arm.errors import ArmError
from localazure.arm.kind import Change
from localazure.arm.store import Body, Resource
from localazure.arm.words import guid, number
from localazure.kinds import attached_identities
from localazure.kinds.managed_cluster_refusals import invalid
from localazure.services import Services
from localazure.subscriptions import SUBSCRIPTION

KUBELET = "kubeletidentity"
_LONGEST = 80  # Microsoft Learn, articles/aks/faq.md: a longer name is cut


def default_name(cluster: ArmId, region: str) -> str:
    return f"MC_{cluster.resource_group}_{cluster.name}_{region}"[:_LONGEST]


def check(name: str, cluster: ArmId, services: Services) -> None:
    """The group is the cluster's own: one that is there already isn't taken over."""
    group = services.store.get(_group_id(name))
    if group is not None and str(group.body.get("managedBy") or "").lower() != cluster.key:
        raise invalid("nodeResourceGroup", f"the resource group '{name}' already exists")
    if name.lower() == cluster.resource_group.lower():
        raise invalid("nodeResourceGroup", "it can't be the group of the cluster itself")


def check_given(profile: Body, services: Services) -> None:
    """A kubelet identity of the client's choice has to be there, and is the only key of `identityProfile`."""
    for name, given in profile.items():
        if name != KUBELET:
            raise invalid(f"identityProfile.{name}", f"the only key is {KUBELET}")
        identity = given.get("resourceId")
        if not identity or attached_identities.principal_of(identity, services) is None:
            raise invalid(f"identityProfile.{KUBELET}.resourceId", f"there is no user-assigned identity '{identity}'")


def make(change: Change, name: str) -> Body:
    """Makes what doesn't exist yet; answers `identityProfile`."""
    services = change.services
    store, location = services.store, change.body["location"]
    now = services.clock.stamp()
    group_id = _group_id(name)
    if store.get(group_id) is None:
        tags = {"aks-managed-cluster-name": change.id.name, "aks-managed-cluster-rg": change.id.resource_group}
        body: Body = {"location": location, "managedBy": change.id.text, "tags": tags}
        store.put(Resource(id=_parsed(group_id), body=body, created_at=now, changed_at=now))
    given = ((change.properties.get("identityProfile") or {}).get(KUBELET) or {}).get("resourceId")
    identity_id = given or f"{group_id}/providers/{azure_types.USER_ASSIGNED_IDENTITY.arm_type}/{change.id.name}-agentpool"
    if store.get(identity_id) is None:
        ids = {"tenantId": services.settings.tenant_id, "principalId": str(uuid.uuid4()), "clientId": str(uuid.uuid4())}
        identity = Resource(id=_parsed(identity_id), body={"location": location}, service={"properties": ids})
        identity.created_at = identity.changed_at = now
        store.put(identity)
    kept = store.get(identity_id)
    if kept is None:
        raise ValueError("an identity that was just made is there")
    ids = kept.service["properties"]
    return {KUBELET: {"resourceId": kept.id.text, "clientId": ids["clientId"], "objectId": ids["principalId"]}}


def outbound(change: Change, name: str) -> list[Body]:
    """The addresses of the cluster's load balancer, as `effectiveOutboundIPs` names them: one of AKS's, or the client's.

    Recorded in Azure Service Operator's session Test_AKS_ManagedCluster_20250801_CRUD (2026-01-24).
    """
    services, profile = change.services, (change.properties.get("networkProfile") or {}).get("loadBalancerProfile") or {}
    given = (profile.get("outboundIPs") or {}).get("publicIPs") or []
    if given or "managedOutboundIPs" not in profile:
        return [{"id": each["id"]} for each in given if each.get("id")]
    now, addresses = services.clock.stamp(), f"{_group_id(name)}/providers/{azure_types.PUBLIC_IP_ADDRESS.arm_type}"
    found: list[Body] = []
    for index in range(int(profile["managedOutboundIPs"].get("count") or 1)):
        address_id = f"{addresses}/{guid(f'{change.id.key}{index}')}"
        if services.store.get(address_id) is None:
            shown: Body = {"publicIPAddressVersion": "IPv4", "publicIPAllocationMethod": "Static", "idleTimeoutInMinutes": 30}
            body: Body = {
                "location": change.body["location"],
                "sku": {"name": "Standard", "tier": "Regional"},
                "properties": shown,
            }
            address = Resource(id=_parsed(address_id), body=body, created_at=now, changed_at=now)
            address.service = {"properties": {"ipAddress": f"203.0.113.{1 + number(address.key, 254)}"}}
            services.store.put(address)
        found.append({"id": address_id})
    return found


async def remove(name: str, cluster: ArmId, services: Services) -> None:
    """Deletes the group with everything in it, where it is the cluster's own. Bears being called twice."""
    group = services.store.get(_group_id(name))
    if group is None or str(group.body.get("managedBy") or "").lower() != cluster.key:
        return
    try:
        await services.arm.delete(group.id.text)
    except ArmError as error:
        if error.status != 404:  # it went by itself meanwhile
            raise


def _group_id(name: str) -> str:
    return f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{name}"


def _parsed(text: str) -> ArmId:
    parsed = parse(text)
    if parsed is None:
        raise ValueError(f"'{text}' is an id")
    return parsed
