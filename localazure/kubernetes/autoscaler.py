"""The decisions of the cluster autoscaler: which pools get more nodes, for which pods, and which nodes aren't needed. Pure.

It returns `Increase`s, reasons for pods that nothing helps, and nodes to remove: those on which no pods but daemons run.
Behaviour: kubernetes/autoscaler, core/scaleup and core/scaledown. A pool without a node is known only by its size, so by
`nvidia.com/gpu` of whole GPUs; one with a ready node by that node. A node whose GPUs don't exist yet is awaited as long as a node
may take to come up.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from typing import NamedTuple

from localazure.kubernetes.autoscaler_views import GPU, MAX_EMPTY, NodeView, PodView, Profile, against, lasting_taints, sum_of
from localazure.kubernetes.node_templates import GPU_LABEL

MAX_REACHED = "max node group size reached"
IN_BACKOFF = "in backoff after failed scale-up"
SCALE_DOWN_DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
_DAEMON = "DaemonSet"
_MIRROR = "Node"


class PoolView(NamedTuple):
    """One pool that the autoscaler may change."""

    name: str
    vmss: str
    least: int
    most: int
    target: int  # nodes that it has, or that are on their way
    template: NodeView  # by its size
    backoff_until: datetime | None = None


class Increase(NamedTuple):
    """More nodes for one pool."""

    pool: PoolView
    nodes: int
    pods: tuple[PodView, ...]  # that triggered it

    def __str__(self) -> str:
        return f"{self.pool.vmss} {self.pool.target}->{self.pool.target + self.nodes} (max: {self.pool.most})"


class Refusal(NamedTuple):
    """A pod that no new node would help, and why: by reason, of how many pools."""

    pod: PodView
    reasons: Mapping[str, int]

    def __str__(self) -> str:
        return ", ".join(f"{count} {reason}" for reason, count in sorted(self.reasons.items(), key=lambda one: (-one[1], one[0])))


class Cluster(NamedTuple):
    """What there is at one moment."""

    nodes: Sequence[NodeView]
    pods: Sequence[PodView]  # that haven't ended
    pools: Sequence[PoolView]
    daemons: Sequence[PodView] = ()  # of DaemonSets, as their pods would be
    now: datetime = datetime.min

    def on(self, node: str) -> list[PodView]:
        return [pod for pod in self.pods if pod.node == node]


Choice = Callable[[Sequence[Increase]], Increase]  # the expander


def started(node: NodeView) -> bool:
    """Ready, and with its GPUs where it has some: a node without a device plugin isn't taken for ready, nor is one whose GPUs
    have another name."""
    return node.ready and (GPU_LABEL not in node.labels or node.allocatable.get(GPU, Fraction(0)) > 0)


def free_on(node: NodeView, pods: Sequence[PodView]) -> dict[str, Fraction]:
    used = sum_of(pods)
    return {name: amount - used.get(name, Fraction(0)) for name, amount in node.allocatable.items()}


def template_of(pool: PoolView, cluster: Cluster) -> tuple[NodeView, dict[str, Fraction]]:
    """What a new node of the pool would be, and what of it would be free: as a node that is there, else by the size."""
    alike = next((node for node in cluster.nodes if node.pool == pool.name and started(node) and not node.unschedulable), None)
    node = pool.template if alike is None else alike._replace(taints=lasting_taints(alike.taints), name=pool.template.name)
    daemons = [one for one in cluster.daemons if not against(one._replace(requests={}), node, {})]
    return node, free_on(node, daemons)


def pending(cluster: Cluster, profile: Profile) -> list[PodView]:
    """The pods for which the scheduler finds no node, and that don't fit onto what is there or on its way."""
    waiting = [
        pod
        for pod in cluster.pods
        if pod.pending_since is not None
        and pod.owner != _DAEMON
        and cluster.now - pod.pending_since >= profile["new-pod-scale-up-delay"]
    ]
    rooms = [(node, free_on(node, cluster.on(node.name))) for node in cluster.nodes if started(node)]
    for pool in cluster.pools:
        own = [node for node in cluster.nodes if node.pool == pool.name]
        coming = pool.target - len([node for node in own if started(node) or _late(node, cluster, profile)])
        rooms += [template_of(pool, cluster) for _ in range(max(0, coming))]
    left: list[PodView] = []
    for pod in sorted(waiting, key=_order):
        if not _put(pod, rooms):
            left.append(pod)
    return left


