"""Deletes the files of ended tasks from nodes after the task's retentionTime, by default a week.

A task whose files may go earlier leaves a note beside them; a look from time to time removes what is due. A note lies where the
task can write too, so what stands in it may be anything.
"""

import contextlib
import json
import shutil
from pathlib import Path

_USUAL_SECONDS = 7 * 24 * 3600
_NOTE = ".retention"


def note(folder: Path, now: float, seconds: float | None) -> None:
    """A task has ended whose files stay for so long; None: for the usual time."""
    if seconds is not None and seconds < _USUAL_SECONDS:
        mark = folder / _NOTE
        with contextlib.suppress(OSError):  # the task has removed its folder, or has put one of its own here
            mark.unlink(missing_ok=True)  # and not written through a link of the task's
            mark.write_text(json.dumps({"until": now + seconds}), encoding="utf-8")


def sweep(root: Path, now: float) -> None:
    """Removes the folders whose time is over."""
    for mark in root.glob(f"workitems/*/job-1/*/{_NOTE}"):
        if not mark.is_file():
            continue  # a pipe would keep its reader waiting
        try:
            due = float(json.loads(mark.read_text(encoding="utf-8"))["until"]) <= now
        except (OSError, ValueError, TypeError, LookupError, RecursionError):
            continue
        if due:
            shutil.rmtree(mark.parent, ignore_errors=True)


def remove_job(root: Path, job: str) -> None:
    """All files of a job; its id is compared without letter case."""
    for folder in root.glob("workitems/*/"):
        if folder.name.lower() == job.lower():
            shutil.rmtree(folder, ignore_errors=True)
