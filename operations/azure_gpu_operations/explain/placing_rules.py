"""Why no node takes a pod: one rule a cause, asked in order, the most telling first.

In: a `PodCase` of a pod without a node. Out: a `Finding`, None for a pod that has one. Pure. The scheduler's message counts nodes
and reasons and says which belong together nowhere; what the nodes and pools themselves are does.
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
    """A pod that waits, with what bears on it."""

    case: PodCase
    resource: str  # of GPUs that it asks for; "": none
    amount: int
    reasons: tuple[Reason, ...]
    told: EventSeen | None  # the autoscaler's last word
    nodes: tuple[
        NodeSeen, ...
    ]  # where it may go by its own words: those of its pool, of all pools with GPUs where it asks for one
    pools: tuple[PoolFacts, ...]  # likewise

    @property
    def pod(self) -> PodSeen:
        return self.case.pod

    @property
    def evidence(self) -> tuple[str, ...]:
        told = f"{self.told.reason}: {self.told.message}" if self.told is not None else ""
        return tuple(text for text in (self.pod.unschedulable, told) if text)


def unplaced(case: PodCase) -> Finding | None:
    pod = case.pod
    if pod.node or pod.is_over or not (pod.unschedulable or pod.gated):
        return None
    if pod.gated:
        what = "the scheduler is told to leave it alone until somebody lets it go, as a queue such as Kueue does"
        return Finding(Cause.STARTING, what, "see what holds its scheduling gates", (pod.gated,))
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
    wanted, known = seen.pod.pool, seen.case.around.pools
    if not wanted or not known or any(pool.is_meant(wanted) for pool in known):
        return None
    return Finding(
        Cause.NEVER_STARTS,
        f"it may run on nodes of the pool {wanted} alone, and the cluster has no such pool",
        f"name one of {', '.join(sorted(pool.called for pool in known))}, or give the cluster this pool",
        seen.evidence,
    )


def _empty_pool(seen: _Seen) -> Finding | None:
    """No node, and nobody who would add one."""
    if seen.nodes or not seen.pools or any(pool.at_most for pool in seen.pools):
        return None
    names = ", ".join(pool.called for pool in seen.pools)
    return Finding(
        Cause.NEVER_STARTS,
        f"the pool {names} has no node, and may have none",
        "give it `max_nodes` in the stack's file, then `pulumi up`",
        seen.evidence,
    )


def _untolerated(seen: _Seen) -> Finding | None:
    """Every node with GPUs keeps off pods that don't say that they want to be there."""
    if not seen.resource and not seen.pod.pool:
        return None
    taints = [[taint for taint in node.taints if _speaks(taint)] for node in seen.nodes]
    taints += [[found for text in pool.taints if (found := taint_of(text)) is not None] for pool in seen.pools]
    missing = [[taint for taint in each if taint.effect in _HARD and not seen.pod.tolerates(taint)] for each in taints]
    if missing and all(missing):
        return _toleration(seen, min(missing, key=len))
    # A user of one namespace sees no nodes: then the message alone speaks.
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
        f"nodes of {where} have the taint {named}, which keeps off pods that don't tolerate it, and this one doesn't",
        f"give the pod under `tolerations`: {lines}" if lines else "give the pod a toleration of the node's taint",
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
        "a new node takes minutes; where it stays so: kubectl describe node " + broken[0].name,
        (*seen.evidence[:1], f"{broken[0].name}: {broken[0].not_ready}"),
    )


def _no_plugin(seen: _Seen) -> Finding | None:
    """Machines with GPUs on which nothing tells Kubernetes of them."""
    silent = [node for node in seen.nodes if not any(node.gpus.values())]
    if not seen.resource or not silent or len(silent) < len(seen.nodes):
        return None
    pool = next((pool for pool in seen.case.around.pools if pool.name == silent[0].pool), None)
    if pool is not None and not pool.installs_driver:
        what = f"the nodes of the pool {pool.called} get no GPU driver from AKS (gpuProfile.driver: None), so no GPU shows"
        fix = "install driver and plugin by NVIDIA's GPU operator, or make the pool anew with `driver: install`"
        return Finding(Cause.NO_PLUGIN, what, fix, seen.evidence)
    nodes = f"the node {silent[0].name} has" if len(silent) == 1 else f"the {len(silent)} nodes with GPUs have"
    return Finding(
        Cause.NO_PLUGIN,
        f"{nodes} GPUs, and no device plugin that tells Kubernetes of them: there is no {seen.resource} in the cluster",
        "let the stack install it (`device_plugin` of the cluster; it is by default), and see that its pods run and tolerate the "
        "nodes' taints: kubectl get pods -A -l app.kubernetes.io/name=nvidia-device-plugin; on a node that has just come it "
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
        f"it asks for {seen.resource}, and the nodes call their GPUs {names}",
        f"ask for {min(offered)} under `resources.limits`",
        seen.evidence,
    )


def _too_many(seen: _Seen) -> Finding | None:
    """More than one node has, and than one ever will."""
    most = max((node.gpus.get(seen.resource, 0) for node in seen.nodes), default=0)
    if not seen.resource or not most or seen.amount <= most:
        return None
    return Finding(
        Cause.NEVER_STARTS,
        f"it asks for {seen.amount} of {seen.resource}, and no node has more than {most}; a pod gets all from one node",
        f"ask for {most} or fewer, or take a pool of a size with more GPUs",
        seen.evidence,
    )


