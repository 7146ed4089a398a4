"""What a container is started with, as its shim reads it: program, variables and folders of this machine.

The variables are made from scratch. Nothing of this server's own environment, which holds secrets, reaches a container.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localazure.containers import machine
from localazure.containers.image_tree import ImageTree
from localazure.containers.images import Image

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
STOP_SECONDS = 10.0  # between asking a container to end and killing it; Docker's default
BACKOFF_SECONDS = (
    10.0  # before the first restart; doubled each time up to the most. The service publishes none: these are Kubernetes's
)
BACKOFF_MOST_SECONDS = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSpec:
    """One container as a service asks for it."""

    name: str
    image: Image
    command: tuple[str, ...] = ()  # in place of the image's ENTRYPOINT and CMD; empty: the image's
    env: Mapping[str, str]
    restart_policy: str = "Always"  # Always, OnFailure, Never
    gpu_count: int = 0
    run: str  # the same run is never started twice; another starts anew
    events: tuple[dict[str, Any], ...] = ()  # what happened before the start, such as Pulling and Pulled
    stop_seconds: float = STOP_SECONDS
    backoff_seconds: float = BACKOFF_SECONDS
    backoff_most_seconds: float = BACKOFF_MOST_SECONDS

    def on_disk(self, folder: Path) -> dict[str, Any]:
        """The content of `spec.json` for a container whose files lie in `folder`."""
        tree = ImageTree(self.image.root)
        own = ImageTree(folder / "root")

        def mapped(word: str) -> str:
            return tree.argument(word, self.image.workdir).replace(str(tree.root), str(own.root))

        program = self.command or (*self.image.entrypoint, *self.image.cmd)
        return {
            "name": self.name,
            "run": self.run,
            "argv": [mapped(word) for word in program],
            "env": self._environment(folder, mapped),
            "image": self.image.digest,
            "image_root": str(tree.root),
            "workdir": str(own.at(self.image.workdir)),
            "restart_policy": self.restart_policy,
            "events": list(self.events),
            "stop_seconds": self.stop_seconds,
            "backoff_seconds": self.backoff_seconds,
            "backoff_most_seconds": self.backoff_most_seconds,
        }

    def _environment(self, folder: Path, mapped: Any) -> dict[str, str]:
        home = str(folder / "home")
        given = {name: mapped(value) for name, value in {**self.image.env, **self.env}.items()}
        environment = {"HOME": home, "TMPDIR": home, "LANG": "C.UTF-8", **given, **_gpu_variables(self.gpu_count)}
        path = given.get("PATH", SYSTEM_PATH)
        environment["PATH"] = f"{self.image.environment / 'bin'}:{path}" if self.image.environment else path
        return environment


def _gpu_variables(asked: int) -> dict[str, str]:
    """Which GPUs a container sees: as many of the machine's as it asked for, from the first on; none where it asked for none."""
    seen = ",".join(str(number) for number in range(min(asked, machine.gpu_count())))
    return {"NVIDIA_VISIBLE_DEVICES": seen or "void", "CUDA_VISIBLE_DEVICES": seen}
