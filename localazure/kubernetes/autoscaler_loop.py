"""The cluster autoscaler of one cluster: it looks at pods and nodes, and resizes pools as `autoscaler` decides.

It looks each scan interval, and at once when the scheduler finds no node for a pod, where the real one waits for its next scan.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from localazure.arm.errors import ArmError
from localazure.kubernetes import autoscaler_views as views
from localazure.kubernetes.autoscaler import Cluster, Increase, PoolView, removable, scale_up, unneeded
from localazure.kubernetes.autoscaler_views import PodView, Profile
from localazure.kubernetes.client import KubeApi, KubeError
from localazure.kubernetes.events import Events

SETTLE_SECONDS = 0.3  # after the first pod that waits, until others have come, too
AGAIN_SECONDS = 2.0
BACKOFF_FIRST, BACKOFF_MOST = timedelta(minutes=5), timedelta(minutes=30)
log = logging.getLogger(__name__)


class Autoscaler:
    """One cluster's. `run` until it is cancelled."""

    def __init__(
        self,
        api: Callable[[], KubeApi],
        pools: Callable[[], list[PoolView]],
        grow: Callable[[str, int], Awaitable[None]],
        shrink: Callable[[str, Sequence[str]], Awaitable[None]],
        profile: Callable[[], Profile],
        now: Callable[[], datetime],
    ) -> None:
        """`pools`: that it may change. `grow`: a pool by so many nodes; it returns before they are ready, with ArmError where a
        quota doesn't allow them. `shrink`: a pool by these nodes, which go with their machines."""
        self._api = api
        self._pools = pools
        self._grow_pool, self._shrink_pool = grow, shrink
        self._profile = profile
        self._now = now
        self._wake = asyncio.Event()
        self._since: dict[str, datetime] = {}  # by node: when it was first found unneeded
        self._added: datetime | None = None
        self._failed: datetime | None = None
        self._backoff: dict[str, tuple[datetime, timedelta]] = {}  # by pool: until when, and how long it was
        self._events = Events("cluster-autoscaler")

    def wake(self) -> None:
        """Something has changed: it looks at once."""
        self._wake.set()

    async def run(self) -> None:
        beside = [asyncio.create_task(self._watch()), asyncio.create_task(self._events.run(self._api()))]
        try:
            while True:
                self._wake.clear()
                if self._pools():
                    await self._guarded(self.look)
                await self._sleep()
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)

    async def _sleep(self) -> None:
        try:
            async with asyncio.timeout(self._profile()["scan-interval"].total_seconds()):
                await self._wake.wait()
            await asyncio.sleep(SETTLE_SECONDS)
        except TimeoutError:
            return

    async def _watch(self) -> None:
        """Wakes when a pod waits for a node."""
        while True:
            await self._guarded(self._follow)
            await asyncio.sleep(AGAIN_SECONDS)

    async def _follow(self) -> None:
        async for event in self._api().follow("/api/v1/pods", fields="spec.nodeName="):
            told = event.object.get("items", []) if event.type == "SYNCED" else [event.object]
            if event.type != "DELETED" and any(views.pod(one).pending_since for one in told):
                self._wake.set()

    async def _guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except (KubeError, OSError, ArmError) as error:
            log.debug("autoscaler: %s", error)
        except Exception:  # an error of our own in one look isn't a reason to look no more
            log.exception("autoscaler")

    # One look

    async def look(self) -> None:
        profile, cluster = self._profile(), await self._see()
        increases, refusals = scale_up(cluster, profile, random.choice)  # the expander `random`, AKS's default, whatever it says
        for one in increases:
            await self._grow(one)
        for refusal in refusals:
            self._tell(refusal.pod, "NotTriggerScaleUp", f"pod didn't trigger scale-up: {refusal}")
        if not increases:
            await self._scale_down(cluster, profile)

    async def _see(self) -> Cluster:
        api = self._api()
        nodes, pods, daemons = await asyncio.gather(
            api.list("/api/v1/nodes"), api.list("/api/v1/pods"), api.list("/apis/apps/v1/daemonsets")
        )
        return Cluster(
            nodes=[views.node(one) for one in nodes["items"]],
            pods=[views.pod(one) for one in pods["items"] if not views.ended(one)],
            pools=[self._with_backoff(pool) for pool in self._pools()],
            daemons=[_daemon(one) for one in daemons["items"]],
            now=self._now(),
        )

    def _with_backoff(self, pool: PoolView) -> PoolView:
        until = self._backoff.get(pool.name)
        return pool._replace(backoff_until=until[0]) if until else pool

    def _tell(self, pod: PodView, reason: str, message: str, kind: str = "Normal") -> None:
        self._events.of_pod({"namespace": pod.namespace, "name": pod.name, "uid": pod.uid}, kind, reason, message)

    async def _grow(self, one: Increase) -> None:
        try:
            await self._grow_pool(one.pool.name, one.nodes)
        except ArmError as error:
            before = self._backoff.get(one.pool.name, (self._now(), BACKOFF_FIRST / 2))[1]
            wait = min(before * 2, BACKOFF_MOST)
            self._backoff[one.pool.name] = (self._now() + wait, wait)
            self._failed = self._now()
            why = f"Scale-up failed for group {one.pool.vmss}: {error.message}"
            for pod in one.pods:
                self._tell(pod, "FailedToScaleUpGroup", why, "Warning")
            self._wake.set()  # another pool may help
            return
        self._backoff.pop(one.pool.name, None)
        self._added = self._now()
        for pod in one.pods:
            self._tell(pod, "TriggeredScaleUp", f"pod triggered scale-up: [{{{one}}}]")

    async def _scale_down(self, cluster: Cluster, profile: Profile) -> None:
        self._since = {node.name: self._since.get(node.name, cluster.now) for node in unneeded(cluster)}
        found = removable(cluster, profile, self._since, self._added, self._failed)
        still = {node.name for node in unneeded(await self._see())} if found else set[str]()  # pods may have been placed since
        pools: dict[str, list[str]] = {}
        for node in found:
            if node.name in still:
                pools.setdefault(node.pool, []).append(node.name)
        for pool, nodes in pools.items():
            await self._shrink_pool(pool, nodes)


def _daemon(told: Mapping[str, Any]) -> views.PodView:
    """A pod as a DaemonSet would make it. Its pods tolerate the taints of nodes that aren't ready, which templates don't have."""
    meta = {"uid": told["metadata"]["uid"], "namespace": told["metadata"]["namespace"], "name": told["metadata"]["name"]}
    return views.pod({"metadata": meta, "spec": told["spec"]["template"]["spec"]})
