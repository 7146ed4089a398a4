"""How long bringing the local stack up takes with engine, packages and images at hand, beyond its workloads' own run."""

import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.support.embedded import EmbeddedAzure
from tests.support.stack import ProgramStack


@dataclass(frozen=True, slots=True)
class WarmUp:
    """Seconds: of the whole command, and from the first workload's start to the last one's end."""

    whole: float
    workloads: float

    @property
    def beyond(self) -> float:
        return self.whole - self.workloads


def measure(azure: EmbeddedAzure, engine_bin: Path) -> WarmUp:
    """Brings the stack up once, so that its images are built, takes it down, and times the second time."""
    connected = azure.command("connect", "local")
    if connected.returncode != 0:
        raise RuntimeError(connected.stderr)
    stack = ProgramStack(azure, "local", None, engine_bin=engine_bin)
    _succeed(stack.up())
    _succeed(stack.down())
    began = time.monotonic()
    _succeed(stack.up())
    whole = time.monotonic() - began
    runs = [_run(azure.get(group, "2023-05-01").json()) for group in stack.outputs()["container_groups"].values()]
    _succeed(stack.down())
    workloads = max(end for _, end in runs) - min(start for start, _ in runs)
    return WarmUp(whole, workloads.total_seconds())


def _run(group: dict[str, Any]) -> tuple[datetime, datetime]:
    """When the group's one container started and ended."""
    state = group["properties"]["containers"][0]["properties"]["instanceView"]["currentState"]
    return datetime.fromisoformat(state["startTime"]), datetime.fromisoformat(state["finishTime"])


def _succeed(done: Any) -> None:
    if done.returncode != 0:
        raise RuntimeError(done.stdout[-3000:] + done.stderr[-3000:])
