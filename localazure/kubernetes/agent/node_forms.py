"""A Node as a kubelet registers and reports it. Pure.

Behaviour: kubelet v1.36.2, pkg/kubelet/kubelet_node_status.go and pkg/kubelet/nodestatus/setters.go.
"""

from collections.abc import Mapping
from typing import Any

from localazure.kubernetes.agent.settings import VERSION

Body = dict[str, Any]
ADDRESS = "127.0.0.1"  # the only loopback address that every system has; nodes differ by their port
_CONDITIONS = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)
_OWN_RESOURCES = ("cpu", "memory", "pods", "ephemeral-storage")
_HUGE_PAGES = {"hugepages-1Gi": "0", "hugepages-2Mi": "0"}


def new(record: Body, pod_cidr: str, status: Body) -> Body:
    """The object that a kubelet creates when its node appears."""
    labels = {
        "kubernetes.io/hostname": record["name"],
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": "amd64",
        **record.get("labels", {}),
    }
    spec: Body = {"podCIDR": pod_cidr, "podCIDRs": [pod_cidr]}
    if record.get("taints"):
        spec["taints"] = [taint(one) for one in record["taints"]]
    if record.get("provider_id"):
        spec["providerID"] = record["provider_id"]
    annotations = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
    metadata = {"name": record["name"], "labels": labels, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


def taint(record: Body) -> Body:
    """Without an empty value, as Kubernetes writes it."""
    return {name: record[name] for name in ("key", "value", "effect") if record.get(name)}


def status(
    record: Body, port: int, capacity: Mapping[str, int], allocatable: Mapping[str, int], now: str, before: Body | None = None
) -> Body:
    """What is reported. `before`: the status so far, from which times of transitions are kept."""
    return {
        "capacity": {**_own(record, "capacity"), **_numbers(capacity)},
        "allocatable": {**_own(record, "allocatable"), **_numbers(allocatable)},
        "conditions": [_condition(one, now, before) for one in _CONDITIONS],
        "addresses": [{"type": "InternalIP", "address": ADDRESS}, {"type": "Hostname", "address": record["name"]}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        "nodeInfo": _info(record),
    }


def _own(record: Body, which: str) -> Body:
    said = record.get(which) or {
        "cpu": str(record["cpu"]),
        "memory": f"{int(record['memory_gib'] * 1024 * 1024)}Ki",
        "pods": str(record.get("max_pods", 110)),
    }
    return {"ephemeral-storage": "129886128Ki", **_HUGE_PAGES, **{name: str(said[name]) for name in said}}


def _numbers(resources: Mapping[str, int]) -> dict[str, str]:
    return {name: str(number) for name, number in resources.items() if name not in _OWN_RESOURCES}


def _condition(condition: tuple[str, str, str, str], now: str, before: Body | None) -> Body:
    kind, state, reason, message = condition
    known = next((one for one in (before or {}).get("conditions", []) if one["type"] == kind), None)
    since = known["lastTransitionTime"] if known and known["status"] == state else now
    return {
        "type": kind,
        "status": state,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": now,
        "lastTransitionTime": since,
    }


def _info(record: Body) -> Body:
    """What `kubectl get nodes -o wide` shows; machine and boot ids are nobody's."""
    nobody = "00000000-0000-0000-0000-000000000000"
    return {
        "machineID": nobody.replace("-", ""),
        "systemUUID": nobody,
        "bootID": nobody,
        "kernelVersion": "embedded",
        "osImage": str(record.get("os_image") or "Embedded Azure"),
        "containerRuntimeVersion": "processes://1.0",
        "kubeletVersion": VERSION,
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": str(record.get("architecture") or "amd64"),
    }


def lease(name: str, uid: str, now: str) -> Body:
    """By which a node says that it lives. Times have six digits."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": "kube-node-lease", "ownerReferences": [owner]},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now},
    }


def changes(record: Body, before: Body, node: Body) -> Body | None:
    """What another record of the same node changes of the object: labels and taints that it added, changed or took away."""
    labels = {name: text for name, text in record.get("labels", {}).items() if before.get("labels", {}).get(name) != text}
    labels |= dict.fromkeys(name for name in before.get("labels", {}) if name not in record.get("labels", {}))
    requested, had = [taint(one) for one in record.get("taints", [])], [taint(one) for one in before.get("taints", [])]
    patch: Body = {"metadata": {"labels": labels}} if labels else {}
    if requested != had:
        others = [one for one in node["spec"].get("taints", []) if not any(_same(one, old) for old in [*had, *requested])]
        patch["spec"] = {"taints": [*requested, *others]}
    return patch or None


def _same(one: Body, other: Body) -> bool:
    return (one["key"], one["effect"]) == (other["key"], other["effect"])
