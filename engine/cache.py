"""A cache of built folders, each complete or not there.

A folder is filled under a temporary name, under a lock, and then moved into place. So two builds at once make one, and a killed
one leaves nothing but a temporary folder, which the next one clears.
"""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.progress import Progress

_TEMPORARY = ".building-"


def cache_folder(name: str) -> Path:
    """`${XDG_CACHE_HOME:-~/.cache}/azure-gpu/<name>`; a relative XDG_CACHE_HOME doesn't count, as the XDG specification says."""
    configured = Path(os.environ.get("XDG_CACHE_HOME", ""))
    root = configured if configured.is_absolute() else Path.home() / ".cache"
    return root / "azure-gpu" / name


def is_ours(folder: Path) -> bool:
    """Whether a folder on PATH is one of this cache, which is judged as such and by nothing else."""
    return folder == cache_folder(folder.name)


def ensure(final: Path, problem: Callable[[Path], str | None], fill: Callable[[Path, Path], None], progress: Progress) -> None:
    """Makes sure that `final` is there and good.

    `problem(folder)` says what is wrong with a folder, or None. `fill(result, scratch)` fills the empty folder `result` and may
    leave what it likes in the empty folder `scratch`; what it raises is passed on, and `final` isn't there then.
    """
    final.parent.mkdir(parents=True, exist_ok=True)
    with _locked(final.with_name(f"{final.name}.lock"), f"building {final.name}", progress):
        if problem(final) is None:
            return  # another process built it while this one waited
        for leftover in final.parent.glob(f"{final.name}{_TEMPORARY}*"):
            _remove(leftover)
        workspace = Path(tempfile.mkdtemp(prefix=f"{final.name}{_TEMPORARY}", dir=final.parent))
        try:
            result, scratch = workspace / "result", workspace / "scratch"
            result.mkdir()
            scratch.mkdir()
            fill(result, scratch)
            _take_away(final, workspace)
            result.rename(final)
        except BaseException:
            _take_away(final, workspace)
            raise
        finally:
            _remove(workspace)


def _take_away(final: Path, workspace: Path) -> None:
    """Until its successor is there, a folder stays in place: what isn't good any more may still be in use."""
    if final.exists():
        final.rename(workspace / "old")


def _remove(folder: Path) -> None:
    """Removes a temporary folder. Where a compiler that outlived its killed build still writes, the rest goes the next time."""
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(path: Path, purpose: str, progress: Progress) -> Iterator[None]:
    """Holds the lock file `path`; says for whom it waits. The kernel releases it when the process ends, however it ends."""
    with path.open("a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            progress.say(f"waiting for {lock.read().strip() or 'another process'}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        lock.truncate(0)
        lock.write(f"process {os.getpid()}, {purpose} since {time.strftime('%H:%M:%S')}")
        lock.flush()
        yield
