"""Rules for the cause of a failed or blocked AKS cluster, pool or Job, tried in order; one always matches. Pure."""

from collections.abc import Callable

from azure_gpu_operations.clusters.arm_facts import PoolFacts
from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.clusters.objects import PodSeen
from azure_gpu_operations.explain import pod_rules, refusal_rules, table
from azure_gpu_operations.explain.cluster_facts import ClusterCase, JobCase
from azure_gpu_operations.explain.facts import Cause, Facts, Finding

Rule = Callable[[ClusterCase], Finding | None]
_RIGHTS = (
    "request the role Azure Kubernetes Service RBAC Reader on the cluster to read, RBAC Writer to run jobs: "
    "az role assignment create --scope CLUSTER --assignee-object-id YOU --role '…'; it takes minutes to take effect"
)
_CHANGING = ("Creating", "Updating", "Upgrading", "Starting", "Scaling", "Deleting", "Stopping")


def explain(case: ClusterCase) -> Finding:
    return next(finding for rule in RULES if (finding := rule(case)) is not None)


def explain_job(case: JobCase) -> Finding:
    """Explains the newest pod of a Job, or why it has no pods."""
    job = case.job
    if job.is_complete:
        return Finding(Cause.HEALTHY, "it succeeded", "nothing to do")
    refused = next((each.message for each in reversed(case.events) if each.reason == "FailedCreate"), "")
    if refused and not job.active:
        return _no_pods(refused)
    if job.failure == "DeadlineExceeded":
        fix = "set a longer activeDeadlineSeconds (--timeout), or save checkpoints and resume"
        what = "it reached its time limit and was stopped" if case.pods else "it reached its time limit; its pods are deleted"
        return Finding(Cause.TIMEOUT, what, fix, (job.failure_message,) if job.failure_message else ())
    if case.held and not job.failure:
        fix = "wait until other jobs end, request less, or raise `gpus` of the queue in the stack's file, then `pulumi up`"
        return Finding(Cause.QUOTA, "its queue hasn't admitted it yet; it starts when all of it fits", fix, (case.held,))
    if job.is_suspended:
        return Finding(
            Cause.STARTING, "it is suspended, so it creates no pods", "resume it with kubectl patch, or through its queue"
        )
    if case.pods:
        found = pod_rules.explain(case.pods[-1])
        if found.cause is Cause.EVICTED and not job.failure:
            return found._replace(what=f"{found.what}; it has had {len(case.pods)} pods")
        return found
    if job.failure:
        fix = "start it again, and check while its pods exist"
        return Finding(Cause.UNKNOWN, f"it failed ({job.failure}), and its pods are deleted", fix, (job.failure_message,))
    return Finding(
        Cause.STARTING, "it has no pod yet", "wait, then check again", tuple(each.sentence for each in case.events[-2:])
    )


def _no_pods(refused: str) -> Finding:
    quota = table.phrase("object quota").search(refused)
    if quota:
        return Finding(
            Cause.QUOTA,
            f"the quota {quota['quota']} of its namespace is used up, so no pod is created for it",
            "wait until another job ends, or raise `max_gpus` of the namespace in the stack's file, then `pulumi up`",
            (refused,),
        )
    if table.phrase("pod security").search(refused):
        fix = "remove what the message names, or run it in a namespace with a less strict `pod-security.kubernetes.io/enforce`"
        return Finding(Cause.REFUSED, "the namespace rejects pods with these privileges", fix, (refused,))
    return Finding(Cause.REFUSED, "the cluster rejects its pods", "fix the error named in the message", (refused,))


def unreachable(error: ClusterError, facts: Facts, *, is_private: bool) -> Finding:
    """The API of a cluster that is there."""
    if error.is_refusal:
        return Finding(Cause.NO_RIGHTS, "this login can't read the cluster", _RIGHTS, (str(error),))
    fix = "check that it is reachable from here: its network, a firewall, `authorized_ranges` of its `access`"
    if is_private:
        fix = "it is private: connect from its network or a VPN; az aks command invoke works without one"
    return Finding(Cause.UNREACHABLE, f"the API of the {facts.kind.value} doesn't answer", fix, (str(error),))


def _not_there(case: ClusterCase) -> Finding | None:
    if case.is_there:
        return None
    facts = case.as_facts()
    return refusal_rules.first(facts) or refusal_rules.not_there(facts.kind.value)


