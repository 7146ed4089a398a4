"""A node with GPUs for tests, without a cluster: its devices, and containers of infrastructure images as the agent runs them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from localazure.kubernetes.client import Event, KubeApi
from localazure.kubernetes.devices import NodeDevices
from localazure.kubernetes.infrastructure import ActorContext, program
from localazure.kubernetes.model import ClusterShape, PoolShape
from localazure.kubernetes.node_templates import record
from tests.support.patience import SECONDS

Body = dict[str, Any]
PLUGIN = "nvcr.io/nvidia/k8s-device-plugin:v0.18.0"
CLUSTER = ClusterShape(
    key="/subscriptions/0/resourcegroups/rg/providers/microsoft.containerservice/managedclusters/aks",
    name="aks",
    resource_group="rg",
    node_resource_group="MC_rg_aks_westeurope",
    location="westeurope",
    kubernetes_version="1.36",
    tenant_id="t",
    local_accounts=True,
    entra=False,
    azure_rbac=False,
)


def pool(name: str = "t4", size: str = "Standard_NC4as_T4_v3", **changed: Any) -> PoolShape:
    return PoolShape(name=name, vm_size=size, count=1)._replace(**changed)


class World:
    """One node."""

    def __init__(self, folder: Path, shape: PoolShape | None = None) -> None:
        self.folder = folder
        self.node = record(shape or pool(), CLUSTER, 0, "2026-11-22T00:00:00Z")
        self.devices = self.reborn()

    def reborn(self) -> NodeDevices:
        """The devices as another process of the agent finds them."""
        self.devices = NodeDevices(self.node, self.folder / "node", lambda: None)
        return self.devices

    def container(
        self,
        *command: str,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        config: str | None = None,
        mounts: Mapping[str, Path] | None = None,
        api: object = None,
    ) -> "Container":
        """One of the device plugin's image. `config`: the text of its file, which a variable names."""
        made = program(PLUGIN, command, args)
        assert made is not None
        variables, folders = dict(env or {}), dict(mounts or {})
        if config is not None:
            variables["CONFIG_FILE"], folders["/config/config.yaml"] = "/config/config.yaml", self.folder / "config.yaml"
            (self.folder / "config.yaml").write_text(config, encoding="utf-8")
        return Container(made, self, variables, folders, api)


class Container:
    """One that runs within `async with`."""

    def __init__(self, made: Any, world: World, env: dict[str, str], mounts: dict[str, Path], api: object) -> None:
        self.lines: list[str] = []
        self._program, version, arguments = made
        self.context = ActorContext(
            version=version,
            arguments=arguments,
            env=env,
            mounts=mounts,
            devices=world.devices,
            api=cast(KubeApi, api),
            log=self.lines.append,
        )

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    async def ended(self) -> int:
        """The exit code of a program that ends by itself."""
        return await asyncio.wait_for(self._program(self.context), SECONDS)

    @contextlib.asynccontextmanager
    async def running(self, says: str = "") -> AsyncIterator["Container"]:
        """From when it has said this. Ends it as the kubelet does; it has to end with 0."""
        task = asyncio.ensure_future(self._program(self.context))
        try:
            await eventually(lambda: says in self.text, f"{says!r} in:\n{self.text}")
            yield self
        finally:
            self.context.stopping.set()
            assert await asyncio.wait_for(task, SECONDS) == 0


class Taking:
    """An API server that takes everything and has nothing, and keeps what it was told of."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def find(self, path: str) -> None:
        """No object is there."""

    async def list(self, path: str, **_: str) -> Body:
        return {"items": [], "metadata": {"resourceVersion": "1"}}

    async def create(self, path: str, body: Body) -> Body:
        self.told.append(f"create {path}")
        return {**body, "metadata": {**body["metadata"], "uid": "u"}}

    async def patch(self, path: str, body: Any, **_: str) -> Body:
        self.told.append(f"patch {path}")
        return {**body, "metadata": {"name": "n", "uid": "u"}}

    async def delete(self, path: str, **_: Any) -> None:
        self.told.append(f"delete {path}")

    async def follow(self, path: str, **_: str) -> AsyncIterator[Event]:
        await asyncio.Event().wait()
        yield Event("SYNCED", {})


async def eventually(true: Callable[[], Any], what: str) -> Any:
    deadline = asyncio.get_running_loop().time() + SECONDS
    while not (found := true()):
        assert asyncio.get_running_loop().time() < deadline, what
        await asyncio.sleep(0.005)
    return found
