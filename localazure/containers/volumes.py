"""The volumes of a group: folders that its containers share, made before the containers start and gone with the group.

Each volume is a folder in `.volumes` of the group's folder. A new run of the group empties them; an update of a living group
leaves them and adds what is new. A container is a process without a mount namespace, so the path of a mount, and the container's
own `/tmp`, is led where the command, a probe or a variable's value names it, also in the middle of a shell line. A program that
makes up such a path itself opens this machine's.
"""

import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from azure_gpu.formats.git import environment as git_environment
from localazure.folder import SECRET_MODE

TMP = "/tmp"  # noqa: S108 - the path as images know it
_NO_PATH_BEFORE, _NO_NAME_AFTER = r"(?<![\w./-])", r"(?![\w.-])"


@dataclass(frozen=True, slots=True)
class Mount:
    """A volume at a path of the container. `volume` is its name within the group."""

    volume: str
    path: str  # absolute, without a slash at its end


def led(word: str, paths: Mapping[str, Path]) -> str:
    """`word` with each of `paths` replaced by the folder that it means, where it is the whole path or the beginning of one."""
    if not paths:
        return word
    longest_first = sorted(paths, key=len, reverse=True)
    pattern = _NO_PATH_BEFORE + "(" + "|".join(re.escape(path) for path in longest_first) + ")" + _NO_NAME_AFTER
    return re.sub(pattern, lambda found: str(paths[found[1]]), word)


def targets(mounts: Iterable[Mount], root: Path, *, tmp: bool) -> dict[str, Path]:
    """Where the paths lie in a container's tree. `tmp`: the image has no `/tmp` of its own."""
    found = {mount.path: root / mount.path.lstrip("/") for mount in mounts}
    return {**({TMP: root / TMP.lstrip("/")} if tmp else {}), **found}


FOLDER = ".volumes"
_RUN = ".run"
_HALF = ".half-"  # before the name of a volume that is being made
_READ_ONLY = 0o400
_FOLDER_MODE = 0o700


class MountFailedError(Exception):
    """A volume that can't be made. The message names it and says why."""


@dataclass(frozen=True, slots=True)
class GitRepository:
    """What is committed in a checkout of this machine."""

    checkout: Path
    revision: str  # a commit, tag or branch; "" for what is checked out
    directory: str  # below the volume; "." is the volume itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """One volume: `files`, a folder `shared` with other groups, a `repository`, or an empty folder."""

    name: str
    files: Mapping[str, bytes] | None = None
    shared: Path | None = None
    repository: GitRepository | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Volumes:
    """All volumes of a group in one of its runs."""

    run: str
    volumes: tuple[Volume, ...] = field(default=())

    def prepare(self, group: Path) -> None:
        """Makes what doesn't exist yet. MountFailedError for the first volume that can't be made."""
        folder = group / FOLDER
        marker = folder / _RUN
        if folder.exists() and (not marker.exists() or marker.read_text(encoding="utf-8") != self.run):
            shutil.rmtree(folder)  # a link to a shared folder is removed, not what it leads to
        folder.mkdir(mode=_FOLDER_MODE, exist_ok=True)
        marker.write_text(self.run, encoding="utf-8")
        for volume in self.volumes:
            if not (folder / volume.name).exists():
                _make_whole(volume, folder)


def folder_of(group: Path, volume: str) -> Path:
    return group / FOLDER / volume


def _make_whole(volume: Volume, folder: Path) -> None:
    """A volume appears when all of it is written: work that resumes after a kill finds it whole or not at all."""
    half = folder / f"{_HALF}{volume.name}"
    try:
        if volume.shared is not None:
            volume.shared.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
            (folder / volume.name).unlink(missing_ok=True)  # a link that leads nowhere any more
            (folder / volume.name).symlink_to(volume.shared, target_is_directory=True)
            return
        shutil.rmtree(half, ignore_errors=True)
        _make(volume, half)
        half.rename(folder / volume.name)
    except OSError as error:
        raise MountFailedError(f"the volume {volume.name} can't be made: {error.strerror}") from error


def _make(volume: Volume, folder: Path) -> None:
    folder.mkdir(mode=_FOLDER_MODE)
    for name, content in (volume.files or {}).items():
        file = folder / name
        file.touch(mode=SECRET_MODE)
        file.write_bytes(content)
        file.chmod(_READ_ONLY)
    if volume.repository is not None:
        _check_out(volume.name, volume.repository, folder)


def _check_out(name: str, repository: GitRepository, folder: Path) -> None:
    """The files of a commit, without the history."""
    if shutil.which("git") is None:
        raise MountFailedError(f"the volume {name} needs git, which this machine hasn't")
    target = folder / repository.directory
    target.mkdir(parents=True, exist_ok=True)
    git = ["git", "-C", str(repository.checkout)]
    requested = [*git, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{repository.revision or 'HEAD'}^{{commit}}"]
    environment = git_environment()
    commit = subprocess.run(requested, capture_output=True, text=True, check=False, env=environment).stdout.strip()
    if not commit:
        raise MountFailedError(f"the volume {name}: the checkout has no commit {repository.revision or 'HEAD'}")
    with subprocess.Popen([*git, "archive", "--format=tar", commit], stdout=subprocess.PIPE, env=environment) as archive:
        unpacked = subprocess.run(["tar", "-x", "-C", str(target)], stdin=archive.stdout, check=False).returncode
    if archive.returncode or unpacked:
        raise MountFailedError(f"the volume {name}: the checkout's files can't be unpacked")
