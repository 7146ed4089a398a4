"""Rules for the cause of a pod that no node takes, the most specific first; None for a pod with a node. Pure.

The scheduler's message counts nodes per reason without relating them; the nodes and pools themselves tell more.
"""

from collections.abc import Callable
from typing import NamedTuple

from azure_gpu.catalog.services.aks.device_plugin import GPU_RESOURCE
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.clusters import scheduling
from azure_gpu_operations.clusters.arm_facts import PoolFacts
from azure_gpu_operations.clusters.objects import EventSeen, NodeSeen, PodSeen, Taint, taint_of
from azure_gpu_operations.clusters.scheduling import Reason
from azure_gpu_operations.explain import kubernetes_phrases, phrases
from azure_gpu_operations.explain.cluster_facts import PodCase
from azure_gpu_operations.explain.facts import Cause, Finding
from azure_gpu_operations.explain.refusal_rules import capacity_finding, quota_finding

_HARD = ("NoSchedule", "NoExecute")


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
    return next((finding for rule in _RULES if (finding := rule(seen)) is not None), None) or _other(seen)


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


def _no_such_pool(seen: _Seen) -> Finding | None:
    required, known = seen.pod.pool, seen.case.around.pools
    if not required or not known or any(pool.is_meant(required) for pool in known):
        return None
    return Finding(
        Cause.NEVER_STARTS,
        f"it requires nodes of the pool {required}, which the cluster doesn't have",
        f"use one of {', '.join(sorted(pool.called for pool in known))}, or add this pool to the cluster",
        seen.evidence,
    )


def _empty_pool(seen: _Seen) -> Finding | None:
    """No node, and no autoscaler to add one."""
    if seen.nodes or not seen.pools or any(pool.at_most for pool in seen.pools):
        return None
    names = ", ".join(pool.called for pool in seen.pools)
    return Finding(
        Cause.NEVER_STARTS,
        f"the pool {names} has no nodes and can't scale up",
        "set its `max_nodes` in the stack's file, then `pulumi up`",
        seen.evidence,
    )


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


def _not_ready(seen: _Seen) -> Finding | None:
    broken = [node for node in seen.nodes if not node.is_ready]
    if not broken or len(broken) < len(seen.nodes):
        return None
    return Finding(
        Cause.NODE_NOT_READY,
        f"{'the only node' if len(broken) == 1 else f'all {len(broken)} nodes'} that could take it "
        f"{'isn' if len(broken) == 1 else 'aren'}'t ready",
        "a new node takes minutes; if it stays so: kubectl describe node " + broken[0].name,
        (*seen.evidence[:1], f"{broken[0].name}: {broken[0].not_ready}"),
    )


def _no_plugin(seen: _Seen) -> Finding | None:
    """Machines with GPUs on which nothing tells Kubernetes of them."""
    silent = [node for node in seen.nodes if not any(node.gpus.values())]
    if not seen.resource or not silent or len(silent) < len(seen.nodes):
        return None
    pool = next((pool for pool in seen.case.around.pools if pool.name == silent[0].pool), None)
    if pool is not None and not pool.installs_driver:
        what = f"the nodes of the pool {pool.called} have no GPU driver (gpuProfile.driver: None), so they advertise no GPU"
        fix = "install driver and plugin with NVIDIA's GPU operator, or recreate the pool with `driver: install`"
        return Finding(Cause.NO_PLUGIN, what, fix, seen.evidence)
    nodes = f"the node {silent[0].name} has" if len(silent) == 1 else f"the {len(silent)} nodes with GPUs have"
    return Finding(
        Cause.NO_PLUGIN,
        f"{nodes} GPUs, but no device plugin advertises {seen.resource} to Kubernetes",
        "install it (`device_plugin` of the cluster, on by default), and check that its pods run and tolerate the "
        "nodes' taints: kubectl get pods -A -l app.kubernetes.io/name=nvidia-device-plugin; on a new node it "
        "takes a minute",
        seen.evidence,
    )


def _other_name(seen: _Seen) -> Finding | None:
    """GPUs are there under another name: renamed where they are shared, or cut by MIG."""
    offered = {name for node in seen.nodes for name, amount in node.gpus.items() if amount}
    if not seen.resource or not offered or seen.resource in offered:
        return None
    names = ", ".join(sorted(offered))
    return Finding(
        Cause.OTHER_RESOURCE,
        f"it requests {seen.resource}, but the nodes advertise {names}",
        f"request {min(offered)} in `resources.limits`",
        seen.evidence,
    )


