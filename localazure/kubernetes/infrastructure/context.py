"""The context of an actor: its container, its node, and its access to the outside.

An actor is one program of an infrastructure image, emulated as a coroutine inside the node agent.
"""

import asyncio
import contextlib
import posixpath
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from localazure.kubernetes.client import KubeApi
from localazure.kubernetes.devices import NodeDevices


@dataclass(slots=True, kw_only=True)
class ActorContext:
    """One container."""

    version: tuple[int, int]  # of its image
    arguments: Sequence[str]  # of its program
    env: Mapping[str, str]
    mounts: Mapping[str, Path]  # where it is mounted: folder or file of this machine
    devices: NodeDevices
    api: KubeApi
    log: Callable[[str], None] = print  # a line of its output
    stopping: asyncio.Event = field(default_factory=asyncio.Event)  # it is asked to end

    @property
    def node_name(self) -> str:
        return str(self.devices.node["name"])

    def path(self, inside: str) -> Path | None:
        """Where a path of the container lies on this machine; None outside its mounts, also where `..` leads out of one."""
        inside = posixpath.normpath(inside)
        for mount in sorted(self.mounts, key=len, reverse=True):
            if inside == mount or inside.startswith(mount.rstrip("/") + "/"):
                rest = inside[len(mount) :].lstrip("/")
                return self.mounts[mount] / rest if rest else self.mounts[mount]
        return None

    def read(self, inside: str) -> str:
        """The text of a file of the container. OSError as Go spells it where it doesn't exist."""
        path = self.path(inside)
        if path is None or not path.exists():
            raise FileNotFoundError(f"open {inside}: no such file or directory")
        if path.is_dir():
            raise IsADirectoryError(f"read {inside}: is a directory")
        return path.read_text(encoding="utf-8")

    def klog(self, text: str, *, level: str = "I", where: str = "main.go:1") -> None:
        """A line as programs in Go log it; only the first line has the head."""
        now = datetime.now(UTC)
        self.log(f"{level}{now:%m%d %H:%M:%S.%f}       1 {where}] {text}")

    async def pause(self, seconds: float | None = None) -> bool:
        """Waits so long, or for ever. True: the container is asked to end."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.stopping.wait()
        return self.stopping.is_set()


Actor = Callable[[ActorContext], Awaitable[int]]  # until the container ends by itself or is asked to; the exit code


class WrongUseError(Exception):
    """The program ends with exit code 1, after it has said this."""
