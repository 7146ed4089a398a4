"""Images of a cluster's infrastructure, emulated inside the node agent: which there are, and the program that a container runs.

Tags that were never published don't exist either.
"""

import re
from collections.abc import Sequence

from localazure.kubernetes.infrastructure.context import Actor, ActorContext
from localazure.kubernetes.infrastructure.device_plugin import device_plugin
from localazure.kubernetes.infrastructure.feature_discovery import feature_discovery

__all__ = ["Actor", "ActorContext", "known", "program"]


async def _idle(context: ActorContext) -> int:
    """A program that has nothing to do here: the pause container, the exporter, node feature discovery's own."""
    await context.pause()
    return 0


async def _control_daemon(context: ActorContext) -> int:
    """MPS's, whose replicas need none here."""
    return 0 if list(context.arguments) == ["mount-shm"] else await _idle(context)


_NVIDIA: dict[str, Actor] = {  # the first is the image's own
    "nvidia-device-plugin": device_plugin,
    "gpu-feature-discovery": feature_discovery,
    "mps-control-daemon": _control_daemon,
}
_PROGRAMS: dict[str, dict[str, Actor]] = {
    "nvcr.io/nvidia/k8s-device-plugin": _NVIDIA,
    "mcr.microsoft.com/oss/nvidia/k8s-device-plugin": _NVIDIA,
    "mcr.microsoft.com/oss/v2/nvidia/k8s-device-plugin": _NVIDIA,
    "nvcr.io/nvidia/gpu-feature-discovery": {"gpu-feature-discovery": feature_discovery},
    "nvcr.io/nvidia/k8s/dcgm-exporter": dict.fromkeys(("dcgm-exporter", "dcgm-exporter-entrypoint.sh"), _idle),
    "registry.k8s.io/nfd/node-feature-discovery": dict.fromkeys(("nfd-master", "nfd-gc"), _idle),
    "registry.k8s.io/pause": {"pause": _idle},
    "mcr.microsoft.com/oss/kubernetes/pause": {"pause": _idle},
    "mcr.microsoft.com/oss/v2/kubernetes/pause": {"pause": _idle},
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


def program(image: str, command: Sequence[str], args: Sequence[str]) -> tuple[Actor, tuple[int, int], Sequence[str]] | None:
    """What emulates a container with this image, its version and its arguments; None where the image isn't one of these."""
    found = _split(image)
    if found is None:
        return None
    programs, version = found
    name, *arguments = [*command, *args] if command else [next(iter(programs)), *args]

    async def missing(context: ActorContext) -> int:
        """Such as a shell in an image without one."""
        context.log(f'exec: "{name}": executable file not found in $PATH')
        return 127

    return programs.get(name.rpartition("/")[2], missing), version, arguments


def _split(image: str) -> tuple[dict[str, Actor], tuple[int, int]] | None:
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
