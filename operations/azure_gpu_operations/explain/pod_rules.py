"""Rules of code for a pod that no node takes, doesn't run or failed. The others are rows of `findings.yaml`. Pure.

`rules` explains failures in its containers.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from azure_gpu.catalog.services.aks.device_plugin import GPU_RESOURCE
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.clusters import scheduling
from azure_gpu_operations.clusters.arm_facts import PoolFacts
from azure_gpu_operations.clusters.objects import EventSeen, NodeSeen, PodSeen, Taint, taint_of
from azure_gpu_operations.clusters.scheduling import Reason
from azure_gpu_operations.explain import rules, table
from azure_gpu_operations.explain.cluster_facts import PodCase
from azure_gpu_operations.explain.facts import Cause, Finding
from azure_gpu_operations.explain.refusal_rules import about

_HARD = ("NoSchedule", "NoExecute")
_NOT_READY_TAINTS = (
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.cloudprovider.kubernetes.io/uninitialized",
)


class _Seen(NamedTuple):
    """A waiting pod, with the nodes and pools where it may run."""

    case: PodCase
    resource: str  # of GPUs that it asks for; "": none
    amount: int
    reasons: tuple[Reason, ...]
    autoscaler: EventSeen | None  # the autoscaler's last word
    nodes: tuple[
        NodeSeen, ...
    ]  # where it may go by its own words: those of its pool, of all pools with GPUs where it asks for one
    pools: tuple[PoolFacts, ...]  # likewise

    @property
    def pod(self) -> PodSeen:
        return self.case.pod

    @property
    def evidence(self) -> tuple[str, ...]:
        autoscaler = f"{self.autoscaler.reason}: {self.autoscaler.message}" if self.autoscaler is not None else ""
        return tuple(text for text in (self.pod.unschedulable, autoscaler) if text)


def unplaced(case: PodCase) -> Finding | None:
    pod = case.pod
    if pod.node or pod.is_over or not (pod.unschedulable or pod.gated):
        return None
    if pod.gated:
        what = "its scheduling gates keep the scheduler from placing it, as a queue such as Kueue does"
        return Finding(Cause.STARTING, what, "check which controller owns its scheduling gates", (pod.gated,))
    seen = _seen(case)
    rules: dict[str, table.Rule] = {"untolerated": _untolerated, "failed_scale_up": _failed_scale_up}
    return table.explain_surely("pod without a node", seen, rules, _of_waiting(seen))


def _seen(case: PodCase) -> _Seen:
    pod = case.pod
    resource = next((name for name, amount in pod.gpus.items() if amount), "")
    nodes = tuple(node for node in case.around.nodes or () if _selected(pod, node))
    pools = tuple(pool for pool in case.around.pools if not pod.pool or pool.is_meant(pod.pool))
    if resource:
        nodes = tuple(node for node in nodes if _has_gpu(node))
        pools = tuple(pool for pool in pools if pool.has_gpu)
    return _Seen(
        case,
        resource,
        pod.gpus.get(resource, 0),
        scheduling.reasons(pod.unschedulable),
        scheduling.last_word(case.events),
        nodes,
        pools,
    )


def _of_waiting(seen: _Seen) -> dict[str, Any]:
    """What rows of the table name."""
    return {
        "said": seen.evidence,
        "said_first": seen.evidence[:1],
        "gpu_resource": GPU_RESOURCE,
        "from_zero_issue": "Azure/AKS issue 5161",
        "is_scaling": seen.autoscaler is not None and seen.autoscaler.reason == scheduling.TRIGGERED,
        "holders": _holders(seen),
        **_of_pools(seen),
        **_of_nodes(seen),
        **_of_reasons(seen),
    }


def _of_pools(seen: _Seen) -> dict[str, Any]:
    known, required = seen.case.around.pools, seen.pod.pool
    names = ", ".join(pool.called for pool in seen.pools)
    has_place = seen.nodes or not seen.pools
    scales_from_zero = any(pool.autoscaling and not pool.count for pool in seen.pools)
    full = [pool for pool in seen.pools if pool.autoscaling and pool.count >= pool.most]
    at_most = seen.autoscaler is not None and scheduling.AT_MAX in seen.autoscaler.message
    at_most = at_most or (seen.autoscaler is not None and full and len(full) == len(seen.pools))
    limits = ", ".join(f"{pool.called} (at most {pool.most})" for pool in full) or "every matching pool"
    return {
        "unknown_pool": required if required and known and not any(pool.is_meant(required) for pool in known) else "",
        "known_pools": ", ".join(sorted(pool.called for pool in known)),
        "empty_pools": "" if has_place or any(pool.at_most for pool in seen.pools) else names,
        "unknown_from_zero": names if not seen.nodes and seen.resource not in ("", GPU_RESOURCE) and scales_from_zero else "",
        "at_most": limits if at_most else "",
    }


def _of_nodes(seen: _Seen) -> dict[str, Any]:
    broken = _all([node for node in seen.nodes if not node.is_ready], seen)
    closed = _all([node for node in seen.nodes if node.is_unschedulable], seen)
    silent = _all([node for node in seen.nodes if not any(node.gpus.values())], seen) if seen.resource else []
    pool = next((pool for pool in seen.case.around.pools if silent and pool.name == silent[0].pool), None)
    offered = sorted({name for node in seen.nodes for name, amount in node.gpus.items() if amount})
    most = max((node.gpus.get(seen.resource, 0) for node in seen.nodes), default=0)
    others = offered if seen.resource and seen.resource not in offered else []
    silent_nodes = f"the node {silent[0].name} has" if len(silent) == 1 else f"the {len(silent)} nodes with GPUs have"
    return {
        "broken_node": broken[0].name if broken else "",
        "broken_nodes": "the only node that could take it isn't"
        if len(broken) == 1
        else f"all {len(broken)} nodes that could take it aren't",
        "broken_reason": f"{broken[0].name}: {broken[0].not_ready}" if broken else "",
        "cordoned": f"{', '.join(node.name for node in closed)} {'is' if len(closed) == 1 else 'are'}" if closed else "",
        "cordoned_node": closed[0].name if closed else "",
        "pool_without_driver": pool.called if pool is not None and not pool.installs_driver else "",
        "silent_nodes": silent_nodes if silent else "",
        "other_names": ", ".join(others),
        "other_name": others[0] if others else "",
        "most": most,
        "is_too_many": seen.resource and most and seen.amount > most,
    }


def _of_reasons(seen: _Seen) -> dict[str, Any]:
    missing = [each.missing for each in seen.reasons if each.missing]
    short = next((each for each in missing if not each.startswith(("nvidia.com/", "amd.com/"))), "")
    total = sum(node.gpus.get(seen.resource, 0) for node in seen.nodes)
    adds = ", and no autoscaler adds a node" if seen.pools and not any(pool.autoscaling for pool in seen.pools) else ""
    in_use = f"all {total} of {seen.resource} are in use" if total else f"no node has a free {seen.resource}"
    required = ", ".join(f"{key}={value}" for key, value in seen.pod.node_selector.items())
    selects = f"no node has the required labels: {required}" if required else "no node matches its affinity"
    adds_none = " and the autoscaler adds none" if seen.autoscaler is not None else ""
    return {
        "no_free_gpu": f"{in_use}{adds}" if seen.resource in missing else "",
        "short_of": short,
        "short_of_what": {"cpu": "processors", "memory": "memory", "pods": "room for another pod"}.get(short, short),
        "wrong_selector": selects + adds_none if any(scheduling.WRONG_SELECTOR in each.text for each in seen.reasons) else "",
    }


def _all(nodes: list[NodeSeen], seen: _Seen) -> list[NodeSeen]:
    """These nodes, if they are all that could take the pod."""
    return nodes if len(nodes) == len(seen.nodes) else []


def _untolerated(seen: _Seen) -> Finding | None:
    """Every node with GPUs has a taint that the pod doesn't tolerate."""
    if not seen.resource and not seen.pod.pool:
        return None
    taints = [[taint for taint in node.taints if _speaks(taint)] for node in seen.nodes]
    taints += [[found for text in pool.taints if (found := taint_of(text)) is not None] for pool in seen.pools]
    missing = [[taint for taint in each if taint.effect in _HARD and not seen.pod.tolerates(taint)] for each in taints]
    if missing and all(missing):
        return _toleration(seen, min(missing, key=len))
    # A user of one namespace can't read nodes: then only the message counts.
    blind = not missing and seen.resource and seen.case.around.nodes is None
    if blind and any(each.is_taint for each in seen.reasons) and not any(each.missing for each in seen.reasons):
        return _toleration(seen, [each.taint for each in seen.reasons if each.taint is not None])
    return None


