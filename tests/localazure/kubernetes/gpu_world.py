"""A node with GPUs for tests, without a cluster: its devices, and containers of infrastructure images as the agent runs them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from localazure.kubernetes.client import KubeApi
from localazure.kubernetes.devices import NodeDevices
from localazure.kubernetes.infrastructure import ActorContext, actor
from localazure.kubernetes.model import ClusterShape, PoolShape
from localazure.kubernetes.node_templates import record
from tests.support.patience import SECONDS

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

    def __init__(self, folder: Path, shape: PoolShape | None = None, clock: Callable[[], float] | None = None) -> None:
        self.folder = folder
        self.node = record(shape or pool(), CLUSTER, 0, "2026-11-22T00:00:00Z")
        self.changes: list[tuple[dict[str, int], dict[str, int]]] = []
        self.clock = clock
        self.devices = self.reborn()

    def reborn(self) -> NodeDevices:
        """The devices as another process of the agent finds them."""
        extra: dict[str, Any] = {"clock": self.clock} if self.clock else {}

        def changed() -> None:
            if hasattr(self, "devices"):
                self.changes.append((self.devices.capacity(), self.devices.allocatable()))

        self.devices = NodeDevices(self.node, self.folder / "node", changed, **extra)
        return self.devices

    def container(
        self,
        *,
        image: str = PLUGIN,
        command: Sequence[str] = (),
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        files: Mapping[str, str] | None = None,
        mounts: Mapping[str, Path] | None = None,
        api: object = None,
        uid: str = "plugin-pod",
    ) -> "Container":
        """`files`: by path of the container their text."""
        folders: dict[str, Path] = dict(mounts or {})
        for number, (path, text) in enumerate((files or {}).items()):
            file = self.folder / f"file-{uid}-{number}"
            file.write_text(text, encoding="utf-8")
            folders[path] = file
        made = actor(image, command, args)
        assert made is not None, image
        return Container(made, self, dict(env or {}), folders, api, uid)


class Container:
    """One that runs within `async with`."""

    def __init__(self, made: Any, world: World, env: dict[str, str], mounts: dict[str, Path], api: object, uid: str) -> None:
        self.lines: list[str] = []
        self._actor = made
        self.context = ActorContext(
            node=world.node,
            pod={"metadata": {"name": uid, "namespace": "gpu-resources", "uid": uid}},
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
        return await asyncio.wait_for(self._actor.run(self.context), SECONDS)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["Container"]:
        """Ends it as the kubelet does; it has to end with 0."""
        task = asyncio.ensure_future(self._actor.run(self.context))
        try:
            yield self
        finally:
            self.context.stopping.set()
            self.code = await asyncio.wait_for(task, SECONDS)

    async def says(self, text: str) -> None:
        await eventually(lambda: text in self.text, f"{text!r} in:\n{self.text}")


async def eventually(true: Callable[[], Any], what: str) -> Any:
    deadline = asyncio.get_running_loop().time() + SECONDS
    while not (found := true()):
        assert asyncio.get_running_loop().time() < deadline, what
        await asyncio.sleep(0.005)
    return found
