"""Rows of `running` for clusters: control plane, nodes of each pool, and jobs.

The cost of a job is that of its node. Nodes of an unreachable cluster are listed too, from ARM.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

from azure_gpu.catalog.services.aks.clusters import USD_HOUR
from azure_gpu.formats.dates import instant
from azure_gpu.kubernetes import worker_group
from azure_gpu_operations.azure import Arm, AzureError
from azure_gpu_operations.clusters import connect
from azure_gpu_operations.clusters.arm_facts import ClusterFacts, cluster_of
from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.clusters.objects import JobSeen, NodeSeen, PodSeen, by_age, job_of
from azure_gpu_operations.clusters.prices import pool_price
from azure_gpu_operations.observed import in_cluster
from azure_gpu_operations.running_report import JOB_IN_CLUSTER, Row, end_of

CLUSTER, POOL = "AKS cluster", "AKS pool"
_SYSTEM = ("kube-system", "gpu-resources", "gatekeeper-system")


def of_cluster(arm: Arm, cluster_id: str, name: str) -> Iterator[Row]:
    """Nothing for a cluster that is gone or stopped; a stopped one costs only its disks."""
    body = in_cluster.body(arm, cluster_id)
    if body is None:
        return
    facts = cluster_of(body)
    if facts.is_stopped:
        return
    end = end_of(facts.tags)
    inside = _inside(arm, facts)
    state = f"{facts.provisioning}, Kubernetes {facts.version}".strip(", ")
    since = instant((body.get("systemData") or {}).get("createdAt"))
    yield Row(name, CLUSTER, state, cluster_id, since=since, expires_at=end, usd_hour=USD_HOUR.get(facts.tier))
    for pool in in_cluster.pools(arm, cluster_id):
        if pool.count:
            price = pool_price(pool, facts.location)
            began = [node.created for node in inside.nodes if node.pool == pool.name and node.created]
            words = _nodes(pool.count, pool.size, pool.is_spot)
            usd = price.usd_hour * pool.count if price else None
            yield Row(f"{name}/{pool.called}", POOL, words, pool.id, since=min(began, default=None), expires_at=end, usd_hour=usd)
    for job in inside.jobs:
        if job.namespace not in _SYSTEM and not job.is_over:
            of_job = by_age(pod for pod in inside.pods if pod.job == job.name and pod.namespace == job.namespace)
            place = f"{facts.id}/namespaces/{job.namespace}/jobs/{job.name}"
            state = _state(job, of_job)
            called = job.labels.get(worker_group.NAME_LABEL) or job.name  # of a group, which is stopped and explained by it
            yield Row(f"{name}/{called}", JOB_IN_CLUSTER, state, place, since=job.began, expires_at=end, counted=False)


class _Inside(NamedTuple):
    nodes: Sequence[NodeSeen] = ()
    jobs: Sequence[JobSeen] = ()
    pods: Sequence[PodSeen] = ()


def _inside(arm: Arm, facts: ClusterFacts) -> _Inside:
    """Empty if the cluster doesn't answer or denies access: ARM reports what is billed."""
    try:
        with closing(connect.of_cluster(arm, facts.id)) as api:
            jobs = [job_of(each) for each in api.items("/apis/batch/v1/jobs")]
            return _Inside(in_cluster.nodes(api), jobs, in_cluster.pods(api))
    except (ClusterError, AzureError):
        return _Inside()


def _state(job: JobSeen, pods: list[PodSeen]) -> str:
    running = [pod for pod in pods if pod.phase == "Running"]
    if job.is_suspended:
        return "suspended"
    if not running:
        return "waiting"
    nodes = ", ".join(sorted({pod.node for pod in running}))
    return f"running on {nodes}"


def _nodes(count: int, size: str, is_spot: bool) -> str:
    return f"{'1 node' if count == 1 else f'{count} nodes'} of {size}{', Spot' if is_spot else ''}"
