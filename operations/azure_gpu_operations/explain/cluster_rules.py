"""Rules of code for AKS clusters, their pools and Jobs. The others are rows of `findings.yaml`. Pure."""

from typing import Any

from azure_gpu_operations import from_inside
from azure_gpu_operations.clusters.arm_facts import ClusterFacts
from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.clusters.objects import PodSeen
from azure_gpu_operations.explain import pod_rules, refusal_rules, table
from azure_gpu_operations.explain.cluster_facts import ClusterCase, JobCase
from azure_gpu_operations.explain.facts import Cause, Facts, Finding

_CHANGING = ("Creating", "Updating", "Upgrading", "Starting", "Scaling", "Deleting", "Stopping")


def explain(case: ClusterCase) -> Finding:
    return table.explain_surely("cluster", case, _RULES, _values(case))


def explain_job(case: JobCase) -> Finding:
    """Explains the newest pod of a Job, or why it has no pods."""
    values = {
        "pods": case.pods,
        "held": case.held,
        "refused": next(([each.message] for each in reversed(case.events) if each.reason == "FailedCreate" and each.message), []),
        "last_two": [each.sentence for each in case.events[-2:]],
    }
    return table.explain_surely("job of Kubernetes", case.job, {"pod": lambda _: _newest(case)}, values)


def _newest(case: JobCase) -> Finding | None:
    found = pod_rules.explain(case.pods[-1]) if case.pods else None
    if found is not None and found.cause is Cause.EVICTED and not case.job.failure:
        return found._replace(what=f"{found.what}; it has had {len(case.pods)} pods")
    return found


def unreachable(error: ClusterError, facts: Facts, of: ClusterFacts | None) -> Finding:
    """The API of a cluster that is there. `of`: None for an edge."""
    way_in = from_inside.of_cluster(of) if of is not None else ""
    values = {"is_refusal": error.is_refusal, "way_in": way_in, "kind": facts.kind.value, "text": error.reason}
    return table.explain_surely("cluster that doesn't answer", None, values=values)


def _values(case: ClusterCase) -> dict[str, Any]:
    """What rows of the table name beside the case's attributes."""
    nodes = [node for node in case.nodes if not case.pool or node.pool == case.pool]
    broken = [node for node in nodes if not node.is_ready]
    with_gpu = {pool.name for pool in case.shown_pools if pool.has_gpu}
    silent = [node for node in case.nodes if node.pool in with_gpu and node.is_ready and not any(node.gpus.values())]
    names = sorted({name for node in nodes for name in node.gpus})
    gpus = {name: sum(node.gpus.get(name, 0) for node in nodes) for name in names}
    states = [case.facts.provisioning if case.facts else "", *(pool.provisioning for pool in case.shown_pools)]
    silent_nodes = f"the node {silent[0].name} has" if len(silent) == 1 else f"{len(silent)} nodes have"
    return {
        "is_stopped": case.facts is not None and case.facts.is_stopped,
        "is_pool_stopped": case.pool and any(pool.power.lower() == "stopped" for pool in case.shown_pools),
        "cluster_name": case.id.rsplit("/", 1)[-1],
        "provisioning": case.facts.provisioning if case.facts else "",
        "failed_pool": next((pool.called for pool in case.shown_pools if pool.provisioning == "Failed"), ""),
        "broken": f"{len(broken)} of its nodes {'is' if len(broken) == 1 else 'are'}",
        "broken_node": broken[0].name if broken else "",
        "broken_reasons": [f"{each.name}: {each.not_ready}" for each in broken[:3]],
        "silent_nodes": silent_nodes if silent else "",
        "changing": next((each for each in states if each in _CHANGING), ""),
        "is_empty_pool": case.pool and case.shown_pools and not case.shown_pools[0].count,
        "gpus": ", ".join(f"{amount} of {name}" for name, amount in gpus.items() if amount),
    }


def _not_there(case: ClusterCase) -> Finding | None:
    return None if case.is_there else refusal_rules.absent(case.as_facts())


def _refused(case: ClusterCase) -> Finding | None:
    is_failed = case.facts is not None and case.facts.provisioning == "Failed"
    return _reason(case.as_facts()) if is_failed else None


def _refused_pool(case: ClusterCase) -> Finding | None:
    pool = next((pool for pool in case.shown_pools if pool.provisioning == "Failed"), None)
    found = _reason(case._replace(pool=pool.name).as_facts()) if pool else None
    return found._replace(what=f"pool {pool.called}: {found.what}") if pool and found else None


def _reason(facts: Facts) -> Finding | None:
    return refusal_rules.quota(facts) or refusal_rules.no_capacity(facts) or refusal_rules.other(facts)


def _silent(case: ClusterCase) -> Finding | None:
    """ARM answers, but the cluster's API doesn't."""
    if not case.silence:
        return None
    error = ClusterError(case.silence, 403 if case.denied else 0)
    return unreachable(error, case.as_facts(), case.facts)


def _waiting(case: ClusterCase) -> Finding | None:
    """The first waiting pod is explained, and the others are counted."""
    cases = [each for each in case.waiting if not case.pool or _is_of(case, each.pod)]
    found = [(each, pod_rules.failure(each)) for each in cases]
    bad = [(each, finding) for each, finding in found if finding is not None]
    if not bad:
        return None
    first, finding = bad[0]
    more = f" (and {_others(len(bad) - 1)})" if len(bad) > 1 else ""
    return finding._replace(what=f"pod {first.pod.namespace}/{first.pod.name}: {finding.what}{more}", container="")


def _is_of(case: ClusterCase, pod: PodSeen) -> bool:
    """Whether it is on a node of the pool, or can only run there: it selects the pool, or requests GPUs."""
    if pod.node:
        return any(node.name == pod.node and node.pool == case.pool for node in case.nodes)
    if pod.pool:
        return any(each.is_meant(pod.pool) for each in case.shown_pools)
    return any(pod.gpus.values()) and any(each.has_gpu for each in case.shown_pools)


def _others(count: int) -> str:
    return "1 more pod is blocked" if count == 1 else f"{count} more pods are blocked"


_RULES: dict[str, table.Rule] = {
    "not_there": _not_there,
    "refused": _refused,
    "refused_pool": _refused_pool,
    "silent": _silent,
    "waiting": _waiting,
}