def _toleration(seen: _Seen, taints: list[Taint]) -> Finding:
    named = ", ".join(str(taint) for taint in taints) or "a taint"
    lines = "; ".join(
        "{"
        + f"key: {taint.key}, operator: {'Equal, value: ' + taint.value if taint.value else 'Exists'}"
        + (f", effect: {taint.effect}" if taint.effect else "")
        + "}"
        for taint in taints
    )
    where = f"the pool {seen.pod.pool}" if seen.pod.pool else "every pool with GPUs"
    return Finding(
        Cause.UNTOLERATED,
        f"nodes of {where} have the taint {named}, which this pod doesn't tolerate",
        f"add to the pod's `tolerations`: {lines}" if lines else "add a toleration of the node's taint to the pod",
        seen.evidence,
    )


def _failed_scale_up(seen: _Seen) -> Finding | None:
    """The autoscaler tried to add nodes, and Azure failed."""
    backs_off = seen.autoscaler is not None and scheduling.BACK_OFF in seen.autoscaler.message
    failed = [pool for pool in seen.pools if pool.provisioning == "Failed"]
    if not backs_off and not failed:
        return None
    messages = [
        f"{each.code}: {each.message}" if each.code else each.message
        for pool in seen.pools
        for each in seen.case.around.pool_refusals.get(pool.name, ())
    ]
    quota = table.first("quota", messages)
    if quota:
        return about("quota", quota)
    capacity = table.first("no capacity", messages)
    found = about("no capacity", capacity) if capacity else None
    pools = ", ".join(pool.called for pool in failed or seen.pools) or "its pool"
    return found or Finding(
        Cause.NO_CAPACITY,
        f"the pool {pools} got no more nodes; the autoscaler waits before it tries again",
        f"see why: {COMMAND} explain POOL; usual reasons: vCPU quota, or no free machine in the region",
        (*seen.evidence, *messages[:1]),
    )