def _failed_scale_up(seen: _Seen) -> Finding | None:
    """The autoscaler tried, and Azure gave nothing."""
    backs_off = seen.told is not None and scheduling.BACK_OFF in seen.told.message
    failed = [pool for pool in seen.pools if pool.provisioning == "Failed"]
    if not backs_off and not failed:
        return None
    said = [
        f"{each.code}: {each.message}" if each.code else each.message
        for pool in seen.pools
        for each in seen.case.around.pool_refusals.get(pool.name, ())
    ]
    quota = phrases.first(phrases.QUOTA, said)
    if quota:
        return quota_finding(quota, "")
    capacity = phrases.first(phrases.NO_CAPACITY, said)
    found = capacity_finding(capacity, "") if capacity else None
    pools = ", ".join(pool.called for pool in failed or seen.pools) or "its pool"
    return found or Finding(
        Cause.NO_CAPACITY,
        f"the pool {pools} could get no more nodes, and the autoscaler waits before it tries again",
        f"see why: {COMMAND} explain POOL; the usual reasons are the quota of vCPUs and no free machine in the region",
        (*seen.evidence, *said[:1]),
    )


def _not_from_zero(seen: _Seen) -> Finding | None:
    """The autoscaler builds its picture of a node that isn't there from the machine's size, and knows one name for its GPUs."""
    if seen.nodes or seen.resource in ("", GPU_RESOURCE) or not any(pool.autoscaling and not pool.count for pool in seen.pools):
        return None
    names = ", ".join(pool.called for pool in seen.pools)
    return Finding(
        Cause.NOT_FROM_ZERO,
        f"the pool {names} has no node, and the cluster autoscaler doesn't know that a new one would have {seen.resource}: of "
        f"nodes that aren't there it knows {GPU_RESOURCE} alone",
        f"keep one node (`min_nodes: 1`), or let the GPUs be called {GPU_RESOURCE}: MIG strategy single, sharing without rename",
        (*seen.evidence, "Azure/AKS issue 5161"),
    )


def _scaling(seen: _Seen) -> Finding | None:
    if seen.told is None or seen.told.reason != scheduling.TRIGGERED:
        return None
    what = "the autoscaler has asked for a node, which takes minutes to come"
    return Finding(Cause.STARTING, what, "wait, then ask again", seen.evidence)


def _at_most(seen: _Seen) -> Finding | None:
    full = [pool for pool in seen.pools if pool.autoscaling and pool.count >= pool.most]
    said = seen.told is not None and scheduling.AT_MAX in seen.told.message
    if not said and not (full and len(full) == len(seen.pools) and seen.told is not None):
        return None
    limits = ", ".join(f"{pool.called} (at most {pool.most})" for pool in full) or "every pool that could take it"
    return Finding(
        Cause.AT_MOST,
        f"all GPUs are in use and the autoscaler may add no node: {limits}{_holders(seen)}"
        if seen.resource
        else f"the nodes are full and the autoscaler may add none: {limits}",
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
        "wait until one is free, let the pool have more nodes (`max_nodes`), or share its GPUs (`sharing`)",
        seen.evidence,
    )


def _no_room(seen: _Seen) -> Finding | None:
    short = [each.missing for each in seen.reasons if each.missing and not each.missing.startswith(("nvidia.com/", "amd.com/"))]
    if not short:
        return None
    what = {"cpu": "processors", "memory": "memory", "pods": "room for another pod"}.get(short[0], short[0])
    return Finding(
        Cause.NO_ROOM,
        f"no node that it may run on has enough {what} free",
        f"ask for less {short[0]}, let the pool have more nodes, or take a larger size",
        seen.evidence,
    )


def _cordoned(seen: _Seen) -> Finding | None:
    closed = [node.name for node in seen.nodes if node.is_unschedulable]
    if not closed or len(closed) < len(seen.nodes):
        return None
    what = (
        f"{', '.join(closed)} {'is' if len(closed) == 1 else 'are'} closed to new pods (cordoned), as nodes that are drained are"
    )
    return Finding(Cause.NODE_NOT_READY, what, f"kubectl uncordon {closed[0]}, where nobody drains it", seen.evidence)


def _selector(seen: _Seen) -> Finding | None:
    if not any(scheduling.WRONG_SELECTOR in each.text for each in seen.reasons):
        return None
    wanted = ", ".join(f"{key}={value}" for key, value in seen.pod.node_selector.items())
    what = f"no node has the labels that it asks for: {wanted}" if wanted else "no node fits its affinity"
    adds = " and the autoscaler adds none" if seen.told is not None else ""
    return Finding(Cause.NEVER_STARTS, what + adds, "correct its nodeSelector; `kubectl get nodes --show-labels`", seen.evidence)


def _other(seen: _Seen) -> Finding:
    what = "no node takes it, and what the scheduler says of it is below"
    return Finding(Cause.NEVER_STARTS, what, "correct what the message names", seen.evidence)


def _holders(seen: _Seen) -> str:
    """Who has the GPUs, in a few words."""
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
    """By its size, where that is known; by what is advertised on it elsewhere, as on an edge."""
    size = SIZES.find(node.size) if node.size else None
    return bool(node.gpus) or (size is not None and size.gpu is not None)


def _speaks(taint: Taint) -> bool:
    """Not of a node that isn't ready: that passes, or has a rule of its own."""
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
