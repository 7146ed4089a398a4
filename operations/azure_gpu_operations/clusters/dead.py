"""Drops Kubernetes objects from the state when their cluster is gone, stopped or unreachable: the engine would fail on them.

`up` drops objects of clusters that no longer exist. `down` also drops those of the stack's own clusters that are stopped or don't
answer, and are deleted anyway. Objects on other clusters, such as an edge, stay in the state: the provider reports that it can't
reach them, and `down --forget-unreachable` drops them.
"""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import requests
from azure.core.exceptions import AzureError as AzureCoreError

from azure_gpu.formats import arm_ids, azure_types
from azure_gpu_operations.azure import Arm, AzureError
from azure_gpu_operations.clusters.arm_facts import API_VERSION, CLUSTER_TYPE, cluster_of
from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.connection import connection_of
from azure_gpu_operations.stack import Stack

PROVIDER = "pulumi:providers:kubernetes"
DELETE_UNREACHABLE = "PULUMI_K8S_DELETE_UNREACHABLE"  # pulumi-kubernetes, provider configuration `deleteUnreachable`
GONE, STOPPED, SILENT = "gone", "stopped", "silent"
_KINDS = (azure_types.MANAGED_CLUSTER.token, azure_types.AGENT_POOL.token)
_WORDS = {
    GONE: "isn't in Azure any more",
    STOPPED: "is stopped",
    SILENT: "doesn't answer",
}
Say = Callable[[str], None]


class OnCluster(NamedTuple):
    """What a stack has on one AKS cluster."""

    cluster_id: str
    providers: frozenset[str]  # urns
    objects: tuple[str, ...]  # urns
    is_own: bool  # the stack made the cluster, and deletes it


def forget_gone(stack: Stack, deployment: Mapping[str, Any], say: Say) -> Mapping[str, Any]:
    """Before an update: drops the objects of deleted clusters, so that they are created again. `deployment`: the stack's; returns
    the new one."""
    found = held(deployment)
    connection = connection_of(deployment)
    if not found or connection is None:
        return deployment
    with closing(Arm(connection)) as arm:
        states = {each.cluster_id: _state(arm, each.cluster_id) for each in found}
    for each in found:
        name = each.cluster_id.rsplit("/", 1)[-1]
        if states[each.cluster_id] == STOPPED:
            say(f"the cluster {name} is stopped, so its objects can't be compared; az aks start --ids {each.cluster_id}")
    gone = [(each, GONE) for each in found if states[each.cluster_id] == GONE]
    if not gone:
        return deployment
    _forget(stack, gone, say)
    lost = [each.cluster_id for each in found if each.is_own and states[each.cluster_id] == GONE]
    urns = list(_of_clusters(deployment, lost))
    if urns:
        stack.refresh(urns)
    return stack.deployment()


def forget_dead(stack: Stack, deployment: Mapping[str, Any], say: Say, within: Collection[str] | None = None) -> None:
    """Before a destroy. `within`: the URNs that are destroyed; None: everything."""
    found = [each for each in held(deployment) if each.objects and (within is None or each.providers <= set(within))]
    connection = connection_of(deployment)
    if not found or connection is None:
        return
    dead: list[tuple[OnCluster, str]] = []
    try:
        with closing(Arm(connection)) as arm:
            for each in found:
                state = _state(arm, each.cluster_id)
                if not state and each.is_own and _is_silent(arm, each.cluster_id):
                    state = SILENT
                if state == GONE or (state and each.is_own):
                    dead.append((each, state))
    except (AzureError, AzureCoreError, requests.RequestException):
        return  # the engine reports errors; they must not block the destroy
    _forget(stack, dead, say)


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


def _forget(stack: Stack, dead: Sequence[tuple[OnCluster, str]], say: Say) -> None:
    for each, state in dead:
        if each.objects:
            count = "1 object" if len(each.objects) == 1 else f"{len(each.objects)} objects"
            name = each.cluster_id.rsplit("/", 1)[-1]
            say(f"the cluster {name} {_WORDS[state]}: removed {count} on it from the state")
            urns = each.objects
            stack.edit(lambda deployment, urns=urns: without(deployment, urns))


def _state(arm: Arm, cluster_id: str) -> str:
    body = arm.get(cluster_id, API_VERSION)
    if body is None:
        return GONE
    return STOPPED if cluster_of(body).is_stopped else ""


def _is_silent(arm: Arm, cluster_id: str) -> bool:
    """Whether its API doesn't answer at all; a denial is an answer."""
    from azure_gpu_operations.clusters import connect  # here: the client takes seconds to load, and most stacks have no cluster

    try:
        with closing(connect.of_cluster(arm, cluster_id)) as api:
            api.get("/version")
    except ClusterError as error:
        return error.is_silent
    return False


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
