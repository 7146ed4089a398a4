"""States that a full disk has torn, put back as they were last whole.

The engine's file backend leaves what it could write of a state in its place, tries again ten times, and copies the torn file over
its backup when it next writes (pulumi 3.259, pkg/backend/diy/state.go). So the backup is kept as soon as a state is torn, by a
link, which takes no room; nothing begins that isn't noted in it, since the engine writes before each step. In: the backend's
folder. Out: whole states, and the names of those that were put back.
"""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LOOK_SECONDS = 0.5  # the engine's ten tries take longer than 20


@contextmanager
def kept(backend_folder: Path | None, project: str, stack: str) -> Iterator[None]:
    """Keeps the last whole state of a stack while the engine runs. None: not a file backend, which has nothing of this."""
    if backend_folder is None:
        yield
        return
    file = backend_folder / ".pulumi" / "stacks" / project / f"{stack}.json"
    over = threading.Event()
    watch = threading.Thread(target=_watch, args=(file, over), daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()
        watch.join()
        if not is_whole(file) and not is_whole(_kept(file)):
            _keep(file)


def put_back(backend_folder: Path) -> list[str]:
    """Puts whole states in the place of torn ones, where there are any. The names of the files."""
    found: list[str] = []
    for file in sorted((backend_folder / ".pulumi" / "stacks").rglob("*.json")):
        if is_whole(file):
            _kept(file).unlink(missing_ok=True)
            continue
        for whole in (_kept(file), _backup(file)):
            if is_whole(whole):
                whole.replace(file)
                found.append(file.name)
                break
    return found


def is_whole(file: Path) -> bool:
    try:
        return isinstance(json.loads(file.read_bytes()), dict)
    except (OSError, ValueError):
        return False


def _watch(file: Path, over: threading.Event) -> None:
    seen: tuple[int, int, int] | None = None
    while not over.wait(LOOK_SECONDS):
        try:
            now = file.stat()
        except OSError:
            continue  # it isn't there yet
        if seen == (now.st_ino, now.st_mtime_ns, now.st_size):
            continue
        seen = (now.st_ino, now.st_mtime_ns, now.st_size)
        if not is_whole(file) and not is_whole(_kept(file)):
            _keep(file)


def _keep(file: Path) -> None:
    if is_whole(_backup(file)):
        _kept(file).unlink(missing_ok=True)
        with suppress(OSError):  # a file system without links
            os.link(_backup(file), _kept(file))


def _kept(file: Path) -> Path:
    return file.with_name(f"{file.name}.whole")


def _backup(file: Path) -> Path:
    return file.with_name(f"{file.name}.bak")
