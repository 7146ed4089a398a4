"""Images of a cluster's infrastructure, emulated inside the node agent: which there are, and the program that a container runs.

Tags that were never published don't exist either.
"""

import re
from collections.abc import Sequence

from localazure.kubernetes.documents import document
from localazure.kubernetes.infrastructure.context import Actor, ActorContext
from localazure.kubernetes.infrastructure.device_plugin import device_plugin
from localazure.kubernetes.infrastructure.feature_discovery import feature_discovery

__all__ = ["Actor", "ActorContext", "known", "program"]


async def _idle(context: ActorContext) -> int:
    await context.pause()
    return 0


async def _control_daemon(context: ActorContext) -> int:
    """MPS's, whose replicas need none here."""
    return 0 if list(context.arguments) == ["mount-shm"] else await _idle(context)


_ACTORS: dict[str, Actor] = {
    "device_plugin": device_plugin,
    "feature_discovery": feature_discovery,
    "control_daemon": _control_daemon,
    "idle": _idle,
}
_IMAGES = document("infrastructure_images")


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

    return _ACTORS.get(programs.get(name.rpartition("/")[2], ""), missing), version, arguments


def _split(image: str) -> tuple[dict[str, str], tuple[int, int]] | None:
    name, _, digest = image.partition("@")
    repository, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        repository, tag = name, ""
    found = _IMAGES.get(repository)
    if found is None or (not tag and not digest) or (tag and not re.fullmatch(found["tag"], tag)):
        return None
    numbers = re.match(r"v?([0-9]+)\.([0-9]+)", tag)
    return found["programs"], (int(numbers[1]), int(numbers[2])) if numbers else (0, 18)