def _too_many(seen: _Seen) -> Finding | None:
    """More GPUs than any node has."""
    most = max((node.gpus.get(seen.resource, 0) for node in seen.nodes), default=0)
    if not seen.resource or not most or seen.amount <= most:
        return None
    return Finding(
        Cause.NEVER_STARTS,
        f"it requests {seen.amount} of {seen.resource}, but no node has more than {most}",
        f"request {most} or fewer, or use a pool of a size with more GPUs",
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
    quota = phrases.first(phrases.QUOTA, messages)
    if quota:
        return quota_finding(quota, "")
    capacity = phrases.first(phrases.NO_CAPACITY, messages)
    found = capacity_finding(capacity, "") if capacity else None
    pools = ", ".join(pool.called for pool in failed or seen.pools) or "its pool"
    return found or Finding(
        Cause.NO_CAPACITY,
        f"the pool {pools} got no more nodes; the autoscaler waits before it tries again",
        f"see why: {COMMAND} explain POOL; usual reasons: vCPU quota, or no free machine in the region",
        (*seen.evidence, *messages[:1]),
    )


def _not_from_zero(seen: _Seen) -> Finding | None:
    """The autoscaler models nodes of an empty pool by the machine's size, and knows one resource name for its GPUs."""
    if seen.nodes or seen.resource in ("", GPU_RESOURCE) or not any(pool.autoscaling and not pool.count for pool in seen.pools):
        return None
    names = ", ".join(pool.called for pool in seen.pools)
    return Finding(
        Cause.NOT_FROM_ZERO,
        f"the pool {names} has no nodes, and the cluster autoscaler doesn't know that a new one has {seen.resource}: for "
        f"empty pools it knows only {GPU_RESOURCE}",
        f"keep one node (`min_nodes: 1`), or use the name {GPU_RESOURCE}: MIG strategy single, sharing without rename",
        (*seen.evidence, "Azure/AKS issue 5161"),
    )


def _scaling(seen: _Seen) -> Finding | None:
    if seen.autoscaler is None or seen.autoscaler.reason != scheduling.TRIGGERED:
        return None
    what = "the autoscaler is adding a node, which takes minutes"
    return Finding(Cause.STARTING, what, "wait, then check again", seen.evidence)


def _at_most(seen: _Seen) -> Finding | None:
    full = [pool for pool in seen.pools if pool.autoscaling and pool.count >= pool.most]
    messages = seen.autoscaler is not None and scheduling.AT_MAX in seen.autoscaler.message
    if not messages and not (full and len(full) == len(seen.pools) and seen.autoscaler is not None):
        return None
    limits = ", ".join(f"{pool.called} (at most {pool.most})" for pool in full) or "every matching pool"
    return Finding(
        Cause.AT_MOST,
        f"all GPUs are in use and the autoscaler is at its limit: {limits}{_holders(seen)}"
        if seen.resource
        else f"the nodes are full and the autoscaler is at its limit: {limits}",
        "wait until one is free, or raise `max_nodes` of the pool in the stack's file, then `pulumi up`",
        seen.evidence,
    )


def _no_free_gpu(seen: _Seen) -> Finding | None:
    if not seen.resource or not any(each.missing == seen.resource for each in seen.reasons):
        return None
    total = sum(node.gpus.get(seen.resource, 0) for node in seen.nodes)
    has = f"all {total} of {seen.resource} are in use" if total else f"no node has a free {seen.resource}"
    adds = ", and no autoscaler adds a node" if seen.pools and not any(pool.autoscaling for pool in seen.pools) else ""
    return Finding(
        Cause.NO_FREE_GPU,
        f"{has}{adds}{_holders(seen)}",
        "wait until one is free, raise `max_nodes` of the pool, or share its GPUs (`sharing`)",
        seen.evidence,
    )


def _no_room(seen: _Seen) -> Finding | None:
    short = [each.missing for each in seen.reasons if each.missing and not each.missing.startswith(("nvidia.com/", "amd.com/"))]
    if not short:
        return None
    what = {"cpu": "processors", "memory": "memory", "pods": "room for another pod"}.get(short[0], short[0])
    return Finding(
        Cause.NO_ROOM,
        f"no matching node has enough {what} free",
        f"request less {short[0]}, enlarge the pool, or use a larger size",
        seen.evidence,
    )


def _cordoned(seen: _Seen) -> Finding | None:
    closed = [node.name for node in seen.nodes if node.is_unschedulable]
    if not closed or len(closed) < len(seen.nodes):
        return None
    what = f"{', '.join(closed)} {'is' if len(closed) == 1 else 'are'} cordoned, for example while being drained"
    return Finding(Cause.NODE_NOT_READY, what, f"kubectl uncordon {closed[0]}, unless it is being drained", seen.evidence)


def _selector(seen: _Seen) -> Finding | None:
    if not any(scheduling.WRONG_SELECTOR in each.text for each in seen.reasons):
        return None
    required = ", ".join(f"{key}={value}" for key, value in seen.pod.node_selector.items())
    what = f"no node has the required labels: {required}" if required else "no node matches its affinity"
    adds = " and the autoscaler adds none" if seen.autoscaler is not None else ""
    return Finding(Cause.NEVER_STARTS, what + adds, "correct its nodeSelector; `kubectl get nodes --show-labels`", seen.evidence)


def _other(seen: _Seen) -> Finding:
    what = "it can't be scheduled; see the scheduler's message below"
    return Finding(Cause.NEVER_STARTS, what, "fix the error named in the message", seen.evidence)


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
    return taint.key not in kubernetes_phrases.NOT_READY_TAINTS and not taint.key.startswith("node.kubernetes.io/")


_RULES: tuple[Callable[[_Seen], Finding | None], ...] = (
    _no_such_pool,
    _untolerated,
    _empty_pool,
    _not_ready,
    _cordoned,
    _no_plugin,
    _other_name,
    _too_many,
    _not_from_zero,
    _failed_scale_up,
    _scaling,
    _at_most,
    _no_free_gpu,
    _no_room,
    _selector,
)
