"""Restores state files that a full disk has truncated.

The engine's file backend leaves a partly written state in place, and a partly written backup before that, and tries again ten
times (pulumi 3.259, pkg/backend/diy/state.go). So the last whole state is kept while the engine runs, by a hard link, which
takes no space: each file is written under another name and then renamed. If the backup is truncated too, operations that the
engine began in the last `LOOK_SECONDS` may be missing.
"""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOOK_SECONDS = 0.1


@contextmanager
def kept(backend_folder: Path | None, project: str, stack: str) -> Iterator[None]:
    """Keeps the last whole state of a stack while the engine runs. None: not a file backend, which has nothing of this."""
    if backend_folder is None:
        yield
        return
    file = backend_folder / ".pulumi" / "stacks" / project / f"{stack}.json"
    over = threading.Event()
    _keep(file)
    watch = threading.Thread(target=_watch, args=(file, over), daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()
        watch.join()
        _keep(file)
        if is_whole(file):
            _kept(file).unlink(missing_ok=True)


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
        _keep(file)


def _keep(file: Path) -> None:
    """The state, else its backup where that was written later than what is kept: a disk without room takes no backup either."""
    for whole in (file, _backup(file)):
        if _keep_one(whole, _kept(file), only_later=whole != file):
            return


def _keep_one(whole: Path, kept: Path, *, only_later: bool) -> bool:
    """False where `whole` isn't. Looked at by the link, since the engine may replace the file meanwhile."""
    link = kept.with_name(f"{kept.name}.new")
    link.unlink(missing_ok=True)
    try:
        os.link(whole, link)
    except OSError:  # there is none, or the file system has no links
        return False
    try:
        if not is_whole(link):
            return False
        if not (only_later and is_whole(kept) and kept.stat().st_mtime_ns >= link.stat().st_mtime_ns):
            link.replace(kept)
        return True
    finally:
        link.unlink(missing_ok=True)


def _kept(file: Path) -> Path:
    return file.with_name(f"{file.name}.whole")


def _backup(file: Path) -> Path:
    return file.with_name(f"{file.name}.bak")