def _holders(seen: _Seen) -> str:
    """The pods that hold the GPUs, as text."""
    names = {node.name for node in seen.nodes}
    held = [pod for pod in seen.case.around.holders if pod.gpus.get(seen.resource) and (not names or pod.node in names)]
    held = [pod for pod in held if not pod.is_over and pod.name != seen.pod.name]
    if not held:
        return ""
    shown = ", ".join(f"{pod.namespace}/{pod.name}" for pod in held[:4])
    return f" (by {shown}{f' and {len(held) - 4} more' if len(held) > 4 else ''})"


def _selected(pod: PodSeen, node: NodeSeen) -> bool:
    return all(node.labels.get(key) == value for key, value in pod.node_selector.items())


def _has_gpu(node: NodeSeen) -> bool:
    """By its size if known, else by its advertised resources, as on an edge."""
    size = SIZES.find(node.size) if node.size else None
    return bool(node.gpus) or (size is not None and size.gpu is not None)


def _speaks(taint: Taint) -> bool:
    """False for taints of nodes that aren't ready: these are temporary, or have a separate rule."""
    return taint.key not in _NOT_READY_TAINTS and not taint.key.startswith("node.kubernetes.io/")


Rule = Callable[[PodCase], Finding | None]
_SETTINGS = ("CreateContainerConfigError", "CreateContainerError", "InvalidImageName")
_ACR = (
    "give the identity of the cluster's kubelet the role AcrPull on the registry (`assign_roles: true` in the stack's file "
    "does), wait a minute until it takes effect; for another registry set a pull secret of the namespace"
)
_EDGE_PULL = "create a pull secret (`kubectl create secret docker-registry`) in the namespace, and set --pull-secret"


def explain(case: PodCase) -> Finding:
    return table.explain_surely(
        "pod", case.pod, {name: lambda _, rule=rule: rule(case) for name, rule in _RULES.items()}, _values(case)
    )


def failure(case: PodCase) -> Finding | None:
    """The failure; None if it runs, has run or is starting."""
    found = explain(case)
    return None if found.cause in (Cause.HEALTHY, Cause.STARTING, Cause.UNKNOWN) else found


