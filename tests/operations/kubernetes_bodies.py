"""Pods, nodes, Jobs and events as the API of Kubernetes answers them, for tests of what is made of them."""

from collections.abc import Mapping
from typing import Any

T4 = "Standard_NC4as_T4_v3"
POOL_ID = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ContainerService/managedClusters/aks/agentPools"
GPU_TAINT = {"key": "sku", "value": "gpu", "effect": "NoSchedule"}
GPU_TOLERATION = {"key": "sku", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}


def pod(
    name: str = "run-x-abcde",
    *,
    phase: str = "Pending",
    node: str = "",
    unschedulable: str = "",
    container: Mapping[str, Any] | None = None,
    limits: Mapping[str, str] | None = None,
    created: str = "2026-11-22T10:00:00Z",
    image: str = "r.azurecr.io/mnist:1",
    **more: Any,
) -> dict[str, Any]:
    """`container` is the state of its only one, such as {"waiting": {…}}; `more` goes to its spec, `status` to its status."""
    status: dict[str, Any] = {"phase": phase, **more.pop("status", {})}
    if unschedulable:
        scheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": unschedulable}
        status["conditions"] = [scheduled, *status.get("conditions", [])]
    if container is not None:
        status["containerStatuses"] = [{"name": "main", "image": image, "restartCount": 0, **container}]
    spec: dict[str, Any] = {
        "containers": [{"name": "main", "image": image, "resources": {"limits": dict(limits or {})}}],
        **({"nodeName": node} if node else {}),
        **more,
    }
    labels = {"batch.kubernetes.io/job-name": name.rpartition("-")[0]}
    metadata = {"name": name, "namespace": "jobs", "uid": name, "creationTimestamp": created, "labels": labels}
    return {"metadata": metadata, "spec": spec, "status": status}


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {"state": {"waiting": {"reason": reason, "message": message}}}


def running(since: str = "2026-11-22T10:01:00Z") -> dict[str, Any]:
    return {"state": {"running": {"startedAt": since}}}


def ended(code: int, reason: str = "", **more: Any) -> dict[str, Any]:
    said = reason or ("Completed" if code == 0 else "Error")
    times = {"startedAt": "2026-11-22T10:01:00Z", "finishedAt": "2026-11-22T10:03:00Z"}
    return {"state": {"terminated": {"exitCode": code, "reason": said, **times, **more}}}


def node(
    name: str = "aks-t4-12345678-vmss000000",
    pool: str = "t4",
    size: str = T4,
    *,
    gpus: Mapping[str, str] | None = None,
    taints: list[dict[str, str]] | None = None,
    ready: bool = True,
    labels: Mapping[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    told = {"type": "Ready", "status": "True" if ready else "Unknown", "reason": "KubeletReady" if ready else "NodeStatusUnknown"}
    return {
        "metadata": {
            "name": name,
            "creationTimestamp": "2026-11-22T09:00:00Z",
            "labels": {
                "kubernetes.azure.com/agentpool": pool,
                "node.kubernetes.io/instance-type": size,
                "topology.kubernetes.io/region": "eastus",
                **(labels or {}),
            },
        },
        "spec": {"taints": taints or [], **spec},
        "status": {"allocatable": {"cpu": "3860m", **(gpus or {})}, "conditions": [told]},
    }


def job(name: str = "run-x", *, conditions: list[dict[str, str]] | None = None, **status: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "jobs", "uid": "u1"}
    return {"metadata": metadata, "spec": {}, "status": {**status, "conditions": conditions or []}}


def complete() -> dict[str, str]:
    return {"type": "Complete", "status": "True"}


def failed(reason: str = "BackoffLimitExceeded", message: str = "Job has reached the specified backoff limit") -> dict[str, str]:
    return {"type": "Failed", "status": "True", "reason": reason, "message": message}


def event(reason: str, message: str, *, warning: bool = False, at: str = "2026-11-22T10:00:30Z") -> dict[str, Any]:
    return {"reason": reason, "message": message, "type": "Warning" if warning else "Normal", "lastTimestamp": at}


def pool(name: str = "t4", size: str = T4, **properties: Any) -> dict[str, Any]:
    """As ARM answers it."""
    said = {"vmSize": size, "mode": "User", "count": 1, "nodeTaints": ["sku=gpu:NoSchedule"], "provisioningState": "Succeeded"}
    return {"name": name, "id": f"{POOL_ID}/{name}", "properties": {**said, **properties}}


def of_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A pod as tables have it: its container is `waiting`, `running`, `crashed` or `ended`, the last with code and reason."""
    said = dict(row)
    if said.pop("tolerations", False):
        said["tolerations"] = [GPU_TOLERATION]
    if "waiting" in said:
        said["container"] = waiting(*said.pop("waiting"))
    if said.pop("running", False):
        said["container"] = running()
    if "ended" in said:
        code, reason, message, at = [*said.pop("ended"), "", "", ""][:4]
        said["container"] = ended(code, reason, message=message, **({"finishedAt": at} if at else {}))
    if "crashed" in said:
        waits = waiting("CrashLoopBackOff", "back-off 40s restarting failed container=main")
        said["container"] = {**waits, "lastState": {"terminated": {"message": "", **said.pop("crashed")}}, "restartCount": 4}
    return pod(**said)
