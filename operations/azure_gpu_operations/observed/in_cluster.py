"""Reads a cluster, through ARM and through its own API: pools, nodes, pods, events. ClusterError if it can't be reached."""

from collections.abc import Mapping
from typing import Any, Protocol

from azure_gpu_operations.azure import Arm
from azure_gpu_operations.clusters import connect
from azure_gpu_operations.clusters.api import ClusterApi
from azure_gpu_operations.clusters.arm_facts import API_VERSION, PoolFacts, pool_of
from azure_gpu_operations.clusters.objects import JOB_LABEL, EventSeen, NodeSeen, PodSeen, by_age, events_of, node_of, pod_of
from azure_gpu_operations.clusters.targets import ClusterTarget


class Api(Protocol):
    """Lists of the cluster's API."""

    def items(self, path: str, **query: str) -> list[dict[str, Any]]: ...


def api_of(arm: Arm, place: ClusterTarget) -> ClusterApi:
    """An edge is reached by its kubeconfig, a cluster through ARM."""
    return connect.of_file(place.kubeconfig, place.context)[0] if place.kubeconfig else connect.of_cluster(arm, place.id)


def body(arm: Arm, cluster_id: str) -> Mapping[str, Any] | None:
    return arm.get(cluster_id, API_VERSION)


def pools(arm: Arm, cluster_id: str) -> tuple[PoolFacts, ...]:
    return tuple(pool_of(each) for each in arm.values(f"{cluster_id}/agentPools", API_VERSION))


def nodes(api: Api) -> tuple[NodeSeen, ...]:
    return tuple(node_of(each) for each in api.items("/api/v1/nodes"))


def pods(api: Api) -> list[PodSeen]:
    """Those of all namespaces."""
    return [pod_of(each) for each in api.items("/api/v1/pods")]


def pods_of(api: Api, namespace: str, name: str, label: str = JOB_LABEL) -> list[PodSeen]:
    """Those of a Job, or of what the label names; the newest last."""
    return by_age(pod_of(each) for each in api.items(f"/api/v1/namespaces/{namespace}/pods", labelSelector=f"{label}={name}"))


def events(api: Api, namespace: str, name: str) -> tuple[EventSeen, ...]:
    """About one object; the oldest first."""
    return events_of(api.items(f"/api/v1/namespaces/{namespace}/events", fieldSelector=f"involvedObject.name={name}"))
