"""How long bringing a shipped stack up takes with engine, packages and images at hand, beyond its workloads' own run."""

import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.support.embedded import ServedAzure
from tests.support.stack import ProgramStack

JOBS = "2026-07-01"


@dataclass(frozen=True, slots=True)
class WarmUp:
    """Seconds: of the whole command, and of the workloads' runs, which come one after the other."""

    whole: float
    workloads: float

    @property
    def beyond(self) -> float:
        return self.whole - self.workloads


def measure(azure: ServedAzure, engine_bin: Path, name: str, *, once: bool = False) -> WarmUp:
    """Brings the shipped stack of this name up once, so that its images are built, takes it down, and times the second time.

    `once`: the first time is timed, and the stack is left to the server's end.
    """
    connected = azure.command("connect", name)
    if connected.returncode != 0:
        raise RuntimeError(connected.stderr)
    stack = ProgramStack(azure, name, None, engine_bin=engine_bin, warm=False)
    if not once:
        _succeed(stack.operations("up", "--start-jobs"))
        _succeed(stack.down())
    began = time.monotonic()
    _succeed(stack.operations("up", "--start-jobs"))
    whole = time.monotonic() - began
    workloads = sum(_seconds(azure, job) for job in stack.outputs()["jobs"].values())
    if not once:
        _succeed(stack.down())
    return WarmUp(whole, workloads)


def _seconds(azure: ServedAzure, job: str) -> float:
    """How long the job's one execution ran."""
    (execution,) = azure.get(f"{job}/executions", JOBS).json()["value"]
    times = execution["properties"]
    return (datetime.fromisoformat(times["endTime"]) - datetime.fromisoformat(times["startTime"])).total_seconds()


def _succeed(done: Any) -> None:
    if done.returncode != 0:
        raise RuntimeError(done.stdout[-3000:] + done.stderr[-3000:])
