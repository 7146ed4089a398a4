"""How long bringing a shipped stack up takes with engine, packages and images at hand, beyond its workloads' own run."""

import time
from datetime import datetime
from pathlib import Path

from tests.bench.results import Bench, Limit, succeeded
from tests.support.embedded import ServedAzure
from tests.support.stack import ProgramStack

BEYOND_SECONDS = Limit("at most", 60)
JOBS = "2026-07-01"


def measure(bench: Bench, azure: ServedAzure, engine_bin: Path) -> None:
    """Brings the local stack up once, so that its images are built, takes it down, and times the second time.

    In a quick run it is the lite one; the first time is timed, and the stack is left to the server's end.
    """
    name = "lite" if bench.quick else "local"
    succeeded(azure.command("connect", name))
    stack = ProgramStack(azure, name, None, engine_bin=engine_bin, warm=False)
    if not bench.quick:
        succeeded(stack.operations("up", "--start-jobs"))
        succeeded(stack.down())
    began = time.monotonic()
    succeeded(stack.operations("up", "--start-jobs"))
    whole = time.monotonic() - began
    workloads = sum(_seconds(azure, job) for job in stack.outputs()["jobs"].values())
    if not bench.quick:
        succeeded(stack.down())
    bench.figures["warm_up_seconds"] = {"whole": whole, "workloads": workloads}
    bench.hold("warm `up` of the local stack beyond its workloads' own run, in s", BEYOND_SECONDS, whole - workloads)
    bench.say(f"  whole {whole:.1f} s, workloads, which come one after the other, {workloads:.1f} s")


def _seconds(azure: ServedAzure, job: str) -> float:
    """How long the job's one execution ran."""
    (execution,) = azure.get(f"{job}/executions", JOBS).json()["value"]
    times = execution["properties"]
    return (datetime.fromisoformat(times["endTime"]) - datetime.fromisoformat(times["startTime"])).total_seconds()
