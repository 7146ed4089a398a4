"""A real control plane with its node agent and pools, without ARM around them: what tests of GPUs and pools share.

Workloads are pause containers, which are acted out; so nothing has to be built.
"""

import asyncio
import json
import threading
import uuid
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from string import Template
from types import SimpleNamespace
from typing import Any, TypeVar

import yaml

from localazure.arm.store import Store
from localazure.kubernetes.clusters import ClusterContext, Clusters
from localazure.kubernetes.pools import ClusterPools
from localazure.lists.deviations import Deviations
from tests.support import kubernetes
from tests.support.embedded import until
from tests.support.kubernetes import ControlPlane
from tests.support.patience import SECONDS

PAUSE = "registry.k8s.io/pause:3.10"
PLUGIN = "nvcr.io/nvidia/k8s-device-plugin:v0.18.0"
TOLERATIONS = [{"key": "sku", "operator": "Exists"}, {"key": "kubernetes.azure.com/scalesetpriority", "operator": "Exists"}]
T = TypeVar("T")


class GpuCluster(ControlPlane):
    """One that runs, with an event loop of its own for its pools."""

    def __init__(
        self, clusters: Clusters, key: str, programs: Path, pools: ClusterPools, loop: asyncio.AbstractEventLoop
    ) -> None:
        super().__init__(clusters, key, programs)
        self.pools = pools
        self.deviations: Deviations = pools._services.deviations
        self._loop = loop

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(SECONDS)

    def configure(self, **changed: Any) -> None:
        async def work() -> None:
            self.pools.configure(self.key, self.clusters.shape(self.key)._replace(**changed))

        self.do(work())

    def restart_pools(self) -> None:
        """As another server takes them up."""
        self.do(self.pools.stopping())
        self.pools = ClusterPools(self.pools._services, self.clusters)
        self.do(self.pools.started())

    def create(self, body: dict[str, Any]) -> None:
        done = self.kubectl("apply", "-f", "-", input=json.dumps(body))
        assert done.returncode == 0, done.stderr

    def items(self, *arguments: str) -> list[dict[str, Any]]:
        return self.asked("get", *arguments)["items"]

    def gpus(self, node: str, resource: str = "nvidia.com/gpu") -> str | None:
        """What is allocatable on a node."""
        return self.asked("get", "node", node)["status"]["allocatable"].get(resource)

    def phases(self, namespace: str) -> dict[str, str]:
        return {one["metadata"]["name"]: one["status"]["phase"] for one in self.items("pods", "-n", namespace)}

    def events(self, namespace: str, reason: str) -> list[str]:
        found = self.items("events", "-n", namespace, "--field-selector", f"reason={reason}")
        return [one["message"] for one in found]


def pod(name: str, namespace: str, gpus: int = 1, *, resource: str = "nvidia.com/gpu", **spec: Any) -> dict[str, Any]:
    """One that waits for ever."""
    limits = {resource: str(gpus)} if gpus else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "tolerations": TOLERATIONS,
            "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "main", "image": PAUSE, "resources": {"limits": limits}}],
            **spec,
        },
    }


def device_plugin(pool: str, namespace: str, config: str = "version: v1\n") -> list[dict[str, Any]]:
    """The plugin on the nodes of one pool, with its configuration."""
    text = Path(__file__).with_name("device_plugin.yaml").read_text(encoding="utf-8")
    told = {"pool": pool, "namespace": namespace, "config": json.dumps(config), "image": PLUGIN}
    return list(yaml.safe_load_all(Template(text).substitute(told)))


@contextmanager
def running(folder: Path) -> Iterator[GpuCluster]:
    """A cluster from start to removal."""
    programs = kubernetes.needed()
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    clusters = Clusters(ClusterContext(folder / "clusters", lambda: programs))
    services = SimpleNamespace(
        store=Store(folder / "azure.sqlite"),
        deviations=Deviations(),
        clock=SimpleNamespace(now=lambda: datetime.now(UTC)),
    )
    pools = ClusterPools(services, clusters)
    shape = kubernetes.shape(f"gpu-{uuid.uuid4().hex[:6]}")
    try:
        asyncio.run_coroutine_threadsafe(clusters.apply(shape), loop).result(SECONDS)
        made = GpuCluster(clusters, shape.key, programs, pools, loop)
        until(lambda: (made.folder / "agent").exists(), "the node agent has started")
        yield made
    finally:
        for work in (made.pools.stopping(), clusters.remove(shape.key), clusters.stopping()):
            asyncio.run_coroutine_threadsafe(work, loop).result(SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