def _stopped(case: ClusterCase) -> Finding | None:
    if case.facts is not None and case.facts.is_stopped:
        return Finding(
            Cause.CLUSTER_STOPPED,
            "the cluster is stopped: it has no nodes, no API and no running workloads",
            f"start it: az aks start --ids {case.id}",
        )
    stopped = [pool for pool in case.shown_pools if pool.power.lower() == "stopped"]
    if case.pool and stopped:
        fix = f"start it: az aks nodepool start --nodepool-name {case.pool} --cluster-name {case.id.rsplit('/', 1)[-1]}"
        return Finding(Cause.STOPPED, "the pool is stopped: it has no nodes", fix)
    return None


def _cluster_failed(case: ClusterCase) -> Finding | None:
    if case.facts is None or case.facts.provisioning != "Failed":
        return None
    found = _refused(case.as_facts())
    return found or Finding(
        Cause.REFUSED,
        "the last update of the cluster failed; the activity log has no reason",
        "run `pulumi up` again; for details: az aks show --query provisioningState,powerState --ids " + case.id,
    )


def _pool_failed(case: ClusterCase) -> Finding | None:
    for pool in case.shown_pools:
        if pool.provisioning == "Failed":
            return _of_pool(case, pool)
    return None


def _of_pool(case: ClusterCase, pool: PoolFacts) -> Finding:
    facts = case._replace(pool=pool.name).as_facts()
    found = _refused(facts)
    if found is not None:
        return found._replace(what=f"pool {pool.called}: {found.what}")
    return Finding(
        Cause.REFUSED,
        f"the last update of the pool {pool.called} failed; the activity log has no reason",
        "run `pulumi up` again; usual reasons: vCPU quota, or no free machine in the region",
    )


def _refused(facts: Facts) -> Finding | None:
    found = (rule(facts) for rule in (refusal_rules.quota, refusal_rules.no_capacity, refusal_rules.other))
    return next((each for each in found if each is not None), None)


def _silent(case: ClusterCase) -> Finding | None:
    """ARM answers, but the cluster's API doesn't."""
    if not case.silence:
        return None
    error = ClusterError(case.silence, 403 if case.denied else 0)
    return unreachable(error, case.as_facts(), is_private=bool(case.facts and case.facts.is_private))


def _changing(case: ClusterCase) -> Finding | None:
    states = [case.facts.provisioning if case.facts else "", *(pool.provisioning for pool in case.shown_pools)]
    found = next((each for each in states if each in _CHANGING), "")
    return Finding(Cause.STARTING, f"it is being updated ({found})", "wait, then check again") if found else None


def _nodes(case: ClusterCase) -> Finding | None:
    broken = [node for node in case.nodes if not node.is_ready and (not case.pool or node.pool == case.pool)]
    if not broken:
        return None
    what = f"{len(broken)} of its nodes {'is' if len(broken) == 1 else 'are'} not ready"
    fix = f"a new node takes minutes; if it stays so: kubectl describe node {broken[0].name}"
    return Finding(Cause.NODE_NOT_READY, what, fix, tuple(f"{each.name}: {each.not_ready}" for each in broken[:3]))


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


def _no_plugin(case: ClusterCase) -> Finding | None:
    """Found even if no pod has requested a GPU yet."""
    with_gpu = {pool.name for pool in case.shown_pools if pool.has_gpu}
    silent = [node for node in case.nodes if node.pool in with_gpu and node.is_ready and not any(node.gpus.values())]
    if not silent:
        return None
    return Finding(
        Cause.NO_PLUGIN,
        f"the node {silent[0].name} has GPUs, but no device plugin advertises them to Kubernetes"
        if len(silent) == 1
        else f"{len(silent)} nodes have GPUs, but no device plugin advertises them to Kubernetes",
        "install NVIDIA's device plugin (`device_plugin` of the cluster, on by default), and check that its pods "
        "run: kubectl get pods -A -l app.kubernetes.io/name=nvidia-device-plugin",
    )


def _healthy(case: ClusterCase) -> Finding:
    gpus: dict[str, int] = {}
    for node in case.nodes:
        if not case.pool or node.pool == case.pool:
            for name, amount in node.gpus.items():
                gpus[name] = gpus.get(name, 0) + amount
    has = ", ".join(f"{amount} of {name}" for name, amount in sorted(gpus.items()) if amount)
    what = f"it is running, no problem found; its nodes offer {has}" if has else "it is running; no problem found"
    if case.pool and case.shown_pools and not case.shown_pools[0].count:
        what = "it has no nodes and costs nothing; the autoscaler adds one when a pod requests it"
    return Finding(Cause.HEALTHY, what, "nothing to do")


RULES: tuple[Rule, ...] = (
    _not_there,
    _stopped,
    _cluster_failed,
    _pool_failed,
    _silent,
    _waiting,
    _nodes,
    _no_plugin,
    _changing,
    _healthy,
)
