"""The start configuration of a container as its shim reads it: program, variables and folders of this machine.

The variables are made from scratch. Nothing of this server's own environment, which holds secrets, reaches a container.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from localazure.containers import machine, shim_python, volumes
from localazure.containers.image_tree import ImageTree
from localazure.containers.images import Image
from localazure.containers.volumes import Mount

STOP_SECONDS = 10.0  # between asking a container to end and killing it; Docker's default
BACKOFF_SECONDS = (
    10.0  # before the first restart; doubled each time up to the most. The service publishes none: these are Kubernetes's
)
BACKOFF_MOST_SECONDS = 300.0
_OWN = "\0own"  # stands for the container's folder, whose own path isn't one of the container's


@dataclass(frozen=True, slots=True, kw_only=True)
class Http:
    """A request to a port of this machine."""

    port: int
    path: str = "/"
    scheme: str = "http"  # or https
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A command or a request, tried again and again. The numbers that a user leaves out are Kubernetes'."""

    command: tuple[str, ...] = ()  # empty: `http`
    http: Http | None = None
    initial_delay_seconds: float = 0
    period_seconds: float = 10
    timeout_seconds: float = 1
    failure_threshold: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSpec:
    """One container as a service requests it."""

    name: str
    image: Image
    command: tuple[str, ...] = ()  # in place of the image's ENTRYPOINT and CMD; empty: the image's
    env: Mapping[str, str]
    machines_env: Mapping[str, str] = field(default_factory=dict)  # with paths of this machine, which stay as they are
    programs: Path | None = None  # a folder of this machine for the front of PATH
    restart_policy: str = "Always"  # Always, OnFailure, Never
    gpu_count: int = 0
    gpus_visible: str = ""  # NVIDIA_VISIBLE_DEVICES where GPUs are emulated; empty: what this machine has says it
    run: str  # the same run is never started twice; another starts again
    events: tuple[dict[str, Any], ...] = ()  # what happened before the start, such as Pulling and Pulled
    after: tuple[str, ...] = ()  # containers of the group that have to succeed before this one starts
    mounts: tuple[Mount, ...] = ()  # volumes of the group
    probes: Mapping[str, Probe] = field(default_factory=dict)  # by liveness and readiness
    memory_bytes: int = 0  # the most that it may use; 0: it isn't limited
    stop_seconds: float = STOP_SECONDS
    backoff_seconds: float = BACKOFF_SECONDS
    backoff_most_seconds: float = BACKOFF_MOST_SECONDS

    def on_disk(self, folder: Path) -> dict[str, Any]:
        """The content of `spec.json` for a container whose files lie in `folder`."""
        tree = ImageTree(self.image.root)
        own = ImageTree(folder / "root")

        led = volumes.targets(self.mounts, own.root, tmp=not tree.at(volumes.TMP).exists())

        def mapped(word: str) -> str:
            in_image = tree.argument(word, self.image.workdir).replace(str(tree.root), _OWN)
            return volumes.led(in_image, led).replace(_OWN, str(own.root))

        program = self.command or (*self.image.entrypoint, *self.image.cmd)
        return {
            "name": self.name,
            "run": self.run,
            "argv": [mapped(word) for word in program],
            "env": self._environment(folder, mapped),
            "image": self.image.digest,
            "image_root": str(tree.root),
            "image_python": str(self.image.environment) if self.image.environment else "",
            "pip": machine.pip_settings(os.environ) if self.image.environment else {},
            "workdir": str(own.at(self.image.workdir)),
            "restart_policy": self.restart_policy,
            "events": list(self.events),
            "stop_seconds": self.stop_seconds,
            "backoff_seconds": self.backoff_seconds,
            "backoff_most_seconds": self.backoff_most_seconds,
            "after": list(self.after),
            "mounts": [[one.path, str(volumes.folder_of(folder.parent, one.volume))] for one in self.mounts],
            "probes": {
                name: {"argv": [mapped(word) for word in given.pop("command")], **given}
                for name, given in ((name, asdict(probe)) for name, probe in self.probes.items())
            },
            "memory_bytes": self.memory_bytes,
        }

    def _environment(self, folder: Path, mapped: Callable[[str], str]) -> dict[str, str]:
        home = str(folder / "home")
        given = {name: mapped(value) for name, value in {**self.image.env, **self.env}.items() if name != "PATH"}
        environment = {
            "HOME": home,
            "TMPDIR": home,
            "LANG": "C.UTF-8",
            **self.machines_env,
            **given,
            **self._gpu_variables(),
        }
        # The image's Python is the container's own, and has the image's behind it, before any Python or pip of this machine.
        pythons = [folder / shim_python.FOLDER, self.image.environment] if self.image.environment else []
        first = [*([self.programs] if self.programs else []), *(python / "bin" for python in pythons)]
        environment["PATH"] = ":".join([*(str(one) for one in first), *self._path(mapped)])
        return environment

    def _path(self, mapped: Callable[[str], str]) -> list[str]:
        """The image's folders, and behind them this machine's where an image's has the name of one: its tools are the image's."""
        told = {**self.image.env, **self.env}.get("PATH", machine.SYSTEM_PATH).split(":")
        led = [mapped(part) for part in told if part]
        return [*led, *(part for part in told if part in machine.SYSTEM_PATH.split(":") and part not in led)]

    def _gpu_variables(self) -> dict[str, str]:
        """Which GPUs it sees: as many of the machine's as it asked for, from the first on; none where it asked for none."""
        seen = ",".join(str(number) for number in range(min(self.gpu_count, machine.gpu_count())))
        return {"NVIDIA_VISIBLE_DEVICES": self.gpus_visible or seen or "void", "CUDA_VISIBLE_DEVICES": seen}
