"""Finds a name in a stack's clusters and edges, a cluster, a pool, a Job or a pod, and reads it; returns facts and a finding.

What can't be read of its context is left out. A cluster that doesn't answer may hold the name: its finding is returned
separately, in case the name is found nowhere else.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from azure_gpu.kubernetes import worker_group
from azure_gpu_operations.azure import Arm, AzureError
from azure_gpu_operations.clusters import queues
from azure_gpu_operations.clusters.api import ClusterApi
from azure_gpu_operations.clusters.arm_facts import PoolFacts, cluster_of
from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.clusters.objects import NodeSeen, PodSeen, job_of, pod_of
from azure_gpu_operations.clusters.targets import ClusterTarget
from azure_gpu_operations.explain import activity_log, built_images, cluster_rules, pod_rules
from azure_gpu_operations.explain.cluster_facts import ClusterCase, JobCase, PodCase, PodContext
from azure_gpu_operations.explain.facts import Facts, Finding, Kind, Refusal
from azure_gpu_operations.observed import in_cluster
from azure_gpu_operations.run.on_cluster.outcome import GROUP
from azure_gpu_operations.stack_view import StackView

Explained = tuple[Facts, Finding]


def cluster(arm: Arm, place: ClusterTarget, pool: str = "") -> Explained:
    case = read_cluster(arm, place, pool)
    return case.as_facts(), cluster_rules.explain(case)


def named(
    arm: Arm, places: Sequence[ClusterTarget], name: str, view: StackView, planned: Callable[[str, str], str]
) -> tuple[Explained | None, Explained | None]:
    """`cluster`, `cluster/pool`, `job`, `pod`, `namespace/job`; a pool's bare name where only one cluster has it. And what a
    silent cluster is. `planned`: what AKS would call a cluster's pool that it doesn't have; "" where the stack has none."""
    for place in places:
        if place.name == name:
            return cluster(arm, place), None
    first, slash, rest = name.partition("/")
    for place in places:
        if slash and place.name == first and not place.is_edge:
            there = _pool(arm, place, rest)
            facts, finding = cluster(arm, place, there or planned(first, rest) or rest)
            return (facts if there else facts._replace(name=name), finding), None
    having = [(place, found) for place in places if not place.is_edge and not slash and (found := _pool(arm, place, name))]
    if len(having) == 1:
        return cluster(arm, *having[0]), None
    silent: Explained | None = None
    for place in places:
        try:
            found = _inside(arm, place, name, view)
        except ClusterError as error:
            silent = silent or _silent(arm, place, error)
            continue
        if found is not None:
            return found, None
    return None, silent


def _pool(arm: Arm, place: ClusterTarget, name: str) -> str:
    """The pool's name in AKS; "" if there is none."""
    found = [pool for pool in in_cluster.pools(arm, place.id) if pool.is_meant(name)]
    return next((pool.name for pool in found if pool.provisioning != "Deleting"), found[0].name if found else "")


def _inside(arm: Arm, place: ClusterTarget, name: str, view: StackView) -> Explained | None:
    with closing(in_cluster.api_of(arm, place)) as api:
        found = find(api, arm, place, name)
    if found is None:
        return None
    if isinstance(found, PodCase):
        case = _with_images(arm, found, view)
        return case.as_facts(), pod_rules.explain(case)
    pods = (*found.pods[:-1], *(_with_images(arm, each, view) for each in found.pods[-1:]))
    job: JobCase = found._replace(pods=pods)
    return job.as_facts(), cluster_rules.explain_job(job)


def _with_images(arm: Arm, case: PodCase, view: StackView) -> PodCase:
    """Adds the registry's images: an existing image that can't be pulled means a missing right."""
    if not view.registry or case.pod.phase != "Pending":
        return case
    known = built_images.added(arm, case.as_facts(), view.registry)
    return case._replace(around=case.around._replace(built=known.built, server=known.server))


def _silent(arm: Arm, place: ClusterTarget, error: ClusterError) -> Explained:
    body = in_cluster.body(arm, place.id) if place.id else None
    facts = Facts(place.name, Kind.CLUSTER, place.id or str(place.kubeconfig))
    found = cluster_of(body) if body is not None else None
    if place.id and (found is None or found.is_stopped):
        return cluster(arm, place)
    return facts, cluster_rules.unreachable(error, facts, found)


LAST_LINES = 15
MOST_WAITING = 20  # pods that are read with their events


def read_cluster(arm: Arm, place: ClusterTarget, pool: str = "") -> ClusterCase:
    case = ClusterCase(place.name, place.id, pool=pool, is_edge=place.is_edge)
    if not place.is_edge:
        body = in_cluster.body(arm, place.id)
        pools = in_cluster.pools(arm, place.id) if body is not None else ()
        case = case._replace(
            facts=cluster_of(body) if body is not None else None,
            pools=pools,
            refusals=activity_log.of_resource(arm, place.id),
            pool_refusals=_refusals(arm, pools, pool),
        )
        if pool and not case.shown_pools:
            refusals = activity_log.of_resource(arm, f"{place.id}/agentPools/{pool}")
            return case._replace(pool_refusals={pool: refusals})
        if case.facts is None or case.facts.is_stopped:
            return case
    try:
        with closing(in_cluster.api_of(arm, place)) as api:
            return _with_objects(api, case)
    except ClusterError as error:
        return case._replace(silence=error.reason, denied=error.is_refusal)