def _values(case: PodCase) -> dict[str, Any]:
    """What rows of the table name beside the pod's attributes."""
    pod = case.pod
    node = next((each for each in case.around.nodes or () if each.name == pod.node), None)
    with_node = "DeletionByPodGC" in pod.disruption or "DeletionByTaintManager" in pod.disruption
    is_lost = node is not None and not node.is_ready and not pod.is_over
    end = f"{pod.reason}: {pod.message}".rstrip(": ")
    return {
        "end": end,
        "was_taken": pod.disruption and pod.phase != "Succeeded",
        "went_with_node": with_node,
        "went_with_spot": with_node and ((node is not None and node.is_spot) or _of_spot(case)),
        "is_refused_by_node": table.first("admission", (f"{pod.reason} {pod.message}",)),
        "lost_node": node.not_ready if node is not None and is_lost else "",
        "waits": any(each.state == "waiting" for each in pod.containers),
        "called_phase": pod.phase or "in no known state",
        "first_container": pod.containers[0].name if pod.containers else "",
        "last_two": [each.sentence for each in case.events[-2:]],
        "last_three": [each.sentence for each in case.events[-3:]],
    }


def _of_spot(case: PodCase) -> bool:
    """Whether its pool is Spot, if the node itself is gone."""
    return any(pool.is_spot and (pool.is_meant(case.pod.pool) or f"-{pool.name}-" in case.pod.node) for pool in case.around.pools)


def _settings(case: PodCase) -> Finding | None:
    for container in case.pod.containers:
        if container.state != "waiting" or container.reason not in _SETTINGS:
            continue
        missing = table.phrase("missing object").search(container.message)
        name = (missing["object"] or missing["holder"]) if missing else ""
        fix = f"create {name} in the namespace {case.pod.namespace}, or correct the name" if name else "correct it"
        if container.reason == "InvalidImageName":
            fix = "write it as registry/name:tag, in lower case"
        what = f"the container {container.name} can't be created from its definition"
        return Finding(Cause.SETTINGS, what, fix, (container.sentence,), container.name)
    return None


def _pull(case: PodCase) -> Finding | None:
    found = rules.pull(case.as_facts())
    if found is None or found.cause is not Cause.NO_RIGHT_TO_PULL:
        return found
    return found._replace(fix=_EDGE_PULL if case.around.is_edge else _ACR)


def _no_gpu_seen(case: PodCase) -> Finding | None:
    """A program without a GPU: it didn't ask for one, or its device plugin doesn't know of its sharing."""
    for container in case.pod.containers:
        matched = table.first("no GPU seen", case.logs.get(container.name, ()))
        code = container.last_exit_code if container.exit_code is None else container.exit_code
        if matched and code not in (None, 0) and not any(case.pod.gpus.values()):
            return Finding(
                Cause.PROGRAM_ERROR,
                f"the program in container {container.name} found no GPU: the pod doesn't request one",
                "request one: `resources.limits` with nvidia.com/gpu: 1 (operations run --gpus 1); on a device without a plugin, "
                "NVIDIA_VISIBLE_DEVICES",
                (matched.strip(),),
                container.name,
            )
    return None


def _crash_loop(case: PodCase) -> Finding | None:
    found = rules.crash_loop(case.as_facts())
    if found is None:
        return None
    fix = "see its last lines below; restartPolicy Never or OnFailure stops the restarts"
    return found._replace(fix=fix if "exit code 0 " not in found.what else "the program ends by itself: make it a Job")


def _volume(case: PodCase) -> Finding | None:
    if case.pod.phase != "Pending" or not case.pod.node:
        return None
    found = rules.volume(case.as_facts())
    fix = "check that the volume's source exists in this namespace; see `kubectl describe pod`"
    return found._replace(fix=fix) if found else None


_RULES: dict[str, Rule] = {
    "unplaced": unplaced,
    "settings": _settings,
    "pull": _pull,
    "volume": _volume,
    "no_gpu_seen": _no_gpu_seen,
    "crash_loop": _crash_loop,
    "probe": lambda case: rules.probe(case.as_facts()),
    "no_command": lambda case: rules.no_command(case.as_facts()),
    "gpu_memory": lambda case: rules.gpu_memory(case.as_facts()),
    "memory": lambda case: rules.memory(case.as_facts()),
    "program": lambda case: rules.program(case.as_facts()),
}
