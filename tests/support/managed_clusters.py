"""ARM as clusters of AKS meet it, in this process: everything that ARM checks, and clusters that are only written down.

For rules and views of ARM. What a cluster does is tested with a real one.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import fields
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx

from localazure import wiring
from localazure.arm.caller import Caller
from localazure.arm.errors import ArmError
from localazure.arm.router import Arm
from localazure.arm.store import Store
from localazure.kinds.managed_cluster_pools import AksRuntime
from localazure.kubernetes.model import ClusterShape, PoolShape
from localazure.lists.deviations import Deviations
from localazure.services import Clock, Services, Settings
from tests.support.embedded import SUBSCRIPTION
from tests.support.patience import SECONDS

CLUSTERS = "2025-09-01"
GROUPS = "2024-03-01"
AS_OF = date(2026, 11, 21)
GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/lab"
CLUSTER = f"{GROUP}/providers/Microsoft.ContainerService/managedClusters/gpu"
SYSTEM: dict[str, Any] = {"name": "system", "mode": "System", "count": 1, "vmSize": "Standard_D4s_v5"}


class Written:
    """Stands for the control planes and the node pools of clusters: what they were told, in order."""

    def __init__(self) -> None:
        self.told: list[tuple[str, ...]] = []
        self.shapes: dict[str, ClusterShape] = {}
        self.pools: dict[tuple[str, str], PoolShape] = {}
        self.counts: dict[tuple[str, str], int] = {}
        self.refused = ""  # a pool that gets no nodes
        self.wait: asyncio.Event | None = None  # holds control planes back until it is set

    # Control planes

    async def apply(self, *given: Any) -> None:
        if len(given) == 2:
            await self._apply_pool(*given)
            return
        (shape,) = given
        self.told.append(("apply", shape.key))
        if self.wait is not None:
            await self.wait.wait()
        self.shapes[shape.key] = shape

    async def stop(self, key: str) -> None:
        self.told.append(("stop", key))

    async def start(self, key: str) -> None:
        self.told.append(("start", key))

    def exists(self, key: str) -> bool:
        return key in self.shapes

    def issuer(self, key: str) -> str:
        return f"https://localhost:1/kubernetes/oidc/{len(key)}/"

    def kubeconfig(self, key: str, who: str, form: str = "") -> str:
        return f"{who} of {key.rsplit('/', 1)[1]} {form}".strip()

    def server(self, key: str) -> str:
        return f"https://127.0.0.1:{len(key)}"

    # Pools

    async def _apply_pool(self, key: str, shape: PoolShape) -> None:
        self.told.append(("pool", shape.name, str(shape.count)))
        if shape.name == self.refused:
            raise ArmError(400, "ErrCode_InsufficientVCPUQuota", "Insufficient vcpu quota requested 4, remaining 0.")
        self.pools[key, shape.name] = shape
        self.counts[key, shape.name] = shape.count

    async def remove(self, *given: str) -> None:
        self.told.append(("remove", *given))
        if len(given) == 1:
            self.shapes.pop(given[0], None)

    async def forget(self, key: str) -> None:
        self.told.append(("forget", key))

    async def pause(self, key: str) -> None:
        self.told.append(("pause", key))

    async def resume(self, key: str) -> None:
        self.told.append(("resume", key))

    def configure(self, key: str, shape: ClusterShape) -> None:
        self.told.append(("configure", key, shape.kubernetes_version))

    def nodes(self, key: str, pool: str) -> list[dict[str, Any]]:
        return [{"name": f"aks-{pool}-{index}"} for index in range(self.counts.get((key, pool), 0))]


class ArmHarness:
    """ARM on a store of its own. Requests as over HTTP; what runs in the background goes on while others wait."""

    def __init__(self, folder: Path, as_of: date = AS_OF, **backends: Any) -> None:
        """`backends`: what stands for backends other than clusters, by their names."""
        self.written = Written()
        self.loop = asyncio.new_event_loop()
        self.store = Store(folder / "state.sqlite")
        services = Services(
            store=self.store,
            settings=Settings(
                url="https://localhost:1",
                checkout=folder,
                state=folder,
                tenant_id="11111111-1111-1111-1111-111111111111",
                client_id="22222222-2222-2222-2222-222222222222",
                principal_id="33333333-3333-3333-3333-333333333333",
            ),
            clock=Clock(given=as_of),
            tokens=cast(Any, SimpleNamespace(check=lambda _: Caller("33333333-3333-3333-3333-333333333333", "application"))),
            deviations=Deviations(),
            images=cast(Any, None),
        )
        given = {"clusters": self.written, "cluster_pools": self.written, **backends}
        self.backends = wiring.Backends(**{each.name: cast(Any, given.get(each.name)) for each in fields(wiring.Backends)})
        self.aks = AksRuntime(self.backends.clusters, self.backends.cluster_pools)
        self.services = services
        self.arm = Arm(services, wiring.kinds(self.backends))
        transport = httpx.ASGITransport(cast(Any, self.arm), raise_app_exceptions=True)
        self.client = httpx.AsyncClient(transport=transport, base_url="https://localhost:1")
        assert self.put(GROUP, {"location": "westeurope"}, GROUPS).status_code == 201

    def run(self, work: "Coroutine[Any, Any, Any]") -> Any:
        return self.loop.run_until_complete(work)

    def close(self) -> None:
        self.run(self.arm.operations.stop())
        self.run(self.client.aclose())
        self.loop.close()
        self.store.close()

    def request(self, method: str, path: str, body: Any = None, version: str = CLUSTERS, **query: str) -> httpx.Response:
        return self.run(self.client.request(method, path, params={"api-version": version, **query}, json=body))

    def put(self, path: str, body: Any, version: str = CLUSTERS) -> httpx.Response:
        return self.request("PUT", path, body, version)

    def get(self, path: str, version: str = CLUSTERS, **query: str) -> httpx.Response:
        return self.request("GET", path, None, version, **query)

    def post(self, path: str, body: Any = None, version: str = CLUSTERS, **query: str) -> httpx.Response:
        return self.request("POST", path, body, version, **query)

    def delete(self, path: str, version: str = CLUSTERS) -> httpx.Response:
        return self.request("DELETE", path, None, version)

    def ended(self, answer: httpx.Response) -> dict[str, Any]:
        """The status document of the long operation that `answer` began, once it has ended."""
        assert answer.is_success, answer.text
        address = answer.headers.get("azure-asyncoperation") or answer.headers["location"]
        address = address.replace("operationResults", "operationStatuses")

        async def poll() -> dict[str, Any]:
            while True:
                found = (await self.client.get(address)).json()
                if found["status"] != "InProgress":
                    return found
                await asyncio.sleep(0)

        return self.run(asyncio.wait_for(poll(), SECONDS))

    def succeeded(self, answer: httpx.Response) -> None:
        assert self.ended(answer)["status"] == "Succeeded", self.ended(answer)


def cluster(**properties: Any) -> dict[str, Any]:
    """A body with one small system pool; `properties` replace whole properties."""
    return {
        "location": "westeurope",
        "identity": {"type": "SystemAssigned"},
        "properties": {"dnsPrefix": "gpu", "agentPoolProfiles": [SYSTEM], **properties},
    }


def pool(**properties: Any) -> dict[str, Any]:
    """A body of a GPU pool of its own."""
    return {"properties": {"count": 1, "vmSize": "Standard_NC4as_T4_v3", "mode": "User", **properties}}


def refusal(answer: httpx.Response) -> tuple[int, str, str]:
    assert not answer.is_success, answer.text
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["message"]
