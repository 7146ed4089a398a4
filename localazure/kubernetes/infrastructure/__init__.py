"""Images of a cluster's infrastructure, emulated inside the node agent: which there are, and the program that a container runs.

Tags that were never published don't exist either.
"""

import re
from collections.abc import Callable, Sequence

from localazure.kubernetes.infrastructure.context import Actor, ActorContext
from localazure.kubernetes.infrastructure.device_plugin import DevicePlugin
from localazure.kubernetes.infrastructure.feature_discovery import FeatureDiscovery

__all__ = ["Actor", "ActorContext", "actor", "known"]


class Idle:
    """A program that has nothing to do here: the pause container, the control daemon of MPS, node feature discovery's own."""

    def __init__(self, *, ends: bool = False) -> None:
        self._ends = ends  # at once

    async def run(self, context: ActorContext) -> int:
        if not self._ends:
            await context.pause()
        return 0


Version = tuple[int, int]
Make = Callable[[Version, Sequence[str]], Actor]

_NVIDIA: dict[str, Make] = {  # the first is the image's own
    "nvidia-device-plugin": DevicePlugin,
    "gpu-feature-discovery": FeatureDiscovery,
    "mps-control-daemon": lambda _, arguments: Idle(ends=list(arguments) == ["mount-shm"]),
}
_PROGRAMS: dict[str, dict[str, Make]] = {
    "nvcr.io/nvidia/k8s-device-plugin": _NVIDIA,
    "mcr.microsoft.com/oss/nvidia/k8s-device-plugin": _NVIDIA,
    "mcr.microsoft.com/oss/v2/nvidia/k8s-device-plugin": _NVIDIA,
    "nvcr.io/nvidia/gpu-feature-discovery": {"gpu-feature-discovery": FeatureDiscovery},
    "nvcr.io/nvidia/k8s/dcgm-exporter": {
        "dcgm-exporter": lambda *_: Idle(),
        "/usr/local/dcgm/dcgm-exporter-entrypoint.sh": lambda *_: Idle(),
    },
    "registry.k8s.io/nfd/node-feature-discovery": {
        "nfd-master": lambda *_: Idle(),
        "nfd-gc": lambda *_: Idle(),
    },
    "registry.k8s.io/pause": {"/pause": lambda *_: Idle()},
    "mcr.microsoft.com/oss/kubernetes/pause": {"/pause": lambda *_: Idle()},
    "mcr.microsoft.com/oss/v2/kubernetes/pause": {"/pause": lambda *_: Idle()},
}
_TAGS = {  # of an image's last part, what its tags look like
    "k8s-device-plugin": r"v0\.(?:[0-9]|1[0-9]|20)\.[0-9]+(?:-rc\.[0-9]+)?(?:-[a-z0-9.]+)?|1\.11",
    "gpu-feature-discovery": r"v0\.[0-9]\.[0-9]+(?:-[a-z0-9.]+)?",
    "dcgm-exporter": r"[0-9]+\.[0-9]+\.[0-9]+-[0-9]+\.[0-9]+\.[0-9]+(?:-[a-z0-9.]+)?",
    "node-feature-discovery": r"v0\.[0-9]+\.[0-9]+(?:-[a-z]+)?",
    "pause": r"3\.[0-9]+(?:\.[0-9]+)?",
}


def known(image: str) -> bool:
    """Whether the image is one of these."""
    return _split(image) is not None


def actor(image: str, command: Sequence[str], args: Sequence[str]) -> Actor | None:
    """What emulates a container with this image; None where the image isn't one of these."""
    found = _split(image)
    if found is None:
        return None
    programs, version = found
    words = [*command, *args] if command else [next(iter(programs)), *args]
    program = words[0]
    make = next((make for name, make in programs.items() if program.rsplit("/", 1)[-1] == name.rsplit("/", 1)[-1]), None)
    return make(version, words[1:]) if make else _Missing(program)


def _split(image: str) -> tuple[dict[str, Make], Version] | None:
    name, _, digest = image.partition("@")
    repository, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        repository, tag = name, ""
    programs = _PROGRAMS.get(repository)
    if programs is None or (not tag and not digest):
        return None
    if tag and not re.fullmatch(_TAGS[repository.rsplit("/", 1)[-1]], tag):
        return None
    numbers = re.match(r"v?([0-9]+)\.([0-9]+)", tag)
    return programs, (int(numbers[1]), int(numbers[2])) if numbers else (0, 18)


class _Missing:
    """A program that the image doesn't have, such as a shell in an image without one."""

    def __init__(self, program: str) -> None:
        self._program = program

    async def run(self, context: ActorContext) -> int:
        context.log(f'exec: "{self._program}": executable file not found in $PATH')
        return 127
