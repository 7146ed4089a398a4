"""Rules of Azure Container Instances for groups: facts for the table of refusals, and what depends on other resources.

The address of a group is this machine's: `127.0.0.1`, and a name that no name server knows.
"""

import hashlib
from collections.abc import Mapping

from azure_gpu.catalog.services.container_instances import CONFIDENTIAL, GPU_SKUS, IN_CONFIDENTIAL, IN_SPOT, WITHOUT_GPU
from azure_gpu.formats import azure_types
from localazure.arm import refusals
from localazure.arm.errors import not_implemented, refused
from localazure.arm.kind import Change
from localazure.arm.store import Body, Resource
from localazure.kinds import container_group_capacity as capacity, container_group_volumes as volumes
from localazure.kinds.container_group_specs import all_containers

ADDRESS = "127.0.0.1"
SUFFIX = "azurecontainer.local"
UNSECURE = "Unsecure"
Port = tuple[int, str]


def check(change: Change, arm_type: str) -> None:
    group = {"restartPolicy": "Always", **change.properties}
    before = change.previous.body if change.previous else None
    judged = {**change.body, "properties": group}
    refusals.judge(arm_type, judged, change.as_of, before=before, facts=_facts(change, before))
    _check_nested(change.body)
    volumes.check_access(change.id.name, change.body, change.services)
    _check_label(change)
    capacity.check(change)


def _facts(change: Change, before: Body | None) -> Body:
    properties = change.properties
    containers, stored = properties.get("containers") or [], properties.get("volumes") or []
    requests = [(one["properties"].get("resources") or {}).get("requests") or {} for one in containers]
    complete = bool(requests) and all(one.get("cpu") and one.get("memoryInGB") for one in requests)
    gpus = [one["gpu"] for one in requests if one.get("gpu")]
    total = {"cpu": sum(one.get("cpu") or 0 for one in requests), "memory": sum(one.get("memoryInGB") or 0 for one in requests)}
    return {
        "name": change.id.name,
        "unused": _unused(properties),
        "shared_port": _shared(properties),
        "kinds_wrong": volumes.unclear(stored),
        "secret_wrong": volumes.unwritable(stored),
        "gpu": _gpu(gpus, str(change.body.get("location"))),
        "total": total,
        "most": _most(properties, gpus),
        "requested": capacity.requested(change.body) if complete else "",
        "fewer": before is not None and len(containers) < len(before["properties"]["containers"]),
    }


def _gpu(gpus: list[Body], region: str) -> Body:
    skus = sorted({str(one.get("sku")) for one in gpus})
    sku = GPU_SKUS.get(skus[0]) if skus else None
    return {
        "sku": skus[0] if skus else "",
        "other_sku": skus[1] if len(skus) > 1 else "",
        "elsewhere": sku is not None and region not in sku.regions,
    }


def _most(properties: Body, gpus: list[Body]) -> Mapping[str, object]:
    """CPU and memory of the machine that all containers of a group share; {} where it isn't known."""
    if gpus:
        sku, count = GPU_SKUS.get(str(gpus[0].get("sku"))), sum(int(one.get("count") or 0) for one in gpus)
        limit = sku.limits.get(count) if sku is not None else None
        what = f"A group with {count} {gpus[0].get('sku')}"
    elif properties.get("priority") == "Spot":
        limit, what = IN_SPOT, "A Spot group"
    elif properties.get("sku") == CONFIDENTIAL:
        limit, what = IN_CONFIDENTIAL, "A confidential group"
    else:
        limit, what = WITHOUT_GPU, "A group without a GPU"
    return {"what": what, "cpu": limit.cpu, "memory": limit.memory_gb} if limit is not None else {}


def _check_nested(body: Body) -> None:
    for container in all_containers(body):
        paths = [mount["mountPath"].rstrip("/") for mount in container["properties"].get("volumeMounts") or []]
        if any(one.startswith(f"{other}/") for one in paths for other in paths):
            raise not_implemented("a volume mounted below another volume")


def _unused(properties: Body) -> str:
    """Ports of the address that no container has."""
    used = {
        _port(port) for container in properties.get("containers") or [] for port in container["properties"].get("ports") or []
    }
    given = [_port(port) for port in (properties.get("ipAddress") or {}).get("ports") or []]
    return ",".join(str(number) for number, protocol in given if (number, protocol) not in used)


def _shared(properties: Body) -> str:
    """A port that two containers have."""
    seen: dict[Port, int] = {}
    for index, container in enumerate(properties.get("containers") or []):
        for number, protocol in map(_port, container["properties"].get("ports") or []):
            if seen.setdefault((number, protocol), index) != index:
                return f"{number}/{protocol}"
    return ""


def _port(port: Body) -> Port:
    return port["port"], str(port.get("protocol") or "TCP").upper()


def _check_label(change: Change) -> None:
    """ArmError where another group has the same name in DNS."""
    requested = _fqdn(change.id.resource_group, change.body)
    if not requested:
        return
    for other in change.services.store.of_type(azure_types.CONTAINER_GROUP.arm_type):
        if other.key != change.id.key and _fqdn(other.id.resource_group, other.body) == requested:
            raise refused("group: label taken", label=change.properties["ipAddress"]["dnsNameLabel"], group=change.id.name)


def answered(resource: Resource) -> Body:
    """What the service adds to `ipAddress`: the address, and the name of one with a label."""
    if not resource.properties.get("ipAddress"):
        return {}
    name = _fqdn(resource.id.resource_group, resource.body)
    return {"ip": ADDRESS, **({"fqdn": name} if name else {})}


def _fqdn(resource_group: str, body: Body) -> str:
    """The name in DNS; "" without a label. A scope other than Unsecure puts a hash between label and region, as in Azure."""
    address = body["properties"].get("ipAddress") or {}
    label = address.get("dnsNameLabel")
    if not label:
        return ""
    scope = address.get("autoGeneratedDomainNameLabelScope", UNSECURE)
    within = {
        "TenantReuse": "tenant",
        "SubscriptionReuse": "subscription",
        "ResourceGroupReuse": f"group {resource_group.lower()}",
        "Noreuse": f"group {resource_group.lower()}, never again",
    }.get(scope)
    between = f"{hashlib.sha256(f'{within} {label}'.encode()).hexdigest()[:16]}." if within else ""
    return f"{label}.{between}{body['location']}.{SUFFIX}"
