"""What can't be changed while something beside it is being changed: pools of one cluster, an endpoint and its deployments, and
network interfaces and subnets whose network isn't ready.
"""

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId, parse
from localazure import evidence
from localazure.arm.errors import ArmError, refused
from localazure.arm.store import Body, Resource
from localazure.kinds.network_common import ids_in
from localazure.services import Services

_CLUSTER, _POOL = azure_types.MANAGED_CLUSTER.arm_type, azure_types.AGENT_POOL.arm_type
_ENDPOINT, _DEPLOYMENT = azure_types.ML_ONLINE_ENDPOINT.arm_type, azure_types.ML_ONLINE_DEPLOYMENT.arm_type
_INTERFACE, _SUBNET = azure_types.NETWORK_INTERFACE.arm_type, azure_types.SUBNET.arm_type
# What a network interface names, and how the service calls its change.
_OPERATIONS = {arm_type.lower(): row["operation"] for arm_type, row in evidence.types().items() if "operation" in row}


def check(resource_id: ArmId, body: Body | None, services: Services) -> None:
    """ArmError for a change of the resource, or its removal where there is no `body`, while something beside it is at work."""
    weather = services.weather
    if weather.holds("pool-conflicts") and (resource_id.is_type(_POOL) or resource_id.is_type(_CLUSTER)):
        cluster = resource_id.scope if resource_id.is_type(_POOL) else resource_id.key
        _check_pools(cluster, resource_id.key, services)
    elif weather.holds("endpoint-conflicts") and (resource_id.is_type(_DEPLOYMENT) or resource_id.is_type(_ENDPOINT)):
        endpoint = resource_id.scope if resource_id.is_type(_DEPLOYMENT) else resource_id.key
        _check_endpoint(endpoint, resource_id, services)
    elif weather.holds("network-conflicts") and resource_id.is_type(_INTERFACE) and body is not None:
        _check_references(resource_id, body, services)
    elif weather.holds("network-conflicts") and resource_id.is_type(_SUBNET):
        _check_subnets(resource_id, services)


def _check_pools(cluster: str, key: str, services: Services) -> None:
    for pool in services.store.of_type(_POOL, cluster):
        if pool.key != key and _is_busy(pool, services):
            raise refused("aks: busy", operation=f"Another agentpool operation ({pool.id.name} - {pool.state})")


def _check_endpoint(key: str, resource_id: ArmId, services: Services) -> None:
    endpoint = services.store.get(key)
    others = [*([endpoint] if endpoint else []), *services.store.of_type(_DEPLOYMENT, key)]
    if not any(each.key != resource_id.key and _is_busy(each, services) for each in others):
        return
    name = key.rsplit("/", 1)[-1]
    raise refused("endpoint: updating" if resource_id.is_type(_DEPLOYMENT) else "endpoint: in progress", name=name)


def _check_subnets(subnet: ArmId, services: Services) -> None:
    """Test_RedHatOpenShift_OpenShiftCluster_CRUD (2024-08-18)."""
    network = services.store.get(subnet.scope)
    beside = [*([network] if network else []), *services.store.of_type(_SUBNET, subnet.scope)]
    if any(each.key != subnet.key and _is_busy(each, services) for each in beside):
        raise refused("AnotherOperationInProgress")


def _check_references(interface: ArmId, body: Body, services: Services) -> None:
    """`body` isn't validated yet."""
    for name in ("subnet", "publicIPAddress"):
        for parsed in filter(None, map(parse, ids_in(body, name))):
            for key in (parsed.key, parsed.scope):
                found = services.store.get(key)
                if found is not None and found.id.type.lower() in _OPERATIONS and _is_busy(found, services):
                    raise _not_ready(found, interface)


def _not_ready(referenced: Resource, user: ArmId) -> ArmError:
    words = {"id": referenced.id.text, "user": user.text, "operation": _OPERATIONS[referenced.id.type.lower()]}
    return refused("RetryableError", details=[refused("ReferencedResourceNotProvisioned", **words)])


def _is_busy(resource: Resource, services: Services) -> bool:
    return services.store.operation_in_progress(resource.key) is not None