def _late(node: NodeView, cluster: Cluster, profile: Profile) -> bool:
    """It should have come up by now."""
    return node.created is not None and cluster.now - node.created > profile["max-node-provision-time"]


def _order(pod: PodView) -> tuple[object, ...]:
    return pod.pending_since or datetime.min, pod.namespace, pod.name


def _put(pod: PodView, rooms: Sequence[tuple[NodeView, dict[str, Fraction]]]) -> bool:
    for node, free in rooms:
        if not against(pod, node, free):
            for name, amount in pod.requests.items():
                free[name] = free.get(name, Fraction(0)) - amount
            return True
    return False


def scale_up(cluster: Cluster, profile: Profile, choose: Choice) -> tuple[list[Increase], list[Refusal]]:
    """More nodes for the pods that wait, one pool after the other until no pool helps."""
    left = pending(cluster, profile)
    pools = {pool.name: pool for pool in cluster.pools}
    increases: dict[str, Increase] = {}
    refusals: list[Refusal] = []
    while left:
        options: list[Increase] = []
        reasons: dict[str, dict[str, int]] = {pod.uid: {} for pod in left}
        for pool in pools.values():
            blocked = _blocked(pool, cluster.now)
            option = None if blocked else _estimate(pool, left, cluster, reasons)
            if blocked:
                for pod in left:
                    reasons[pod.uid][blocked] = reasons[pod.uid].get(blocked, 0) + 1
            if option is not None:
                options.append(option)
        if not options:
            refusals = [Refusal(pod, reasons[pod.uid]) for pod in left]
            break
        best = choose(options)
        before = increases.get(best.pool.name)
        first = before.pool if before else best.pool
        nodes = best.nodes + (before.nodes if before else 0)
        increases[best.pool.name] = Increase(first, nodes, (*(before.pods if before else ()), *best.pods))
        pools[best.pool.name] = best.pool._replace(target=best.pool.target + best.nodes)
        helped = {pod.uid for pod in best.pods}
        left = [pod for pod in left if pod.uid not in helped]
    return list(increases.values()), refusals


def _blocked(pool: PoolView, now: datetime) -> str:
    if pool.target >= pool.most:
        return MAX_REACHED
    if pool.backoff_until is not None and now < pool.backoff_until:
        return IN_BACKOFF
    return ""


def _estimate(pool: PoolView, left: Sequence[PodView], cluster: Cluster, reasons: dict[str, dict[str, int]]) -> Increase | None:
    """How many nodes of this pool the pods need, and which of them fit within the pool's most. None: it helps none."""
    node, free = template_of(pool, cluster)
    rooms: list[tuple[NodeView, dict[str, Fraction]]] = []
    helped: list[PodView] = []
    for pod in left:
        why = against(pod, node, free)
        if why:
            reasons[pod.uid][why] = reasons[pod.uid].get(why, 0) + 1
        elif _put(pod, rooms):
            helped.append(pod)
        elif pool.target + len(rooms) < pool.most:
            rooms.append((node, dict(free)))
            if _put(pod, rooms[-1:]):
                helped.append(pod)
    return Increase(pool, len(rooms), tuple(helped)) if helped else None


def unneeded(cluster: Cluster) -> list[NodeView]:
    """The nodes on which only daemons run, of pools with more than their minimum."""
    spare = {pool.name: pool.target - pool.least for pool in cluster.pools}
    found: list[NodeView] = []
    for node in sorted(cluster.nodes, key=lambda one: one.name):
        if spare.get(node.pool, 0) <= 0 or node.annotations.get(SCALE_DOWN_DISABLED) == "true":
            continue
        if all(pod.owner in (_DAEMON, _MIRROR) for pod in cluster.on(node.name)):
            spare[node.pool] -= 1
            found.append(node)
    return found


def removable(
    cluster: Cluster, profile: Profile, since: Mapping[str, datetime], last_added: datetime | None, last_failed: datetime | None
) -> list[NodeView]:
    """Those of the unneeded that have been so for long enough. `since`: by node, when it was first found unneeded."""
    if last_added is not None and cluster.now - last_added < profile["scale-down-delay-after-add"]:
        return []
    if last_failed is not None and cluster.now - last_failed < profile["scale-down-delay-after-failure"]:
        return []
    due = [
        node
        for node in unneeded(cluster)
        if node.name in since
        and cluster.now - since[node.name]
        >= (profile["scale-down-unneeded-time"] if started(node) else profile["scale-down-unready-time"])
    ]
    return due[: profile[MAX_EMPTY]]
