"""Level `change`: what a second `up` changes of a pool and a cluster, while a task runs on the pool.

It answers what no reading of pages does: whether Batch takes the provider's PUT of a pool that exists, and whether AKS takes one
of a pool whose autoscaler has decided. The task has to end well on the node on which it began.
"""

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import deepcopy
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.conformance.differences import Difference
from tests.support.embedded import CHECKOUT

if TYPE_CHECKING:
    from tests.conformance.stacks import Stack

TASK_SECONDS = 420  # longer than the second `up`; a task that runs on this machine ends with it
_BEGUN = "the task has begun"
_ENDED = "the task has ended"
_CHANGED = "changed"  # a file of the stack, which is there when the second `up` has ended
_SCRIPT = """\
import os, time
print({!r}, flush=True)
end = time.monotonic() + {}
while time.monotonic() < end and not os.path.exists({!r}):
    time.sleep(1)
print({!r})
"""
_PATCHED = "by a request of only that"


def configuration(config: Mapping[str, Any], later: str) -> dict[str, Any]:
    """The stack's configuration after the change: more nodes at most, and so another formula; another end date and tag."""
    changed = deepcopy(dict(config))
    changed["tags"] = {**changed["tags"], "changed": "yes"}
    for pool in changed.get("pools", {}).values():
        pool |= {"autoscale": {**pool["autoscale"], "max_nodes": 2}, "expires_after": later}
    for cluster in changed.get("clusters", {}).values():
        cluster["expires_after"] = later
        cluster["gpu_pools"]["t4"]["max_nodes"] = 2
    return changed


def made(stack: "Stack", end: float) -> Iterator[Difference | str]:
    """Starts the task, changes the stack while it runs, and waits for the task: differences, and lines for the report."""
    with _task(stack) as task:
        _until_begun(task, stack, end)
        stack.changed = True
        stack.write(datetime.now(UTC).date())
        text = stack.operations("up", seconds=end - time.monotonic())
        in_time = task.poll() is None
        (stack.folder / _CHANGED).touch()
        yield "changed: pool and cluster, " + ("while the task ran" if in_time else "after the task had ended already")
        refused = _PATCHED in text
        yield f"changed: the pool {'by PATCH, as its PUT was refused' if refused else 'by the PUT of the provider'}"
        try:
            out, error = task.communicate(timeout=max(end - time.monotonic(), 1))
        except subprocess.TimeoutExpired:
            out, error = "", "it hasn't ended in time"
        if task.returncode != 0 or _ENDED not in out:
            yield Difference("Batch task", "change", "task", "ends well on its node", (out + error)[-1000:])


@contextmanager
def _task(stack: "Stack") -> Iterator["subprocess.Popen[str]"]:
    script = stack.folder / "wait.py"
    script.write_text(_SCRIPT.format(_BEGUN, TASK_SECONDS, str(stack.folder / _CHANGED), _ENDED), encoding="utf-8")
    command = ["-m", "operations", "run", str(script), "--on", "batch", "--retries", "0"]
    options = ["--stack", stack.name, "--config-folder", str(stack.folder)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, *command, *options], cwd=CHECKOUT, env=dict(stack.environment), stdout=pipe, stderr=pipe, text=True
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        process.wait()


def _until_begun(task: "subprocess.Popen[str]", stack: "Stack", end: float) -> None:
    """CommandFailedError where no node takes the task in time, such as without quota."""
    from tests.conformance.stacks import CommandFailedError

    if task.stdout is None:
        raise TypeError("its output is a pipe")
    while time.monotonic() < end:
        line = task.stdout.readline()
        if _BEGUN in line:
            return
        if not line:
            error = task.stderr.read() if task.stderr is not None else ""
            raise CommandFailedError("operations run", f"ended before its task began: {error[-1000:]}")
    raise CommandFailedError("operations run", f"began no task on {stack.name} in time")
