"""The state of a cluster's pools, their shapes and nodes: a document in the store, which survives a restart of this server."""

from dataclasses import asdict, dataclass, field
from typing import Any

from localazure.arm.store import Store
from localazure.kubernetes import node_templates as templates
from localazure.kubernetes.control_plane_folder import id_of
from localazure.kubernetes.model import ClusterShape, PoolShape

_DOCUMENTS = "kubernetes/pools/"


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
    pools: dict[str, PoolState] = field(default_factory=dict[str, PoolState])

    @property
    def key(self) -> str:
        return self.shape.key.lower()


def load(store: Store, shape: ClusterShape) -> ClusterState:
    """Without pools where nothing is remembered."""
    kept = store.document(_DOCUMENTS + id_of(shape.key)) or {"pools": {}}
    pools = {
        name: PoolState(shape=PoolShape(**one["shape"]), following=one["following"], nodes=one["nodes"])
        for name, one in kept["pools"].items()
    }
    return ClusterState(shape=shape, pools=pools)


def save(store: Store, state: ClusterState) -> None:
    pools = {name: {**asdict(pool), "shape": pool.shape._asdict()} for name, pool in state.pools.items()}
    store.put_document(_DOCUMENTS + id_of(state.key), {"pools": pools})


def forget(store: Store, key: str) -> None:
    store.delete_document(_DOCUMENTS + id_of(key))
