"""Runs the node pools of clusters.

Nodes are entries in a cluster's `nodes.json`, which the node agent acts on; a pool is complete when its nodes are Ready. A
cluster with an autoscaled pool has an autoscaler. Everything happens on the server's event loop; changes of one cluster are
serialized.
"""

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any

from localazure.arm.errors import ArmError, not_implemented
from localazure.folder import write_json
from localazure.kubernetes import autoscaler_views as views, draining, node_templates as templates, pool_quotas, pool_state
from localazure.kubernetes.autoscaler import PoolView
from localazure.kubernetes.autoscaler_loop import Autoscaler
from localazure.kubernetes.client import KubeApi, KubeError
from localazure.kubernetes.clusters import RUNNING, Clusters
from localazure.kubernetes.control_plane_folder import ClusterFolder
from localazure.kubernetes.model import ClusterShape, PoolShape
from localazure.kubernetes.pool_state import ClusterState, PoolState
from localazure.services import Services

READY_SECONDS = 180.0
DRAIN_SECONDS = 30.0  # AKS drains for half an hour by default; here nobody waits for that
_POLL_SECONDS = 0.1
_GONE_SECONDS = 10.0
log = logging.getLogger(__name__)


class ClusterPools:
    """All pools of all clusters of this server."""

    def __init__(self, services: Services, planes: Clusters) -> None:
        self._services = services
        self._planes = planes
        self._clusters: dict[str, ClusterState] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._loops: dict[str, tuple[Autoscaler, asyncio.Task[None]]] = {}

    # Clusters, for ARM

    def configure(self, key: str, shape: ClusterShape) -> None:
        """The cluster is this one from now on. Before its first pool, and whenever it changes."""
        state = self._state(key)
        state.shape = shape
        self._save(state)
        self._tend(state)

    async def forget(self, key: str) -> None:
        """The cluster is deleted."""
        await self._end_loop(key.lower())
        self._clusters.pop(key.lower(), None)
        self._locks.pop(key.lower(), None)
        pool_state.forget(self._services.store, key)

    async def pause(self, key: str) -> None:
        """The cluster is stopped: its machines are deallocated, and nothing scales."""
        state = self._state(key)
        await self._end_loop(state.key)
        self._tell_agent(state.key, [])

    async def resume(self, key: str) -> None:
        """The cluster runs again: its nodes come back under their names. Returns when they are Ready."""
        state = self._state(key)
        self._save(state)
        await self._await_ready(state, [node["name"] for pool in state.pools.values() for node in pool.nodes])
        self._tend(state)

    # Pools, for ARM

    async def apply(self, key: str, shape: PoolShape) -> None:
        """A new pool, or another shape of one. Returns when its nodes are Ready. ArmError where a quota is too small."""
        state = self._state(key)
        async with self._locks[state.key]:
            pool = state.pools.get(shape.name)
            have = len(pool.nodes) if pool else 0
            requested = _wanted(shape, pool)
            if error := self.shortage(key, shape, requested - have):
                raise error
            if pool is None:
                pool = state.pools[shape.name] = PoolState(shape=shape)
            pool.update(shape, state.shape)
            pool.add(state.shape, max(0, requested - have), self._now())
            leaving = [node["name"] for node in pool.nodes[requested:]]  # the newest
            self._save(state)
            if leaving:
                await self._let_go(state, pool, leaving, drain=True)
        await self._await_ready(state, [node["name"] for node in pool.nodes])
        self._tend(state)

    async def remove(self, key: str, pool: str) -> None:
        """The pool goes with its nodes, which aren't drained."""
        state = self._state(key)
        async with self._locks[state.key]:
            found = state.pools.pop(pool, None)
            self._save(state)
            if found is not None and self._runs(state):
                await self._clear(state, [node["name"] for node in found.nodes])
        self._tend(state)

    def nodes(self, key: str, pool: str) -> list[dict[str, Any]]:
        """A pool's nodes, as nodes.json has them."""
        found = self._state(key).pools.get(pool)
        return list(found.nodes) if found else []

    def shortage(self, key: str, shape: PoolShape, more: int) -> ArmError | None:
        """What a quota has against so many more nodes."""
        region = self._state(key).shape.location
        others = [
            (pool.shape, len(pool.nodes))
            for state in self._clusters.values()
            if state.shape.location == region
            for pool in state.pools.values()
        ]
        return pool_quotas.shortage(shape, more, region, others, self._services.deviations)

    # Faults on purpose

    async def evict(self, name: str) -> list[str]:
        """Takes Spot nodes away as Azure does, by `CLUSTER/POOL[/NODE]`: machine, pods and node are gone. Their names."""
        cluster, _, rest = name.partition("/")
        requested, _, node_name = rest.partition("/")
        taken: list[str] = []
        for state in list(self._clusters.values()):
            pool = state.pools.get(requested.lower()) if state.shape.name.lower() == cluster.lower() else None
            if pool is None or not pool.shape.spot or not self._runs(state):
                continue
            names = [node["name"] for node in pool.nodes if not node_name or node["name"] == node_name]
            if names and pool.shape.eviction_policy == "Deallocate":
                raise not_implemented("evicting Spot nodes by deallocation")
            async with self._locks[state.key]:
                await self._let_go(state, pool, names, drain=False)
            taken += names
        return taken

    # This server

    async def started(self) -> None:
        """Resumes what an earlier server left."""
        for shape in self._planes.records():
            state = self._state(shape.key)
            self._save(state)
            self._tend(state)

    async def stopping(self) -> None:
        """Nothing scales any more; nodes and pods continue."""
        for key in list(self._loops):
            await self._end_loop(key)

    # Its own

    def _state(self, key: str) -> ClusterState:
        state = self._clusters.get(key.lower())
        if state is None:
            state = self._clusters[key.lower()] = pool_state.load(self._services.store, self._planes.shape(key))
        return state

    def _save(self, state: ClusterState) -> None:
        if not self._knows(state):
            return  # it was deleted while this change was under way: nothing of it comes back
        pool_state.save(self._services.store, state)
        nodes = [node for _, pool in sorted(state.pools.items()) for node in pool.nodes]
        self._tell_agent(state.key, nodes if self._runs(state) else [])

    def _tell_agent(self, key: str, nodes: list[dict[str, Any]]) -> None:
        files = ClusterFolder(self._planes.folder(key))
        files.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_json(files.nodes, {"nodes": nodes})

    def _knows(self, state: ClusterState) -> bool:
        return self._clusters.get(state.key) is state

    def _api(self, state: ClusterState) -> KubeApi:
        return self._planes.api(state.key)

    def _runs(self, state: ClusterState) -> bool:
        return self._knows(state) and self._planes.exists(state.key) and self._planes.power(state.key) == RUNNING

    def _now(self) -> str:
        return self._services.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")

    async def _let_go(self, state: ClusterState, pool: PoolState, names: Sequence[str], *, drain: bool) -> None:
        """Nodes leave in order."""
        if self._runs(state) and drain:
            await asyncio.gather(*(self._empty(state, name) for name in names))
        pool.take_away(set(names))
        self._save(state)
        if self._runs(state):
            await self._clear(state, names)

    async def _empty(self, state: ClusterState, name: str) -> None:
        try:
            await draining.drain(self._api(state), name, DRAIN_SECONDS)
        except KubeError as error:
            log.info("node %s leaves without being drained: %s", name, error)

    async def _clear(self, state: ClusterState, names: Sequence[str]) -> None:
        """Until the agent has taken the nodes away, with their pods. One that is down does it when it is back."""
        api = self._api(state)
        deadline = asyncio.get_running_loop().time() + _GONE_SECONDS
        left = set(names)
        while left and asyncio.get_running_loop().time() < deadline:
            with contextlib.suppress(KubeError):
                left &= {one["metadata"]["name"] for one in (await api.list("/api/v1/nodes"))["items"]}
            if left:
                await asyncio.sleep(_POLL_SECONDS)

    async def _await_ready(self, state: ClusterState, names: Sequence[str]) -> None:
        """ArmError where they don't become Ready."""
        if not self._runs(state):
            return
        deadline = asyncio.get_running_loop().time() + READY_SECONDS
        left = set(names)
        while left:
            with contextlib.suppress(KubeError):
                listed = await self._api(state).list("/api/v1/nodes")
                left -= {one.name for one in map(views.node, listed["items"]) if one.ready}
            kept = {node["name"] for pool in state.pools.values() for node in pool.nodes}
            left &= kept  # the autoscaler or an eviction may have taken some away meanwhile
            if left and asyncio.get_running_loop().time() > deadline:
                raise ArmError(500, "NodesNotReady", f"{len(left)} node(s) didn't become ready: {', '.join(sorted(left)[:3])}.")
            if left:
                await asyncio.sleep(_POLL_SECONDS)

    # Autoscalers

    def _tend(self, state: ClusterState) -> None:
        """A cluster with a pool that scales has an autoscaler, another has none."""
        requested = self._runs(state) and any(pool.shape.autoscaling for pool in state.pools.values())
        loop = self._loops.get(state.key)
        if requested and (loop is None or loop[1].done()):
            scaler = Autoscaler(
                lambda: self._api(state),
                lambda: self.views(state),
                partial(self.grow, state),
                partial(self.shrink, state),
                lambda: views.profile(state.shape.autoscaler),
                self._services.clock.now,
            )
            self._loops[state.key] = (scaler, asyncio.get_running_loop().create_task(scaler.run()))
        elif requested and loop is not None:
            loop[0].wake()
        elif loop is not None:
            loop[1].cancel()
            del self._loops[state.key]

    async def _end_loop(self, key: str) -> None:
        loop = self._loops.pop(key, None)
        if loop is not None:
            loop[1].cancel()
            await asyncio.gather(loop[1], return_exceptions=True)

    def views(self, state: ClusterState) -> list[PoolView]:
        """What the autoscaler may change."""
        return [
            PoolView(
                name=name,
                vmss=templates.scale_set(state.shape.key, pool.shape),
                least=pool.shape.min_count,
                most=pool.shape.max_count,
                target=len(pool.nodes),
                template=views.of_template(templates.template(pool.shape, state.shape)),
            )
            for name, pool in sorted(state.pools.items())
            if pool.shape.autoscaling
        ]

    async def grow(self, state: ClusterState, name: str, number: int) -> None:
        async with self._locks[state.key]:
            pool = state.pools.get(name)
            if pool is None:
                return
            number = min(number, pool.shape.max_count - len(pool.nodes))
            if error := self.shortage(state.key, pool.shape, number):
                raise error
            pool.add(state.shape, max(0, number), self._now())
            self._save(state)

    async def shrink(self, state: ClusterState, name: str, nodes: Sequence[str]) -> None:
        async with self._locks[state.key]:
            pool = state.pools.get(name)
            if pool is not None:
                await self._let_go(state, pool, nodes, drain=True)


def _wanted(shape: PoolShape, before: PoolState | None) -> int:
    """How many nodes the pool shall have: with the autoscaler, what it has, kept within its bounds."""
    if not shape.autoscaling:
        return shape.count
    now = len(before.nodes) if before else shape.count
    return min(max(now, shape.min_count), shape.max_count)
