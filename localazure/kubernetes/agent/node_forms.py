"""A Node as a kubelet registers and reports it. Pure.

Behaviour: kubelet v1.36.2, pkg/kubelet/kubelet_node_status.go and pkg/kubelet/nodestatus/setters.go.
"""

from collections.abc import Mapping
from typing import Any

from localazure.kubernetes.agent.settings import VERSION
from localazure.kubernetes.documents import document

Body = dict[str, Any]
ADDRESS = "127.0.0.1"  # the only loopback address that every system has; nodes differ by their port
_SAID = document("node")
_OWN_INFO = {"osImage": "os_image", "architecture": "architecture"}


def new(record: Body, pod_cidr: str, status: Body) -> Body:
    """The object that a kubelet creates when its node appears."""
    spec: Body = {"podCIDR": pod_cidr, "podCIDRs": [pod_cidr]}
    if record.get("taints"):
        spec["taints"] = [taint(one) for one in record["taints"]]
    if record.get("provider_id"):
        spec["providerID"] = record["provider_id"]
    annotations = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
    metadata = {"name": record["name"], "labels": record["labels"], "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}


def taint(record: Body) -> Body:
    """Without an empty value, as Kubernetes writes it."""
    return {name: record[name] for name in ("key", "value", "effect") if record.get(name)}


def status(
    record: Body, port: int, capacity: Mapping[str, int], allocatable: Mapping[str, int], now: str, before: Body | None = None
) -> Body:
    """What is reported. `before`: the status so far, from which times of transitions are kept."""
    return {
        "capacity": {**record["capacity"], **{name: str(number) for name, number in capacity.items()}},
        "allocatable": {**record["allocatable"], **{name: str(number) for name, number in allocatable.items()}},
        "conditions": [_condition(one, now, before) for one in _SAID["conditions"]],
        "addresses": [{"type": "InternalIP", "address": ADDRESS}, {"type": "Hostname", "address": record["name"]}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        "nodeInfo": {
            **_SAID["nodeInfo"],
            **{shown: record[name] for shown, name in _OWN_INFO.items() if record.get(name)},
            "kubeletVersion": VERSION,
        },
    }


def _condition(condition: Body, now: str, before: Body | None) -> Body:
    known = next((one for one in (before or {}).get("conditions", []) if one["type"] == condition["type"]), None)
    since = known["lastTransitionTime"] if known and known["status"] == condition["status"] else now
    return {**condition, "lastHeartbeatTime": now, "lastTransitionTime": since}


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