def find(api: ClusterApi, arm: Arm, place: ClusterTarget, name: str) -> JobCase | PodCase | None:
    """A Job or a pod of this name: in the place's namespace, else in any that may be read. `NAMESPACE/NAME` names one."""
    namespace, slash, last = name.partition("/")
    if slash:
        return _in_namespace(api, arm, place, namespace, last)
    found = _in_namespace(api, arm, place, place.namespace, name)
    if found is not None:
        return found
    field = {"fieldSelector": f"metadata.name={name}"}
    for path in ("/apis/batch/v1/jobs", "/api/v1/pods"):
        there: list[dict[str, Any]] = _or_none(lambda path=path: api.items(path, **field)) or []
        if there:
            return _in_namespace(api, arm, place, str(there[0]["metadata"]["namespace"]), name)
    return None


def _in_namespace(api: ClusterApi, arm: Arm, place: ClusterTarget, namespace: str, name: str) -> JobCase | PodCase | None:
    body = api.get(f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}")
    if body is not None:
        return _job(api, arm, place, body)
    body = _or_none(lambda: api.get(f"{GROUP.path(namespace)}/{name}"))
    if body is not None:
        return _group(api, arm, place, namespace, name, body)
    body = api.get(f"/api/v1/namespaces/{namespace}/pods/{name}")
    return _pod(api, pod_of(body), _around(api, arm, place)) if body is not None else None


def _job(api: ClusterApi, arm: Arm, place: ClusterTarget, body: dict[str, Any]) -> JobCase:
    job = job_of(body)
    pods = in_cluster.pods_of(api, job.namespace, job.name)
    around = _around(api, arm, place) if pods else PodContext()
    if worker_group.NAME_LABEL in job.labels:  # all workers wait for the one that doesn't run, or ended by the one that failed
        pods = sorted(pods, key=lambda pod: (pod.phase == "Failed", not pod.node))
    # Only the last is explained; of the others it counts that they were.
    cases = [PodCase(pod, around=around) for pod in pods[:-1]] + [_pod(api, pod, around) for pod in pods[-1:]]
    held = queues.held(api, job.namespace, job.labels.get(worker_group.NAME_LABEL) or job.name) if not pods else ""
    return JobCase(job, _events(api, job.namespace, job.name), tuple(cases), held)


def _group(api: ClusterApi, arm: Arm, place: ClusterTarget, namespace: str, name: str, body: dict[str, Any]) -> JobCase:
    """A worker group, by the Job of its workers if there is one."""
    own = api.get(f"/apis/batch/v1/namespaces/{namespace}/jobs/{GROUP.job_name(name)}")
    if own is not None:
        return _job(api, arm, place, own)
    return JobCase(GROUP.seen(body), _events(api, namespace, name), (), queues.held(api, namespace, name))


def _pod(api: ClusterApi, pod: PodSeen, around: PodContext) -> PodCase:
    logs = {each.name: _log(api, pod, each.name, previous=each.state == "waiting") for each in pod.containers if _wrote(each)}
    return PodCase(pod, _events(api, pod.namespace, pod.name), logs, around)


def _wrote(container: Any) -> bool:
    return container.began is not None or container.restarts > 0


def _log(api: ClusterApi, pod: PodSeen, container: str, *, previous: bool) -> tuple[str, ...]:
    """The last lines; none if the node is gone or doesn't answer."""
    lines = _or_none(lambda: list(api.log(pod.namespace, pod.name, container, tail=LAST_LINES, previous=previous)))
    return tuple(line.partition(" ")[2] for line in lines or [])


def _events(api: ClusterApi, namespace: str, name: str) -> Any:
    return _or_none(lambda: in_cluster.events(api, namespace, name)) or ()


def _around(api: ClusterApi, arm: Arm, place: ClusterTarget) -> PodContext:
    nodes: tuple[NodeSeen, ...] | None = _or_none(lambda: in_cluster.nodes(api))
    pods: list[PodSeen] = _or_none(lambda: in_cluster.pods(api)) or []
    pools: tuple[PoolFacts, ...] = ()
    if not place.is_edge:
        try:
            pools = in_cluster.pools(arm, place.id)
        except AzureError:
            pools = ()
    return PodContext(
        nodes=nodes,
        pools=pools,
        holders=_holders(pods),
        pool_refusals=_refusals(arm, pools),
        is_edge=place.is_edge,
    )


def _refusals(arm: Arm, pools: tuple[PoolFacts, ...], only: str = "") -> dict[str, tuple[Refusal, ...]]:
    """The rejections of failed pools, and of the requested one."""
    relevant = [pool for pool in pools if pool.provisioning == "Failed" or pool.name == only]
    return {pool.name: activity_log.of_resource(arm, pool.id) for pool in relevant}


def _with_objects(api: ClusterApi, case: ClusterCase) -> ClusterCase:
    nodes, pods = in_cluster.nodes(api), in_cluster.pods(api)
    around = PodContext(
        nodes=nodes,
        pools=case.pools,
        holders=_holders(pods),
        pool_refusals=case.pool_refusals,
        is_edge=case.is_edge,
    )
    waiting = [pod for pod in pods if pod.phase == "Pending" and not pod.is_leaving][:MOST_WAITING]
    cases = tuple(PodCase(pod, _events(api, pod.namespace, pod.name), around=around) for pod in waiting)
    return case._replace(nodes=nodes, waiting=cases)


def _holders(pods: list[PodSeen]) -> tuple[PodSeen, ...]:
    """Pods that hold GPUs."""
    return tuple(pod for pod in pods if pod.node and any(pod.gpus.values()))


def _or_none(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except ClusterError:
        return None
