"""The cluster autoscaler of one cluster: it looks at pods and nodes, and resizes pools as `autoscaler` decides.

It looks each scan interval, and at once when the scheduler finds no node for a pod, where the real one waits for its next scan.
Its status is the ConfigMap `cluster-autoscaler-status`, which AKS's page on its errors reads.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import yaml

from localazure.arm.errors import ArmError
from localazure.kubernetes import autoscaler_views as views
from localazure.kubernetes.autoscaler import Cluster, Increase, PoolView, removable, scale_up, started, unneeded, waste
from localazure.kubernetes.autoscaler_views import Profile
from localazure.kubernetes.client import KubeApi, KubeError
from localazure.kubernetes.events import AUTOSCALER, AutoscalerEvents

STATUS_PATH = "/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-status"


def status_text(cluster: Cluster, time: str) -> str:
    """As the real one writes it since 1.30."""
    groups = [
        {
            "name": pool.vmss,
            "health": {
                "status": "Healthy",
                "nodeCounts": _counts(cluster, pool.name),
                "cloudProviderTarget": pool.target,
                "minSize": pool.least,
                "maxSize": pool.most,
            },
            "scaleUp": {"status": _scale_up(cluster, pool.name, pool.target, failed=pool.backoff_until is not None)},
        }
        for pool in cluster.pools
    ]
    whole = {"health": {"status": "Healthy", "nodeCounts": _counts(cluster, "")}}
    return yaml.safe_dump(
        {"time": time, "autoscalerStatus": "Running", "clusterWide": whole, "nodeGroups": groups}, sort_keys=False
    )


def status_configmap(content: str) -> dict[str, Any]:
    metadata = {"name": "cluster-autoscaler-status", "namespace": "kube-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"status": content}}


def _counts(cluster: Cluster, pool: str) -> dict[str, Any]:
    own = [node for node in cluster.nodes if not pool or node.pool == pool]
    ready = sum(1 for node in own if started(node))
    return {"registered": {"total": len(own), "ready": ready, "notStarted": len(own) - ready}}


def _scale_up(cluster: Cluster, pool: str, target: int, *, failed: bool) -> str:
    if failed:
        return "Backoff"
    return "InProgress" if target > sum(1 for node in cluster.nodes if node.pool == pool and started(node)) else "NoActivity"


SETTLE_SECONDS = 0.3  # after the first pod that waits, until others have come, too
AGAIN_SECONDS = 2.0
BACKOFF_FIRST, BACKOFF_MOST = timedelta(minutes=5), timedelta(minutes=30)
log = logging.getLogger(__name__)


class Hands(Protocol):
    """What the autoscaler can do."""

    def views(self) -> list[PoolView]:
        """The pools that it may change."""
        ...

    async def grow(self, pool: str, nodes: int) -> None:
        """More nodes; returns before they are ready. ArmError where a quota doesn't allow."""
        ...

    async def shrink(self, pool: str, nodes: Sequence[str]) -> None:
        """These nodes go, with their machines."""
        ...


