"""The state of a cluster's pools, their shapes and nodes: a document in the store, and `nodes.json` for the agent.

It survives a restart of the embedded Azure.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from localazure.arm.store import Store
from localazure.folder import write_json
from localazure.kubernetes import node_templates as templates
from localazure.kubernetes.control_plane_folder import id_of
from localazure.kubernetes.model import ClusterShape, PoolShape, as_cluster, as_pool, stored_cluster, stored_pool

_DOCUMENTS = "kubernetes/pools/"
NODES_FILE = "nodes.json"


@dataclass(slots=True, kw_only=True)
class PoolState:
    """One pool with its nodes."""

    shape: PoolShape
    following: int = 0  # the number of the next instance; none is given out twice
    nodes: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def add(self, cluster: ClusterShape, number: int, created: str) -> None:
        for _ in range(number):
            self.nodes.append(templates.record(self.shape, cluster, self.following, created))
            self.following += 1

    def take_away(self, names: set[str]) -> None:
        self.nodes = [node for node in self.nodes if node["name"] not in names]

    def update(self, shape: PoolShape, cluster: ClusterShape) -> None:
        """Another shape: labels and taints change on the nodes that are there, too."""
        self.shape = shape
        for node in self.nodes:
            fresh = templates.record(shape, cluster, int(node["instance_id"]), node["created"])
            node.update(labels=fresh["labels"], taints=fresh["taints"])


@dataclass(slots=True, kw_only=True)
class ClusterState:
    """One cluster's pools."""

    shape: ClusterShape
    paused: bool = False
    pools: dict[str, PoolState] = field(default_factory=dict[str, PoolState])

    @property
    def key(self) -> str:
        return self.shape.key.lower()


def load(store: Store, key: str) -> ClusterState | None:
    """None where nothing is remembered."""
    kept = store.document(_DOCUMENTS + id_of(key))
    if kept is None:
        return None
    pools = {
        name: PoolState(shape=as_pool(one["shape"]), following=one["following"], nodes=one["nodes"])
        for name, one in kept["pools"].items()
    }
    return ClusterState(shape=as_cluster(kept["shape"]), paused=kept["paused"], pools=pools)


def save(store: Store, state: ClusterState, folder: Path) -> None:
    """Keeps it, and tells the agent."""
    pools = {
        name: {"shape": stored_pool(pool.shape), "following": pool.following, "nodes": pool.nodes}
        for name, pool in state.pools.items()
    }
    store.put_document(
        _DOCUMENTS + id_of(state.key), {"shape": stored_cluster(state.shape), "paused": state.paused, "pools": pools}
    )
    nodes = [] if state.paused else [node for _, pool in sorted(state.pools.items()) for node in pool.nodes]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_json(folder / NODES_FILE, {"nodes": nodes})


def forget(store: Store, key: str) -> None:
    store.delete_document(_DOCUMENTS + id_of(key))
