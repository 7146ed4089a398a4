"""Drops Kubernetes objects from the state when their cluster is gone: the engine would fail on them.

`up` drops objects of clusters that no longer exist, and `down` those on existing clusters: what is on a cluster of the stack is
deleted with it. Objects on other clusters that can't be reached, such as an edge, stay in the state: the provider reports that it
can't reach them, and `down --forget-unreachable` drops them.
"""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from azure_gpu.formats import arm_ids, azure_types
from azure_gpu_operations.azure import UNREADABLE, Arm
from azure_gpu_operations.clusters.arm_facts import API_VERSION, CLUSTER_TYPE, cluster_of
from azure_gpu_operations.connection import connection_of
from azure_gpu_operations.stack import Stack

PROVIDER = "pulumi:providers:kubernetes"
DELETE_UNREACHABLE = "PULUMI_K8S_DELETE_UNREACHABLE"  # pulumi-kubernetes, provider configuration `deleteUnreachable`
_KINDS = (azure_types.MANAGED_CLUSTER.token, azure_types.AGENT_POOL.token)
Say = Callable[[str], None]


class OnCluster(NamedTuple):
    """What a stack has on one AKS cluster."""

    cluster_id: str
    providers: frozenset[str]  # urns
    objects: tuple[str, ...]  # urns
    is_own: bool  # the stack made the cluster, and deletes it

    @property
    def name(self) -> str:
        return self.cluster_id.rsplit("/", 1)[-1]


def forget_gone(stack: Stack, deployment: Mapping[str, Any], say: Say) -> Mapping[str, Any]:
    """Before an update: drops the objects of deleted clusters, so that they are created again. `deployment`: the stack's; returns
    the new one."""
    found = held(deployment)
    connection = connection_of(deployment)
    if not found or connection is None:
        return deployment
    with closing(Arm(connection)) as arm:
        bodies = [arm.get(each.cluster_id, API_VERSION) for each in found]
    for each, body in zip(found, bodies, strict=True):
        if body is not None and cluster_of(body).is_stopped:
            say(f"the cluster {each.name} is stopped, so its objects can't be compared; az aks start --ids {each.cluster_id}")
    gone = [each for each, body in zip(found, bodies, strict=True) if body is None]
    if not gone:
        return deployment
    _forget(stack, gone, say)
    urns = list(_of_clusters(deployment, [each.cluster_id for each in gone if each.is_own]))
    if urns:
        stack.refresh(urns)
    return stack.deployment()


def forget_gone_existing(stack: Stack, deployment: Mapping[str, Any], say: Say, within: Collection[str] | None = None) -> None:
    """Before a destroy: drops the objects of existing clusters that were deleted. `within`: the URNs that are destroyed; None:
    everything."""
    existing = [each for each in held(deployment) if each.objects and not each.is_own]
    found = [each for each in existing if within is None or each.providers <= set(within)]
    connection = connection_of(deployment)
    if not found or connection is None:
        return
    try:
        with closing(Arm(connection)) as arm:
            gone = [each for each in found if arm.get(each.cluster_id, API_VERSION) is None]
    except UNREADABLE:
        return  # the engine reports errors; they must not block the destroy
    _forget(stack, gone, say)


def forget_unreachable() -> None:
    """Lets the provider drop the objects on unreachable clusters."""
    os.environ[DELETE_UNREACHABLE] = "true"


def held(deployment: Mapping[str, Any]) -> list[OnCluster]:
    """The objects of an exported deployment, by AKS cluster."""
    resources: Sequence[Mapping[str, Any]] = deployment.get("resources") or []
    by_cluster: dict[str, set[str]] = {}
    spelling: dict[str, str] = {}
    for each in resources:
        cluster = str((each.get("inputs") or {}).get("clusterIdentifier") or "")
        parsed = arm_ids.parse(cluster)
        if each.get("type") == PROVIDER and parsed is not None and parsed.is_type(CLUSTER_TYPE):
            spelling.setdefault(parsed.key, cluster)
            by_cluster.setdefault(parsed.key, set()).add(str(each["urn"]))
    own = {
        str(each.get("id") or "").lower()
        for each in resources
        if each.get("type") == azure_types.MANAGED_CLUSTER.token and not each.get("external")
    }
    return [
        OnCluster(spelling[key], frozenset(urns), tuple(_objects(resources, urns)), key in own)
        for key, urns in by_cluster.items()
    ]


def without(deployment: Mapping[str, Any], urns: Sequence[str]) -> dict[str, Any]:
    """The deployment without these resources and references to them."""
    gone = set(urns)
    resources = [_loosened(each, gone) for each in deployment.get("resources") or [] if each["urn"] not in gone]
    operations = [each for each in deployment.get("pending_operations") or [] if each["resource"]["urn"] not in gone]
    return {**deployment, "resources": resources, "pending_operations": operations}


def _forget(stack: Stack, gone: Sequence[OnCluster], say: Say) -> None:
    for each in gone:
        if each.objects:
            count = "1 object" if len(each.objects) == 1 else f"{len(each.objects)} objects"
            say(f"the cluster {each.name} isn't in Azure any more: removed {count} on it from the state")
            stack.edit(lambda deployment, urns=each.objects: without(deployment, urns))


def _objects(resources: Sequence[Mapping[str, Any]], providers: set[str]) -> Iterator[str]:
    for each in resources:
        if str(each.get("provider") or "").rpartition("::")[0] in providers:
            yield str(each["urn"])


def _of_clusters(deployment: Mapping[str, Any], cluster_ids: Sequence[str]) -> Iterator[str]:
    """The clusters themselves and their pools."""
    lost = tuple(each.lower() for each in cluster_ids)
    for each in deployment.get("resources") or []:
        if lost and each.get("type") in _KINDS and str(each.get("id") or "").lower().startswith(lost):
            yield str(each["urn"])


def _loosened(resource: Mapping[str, Any], gone: set[str]) -> dict[str, Any]:
    found = dict(resource)
    if found.get("dependencies"):
        found["dependencies"] = [each for each in found["dependencies"] if each not in gone]
    if found.get("propertyDependencies"):
        found["propertyDependencies"] = {
            key: [each for each in urns or [] if each not in gone] for key, urns in found["propertyDependencies"].items()
        }
    if found.get("deletedWith") in gone:
        del found["deletedWith"]
    return found