class Autoscaler:
    """One cluster's. `run` until it is cancelled."""

    def __init__(
        self,
        api: Callable[[], KubeApi],
        hands: Hands,
        profile: Callable[[], Profile],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        chance: random.Random | None = None,
    ) -> None:
        self._api = api
        self._hands = hands
        self._profile = profile
        self._now = now
        self._chance = chance or random.Random()  # noqa: S311 - which pool grows is no secret
        self._wake = asyncio.Event()
        self._since: dict[str, datetime] = {}  # by node: when it was first found unneeded
        self._added: datetime | None = None
        self._failed: datetime | None = None
        self._backoff: dict[str, tuple[datetime, timedelta]] = {}  # by pool: until when, and how long it was
        self._events: AutoscalerEvents | None = None
        self._told = ""  # of its status, without the time

    def wake(self) -> None:
        """Something has changed: it looks at once."""
        self._wake.set()

    async def run(self) -> None:
        watching = asyncio.create_task(self._watch())
        try:
            while True:
                self._wake.clear()
                if self._hands.views():
                    await self._guarded(self.look)
                await self._sleep()
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def _sleep(self) -> None:
        try:
            await asyncio.wait_for(self._wake.wait(), self._profile().scan.total_seconds())
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
        events = self._events = self._events or AutoscalerEvents(self._api())
        increases, refusals = scale_up(cluster, profile, self._choose)
        events.keep({pod.uid for pod in cluster.pods})
        for one in increases:
            await self._grow(one, events)
        for refusal in refusals:
            await events.of_pod(
                refusal.pod.namespace,
                refusal.pod.name,
                refusal.pod.uid,
                "NotTriggerScaleUp",
                f"pod didn't trigger scale-up: {refusal}",
            )
        if not increases:
            await self._scale_down(cluster, profile, events)
        await self._tell(cluster)

    async def _tell(self, cluster: Cluster) -> None:
        """Its status, where that has changed."""
        if (said := status_text(cluster, "")) != self._told:
            now = cluster.now.strftime("%Y-%m-%d %H:%M:%S.%f +0000 UTC")
            await self._api().apply(STATUS_PATH, status_configmap(status_text(cluster, now)), field_manager=AUTOSCALER)
            self._told = said

    async def _see(self) -> Cluster:
        api = self._api()
        nodes, pods, daemons = await asyncio.gather(
            api.list("/api/v1/nodes"), api.list("/api/v1/pods"), api.list("/apis/apps/v1/daemonsets")
        )
        return Cluster(
            nodes=[views.node(one) for one in nodes["items"]],
            pods=[views.pod(one) for one in pods["items"] if not views.ended(one)],
            pools=[self._with_backoff(pool) for pool in self._hands.views()],
            daemons=[_daemon(one) for one in daemons["items"]],
            now=self._now(),
        )

    def _with_backoff(self, pool: PoolView) -> PoolView:
        until = self._backoff.get(pool.name)
        return pool._replace(backoff_until=until[0]) if until else pool

    def _choose(self, options: Sequence[Increase], cluster: Cluster) -> Increase:
        """The expander. `priority` has no ConfigMap here, and so is as `random`, which is what the real one falls back to."""
        match self._profile().expander:
            case "most-pods":
                return max(options, key=lambda one: len(one.pods))
            case "least-waste":
                return min(options, key=lambda one: waste(one, cluster))
            case _:
                return self._chance.choice(options)

    async def _grow(self, one: Increase, events: AutoscalerEvents) -> None:
        try:
            await self._hands.grow(one.pool.name, one.nodes)
        except ArmError as error:
            before = self._backoff.get(one.pool.name, (self._now(), BACKOFF_FIRST / 2))[1]
            wait = min(before * 2, BACKOFF_MOST)
            self._backoff[one.pool.name] = (self._now() + wait, wait)
            self._failed = self._now()
            why = f"Scale-up failed for group {one.pool.vmss}: {error.message}"
            await events.of_itself("FailedToScaleUpGroup", why, "Warning")
            for pod in one.pods:
                await events.of_pod(pod.namespace, pod.name, pod.uid, "FailedToScaleUpGroup", why, "Warning")
            self._wake.set()  # another pool may help
            return
        self._backoff.pop(one.pool.name, None)
        self._added = self._now()
        sizes = f"size set to {one.pool.target + one.nodes} instead of {one.pool.target} (max: {one.pool.most})"
        await events.of_itself("ScaledUpGroup", f"Scale-up: group {one.pool.vmss} {sizes}")
        for pod in one.pods:
            await events.of_pod(pod.namespace, pod.name, pod.uid, "TriggeredScaleUp", f"pod triggered scale-up: [{{{one}}}]")

    async def _scale_down(self, cluster: Cluster, profile: Profile, events: AutoscalerEvents) -> None:
        self._since = {node.name: self._since.get(node.name, cluster.now) for node in unneeded(cluster)}
        pools: dict[str, list[str]] = {}
        for node in removable(cluster, profile, self._since, self._added, self._failed):
            await events.of_itself("ScaleDownEmpty", f'Scale-down: removing empty node "{node.name}"')
            await events.of_node(node.name, "ScaleDown", "marked the node as toBeDeleted/unschedulable")
            pools.setdefault(node.pool, []).append(node.name)
        for pool, nodes in pools.items():
            await self._hands.shrink(pool, nodes)


def _daemon(told: Mapping[str, Any]) -> views.PodView:
    """A pod as a DaemonSet would make it. Its pods tolerate the taints of nodes that aren't ready, which templates don't have."""
    template = told["spec"]["template"]
    meta = {"uid": told["metadata"]["uid"], "namespace": told["metadata"]["namespace"], "name": told["metadata"]["name"]}
    return views.pod({"metadata": {**meta, "labels": template["metadata"].get("labels")}, "spec": template["spec"]})
