"""Rules of Azure Container Instances for groups: facts for the table of refusals, and what depends on other resources."""

from collections.abc import Mapping

from azure_gpu.catalog.services.container_instances import CONFIDENTIAL, GPU_SKUS, IN_CONFIDENTIAL, IN_SPOT, STANDARD, WITHOUT_GPU
from localazure.arm import refusals
from localazure.arm.errors import not_implemented
from localazure.arm.kind import Change
from localazure.arm.store import Body
from localazure.kinds import (
    container_group_address as addresses,
    container_group_capacity as capacity,
    container_group_volumes as volumes,
)
from localazure.kinds.container_group_specs import all_containers

DEFAULT_RESTART_POLICY = "Always"
DEFAULT_SKU = STANDARD


def check(change: Change, arm_type: str) -> None:
    group = {"restartPolicy": DEFAULT_RESTART_POLICY, **change.properties}
    before = change.previous.body if change.previous else None
    judged = {**change.body, "properties": group}
    refusals.judge(arm_type, judged, change.as_of, before=before, facts=_facts(change, before))
    _check_nested(change.body)
    volumes.check_access(change.id.name, change.body, change.services)
    addresses.check_label(change)
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
        "unused": addresses.unused(properties),
        "shared_port": addresses.shared(properties),
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
