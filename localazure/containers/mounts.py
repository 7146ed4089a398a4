"""Maps paths of a container to this machine: mounted volumes, and the container's own `/tmp`.

A container is a process without a mount namespace, so a path is led where the command, a probe or a variable's value names it,
also in the middle of a shell line. A program that makes up such a path itself opens this machine's.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

TMP = "/tmp"  # noqa: S108 - the path as images know it
_NO_PATH_BEFORE, _NO_NAME_AFTER = r"(?<![\w./-])", r"(?![\w.-])"


@dataclass(frozen=True, slots=True)
class Mount:
    """A volume at a path of the container. `volume` is its name within the group."""

    volume: str
    path: str  # absolute, without a slash at its end


def led(word: str, paths: Mapping[str, Path]) -> str:
    """`word` with each of `paths` replaced by the folder that it means, wherever it stands for itself or for what lies below."""
    if not paths:
        return word
    longest_first = sorted(paths, key=len, reverse=True)
    pattern = _NO_PATH_BEFORE + "(" + "|".join(re.escape(path) for path in longest_first) + ")" + _NO_NAME_AFTER
    return re.sub(pattern, lambda found: str(paths[found[1]]), word)


def targets(mounts: Iterable[Mount], root: Path, *, tmp: bool) -> dict[str, Path]:
    """Where the paths lie in a container's tree. `tmp`: the image has no `/tmp` of its own."""
    found = {mount.path: root / mount.path.lstrip("/") for mount in mounts}
    return {**({TMP: root / TMP.lstrip("/")} if tmp else {}), **found}
