"""Finds a name in a stack's clusters and edges: a cluster, a pool, a Job or a pod; returns facts and a finding.

A cluster that doesn't answer may hold the name: its finding is returned separately, in case the name is found nowhere else.
"""

from collections.abc import Callable, Sequence
from contextlib import closing

from azure_gpu_operations.azure import Arm
from azure_gpu_operations.clusters.arm_facts import cluster_of
from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.clusters.targets import ClusterTarget
from azure_gpu_operations.explain import built_images, cluster_rules, pod_rules, read_cluster
from azure_gpu_operations.explain.cluster_facts import JobCase, PodCase
from azure_gpu_operations.explain.facts import Facts, Finding, Kind
from azure_gpu_operations.observed import in_cluster
from azure_gpu_operations.stack_view import StackView

Explained = tuple[Facts, Finding]


def cluster(arm: Arm, place: ClusterTarget, pool: str = "") -> Explained:
    case = read_cluster.read_cluster(arm, place, pool)
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
        found = read_cluster.find(api, arm, place, name)
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
    return facts, cluster_rules.unreachable(error, facts, is_private=bool(found and found.is_private))
