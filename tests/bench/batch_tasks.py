"""Many short tasks through a pool of one node with 8 slots, against the same tasks run by `xargs -P 8` in the same run.

The overhead of a task is how long its slot stood idle before it: between the end of the task that freed a slot and its own
start, as the tasks themselves wrote both down. The k-th start (from the ninth on) is held against the end eight earlier.
"""

import statistics
import subprocess
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from azure.batch import BatchClient, models
from azure.core.credentials import AccessToken

from tests.bench.results import Bench, Limit, resident_mib
from tests.support.embedded import SUBSCRIPTION, ServedAzure

TASK_OVERHEAD_MS, TASKS_MIB = Limit("at most", 20), Limit("at most", 10)  # MiB that the server grows by
TASK_SECONDS = 0.2
GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/bench-batch"
GROUPS = "2024-03-01"
BATCH = "2024-07-01"
ACCOUNT = "benchbatch"
POOL = "slots"
SLOTS = 8
COLLECTION = 100  # tasks in one request: the service's most
LIMIT_SECONDS = 300
POLL_SECONDS = 0.5
IMAGE = {"publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2204", "version": "latest"}


def measure(bench: Bench, azure: ServedAzure, count: int) -> None:
    client = BatchClient(f"https://{_account(azure)}", _Token(azure), connection_verify=str(azure.ca_bundle))
    shared = azure.state / "bench-batch"
    shared.mkdir()
    _run(client, "warm", SLOTS, _command(shared / "warm"))  # the node comes up, the client's modules load
    before = resident_mib(azure.pid)
    began = time.perf_counter()
    submitted = _run(client, "many", count, _command(shared / "many"))
    whole = time.perf_counter() - began
    after = resident_mib(azure.pid)
    by_xargs = _by_xargs(count, _script(shared / "xargs"))
    gaps, xargs_gap = _gaps(shared / "many", count), statistics.median(_gaps(shared / "xargs", count))
    azure.finished(azure.delete(GROUP, GROUPS))
    p50, p95 = statistics.median(gaps), statistics.quantiles(gaps, n=100)[94]
    found = {"count": count, "submitted": submitted, "whole": whole, "by_xargs": by_xargs, "resident_mib": [before, after]}
    bench.figures["batch_tasks"] = found | {"overhead_ms": p50, "overhead_p95_ms": p95, "xargs_overhead_ms": xargs_gap}
    bench.say(f"{count} tasks of {TASK_SECONDS} s on {SLOTS} slots: {whole:.1f} s, submitting {submitted:.2f} s")
    bench.say(f"  by `xargs -P {SLOTS}`: {by_xargs:.1f} s, overhead of a task, p50 {xargs_gap:.1f} ms")
    bench.say(f"  p95 of a task's overhead {p95:.1f} ms")
    bench.hold("Batch, overhead of a task, p50 in ms", TASK_OVERHEAD_MS, p50)
    bench.hold(f"Batch, MiB that the server grows by over {count} tasks", TASKS_MIB, after - before)


def _account(azure: ServedAzure) -> str:
    """An account with one pool of one node. Its endpoint."""
    azure.put(GROUP, {"location": "eastus"}, GROUPS).raise_for_status()
    account = f"{GROUP}/providers/Microsoft.Batch/batchAccounts/{ACCOUNT}"
    made = azure.made(account, {"location": "eastus"}, BATCH)
    pool = {
        "vmSize": "Standard_NC4as_T4_v3",
        "deploymentConfiguration": {
            "virtualMachineConfiguration": {"imageReference": IMAGE, "nodeAgentSkuId": "batch.node.ubuntu 22.04"}
        },
        "scaleSettings": {"fixedScale": {"targetDedicatedNodes": 1}},
        "taskSlotsPerNode": SLOTS,
    }
    azure.put(f"{account}/pools/{POOL}", {"properties": pool}, BATCH).raise_for_status()
    return made["properties"]["accountEndpoint"]


def _run(client: BatchClient, job: str, count: int, command: str) -> float:
    """Runs `count` tasks to their ends; the seconds that their submission took."""
    client.create_job(models.BatchJobCreateOptions(id=job, pool_info=models.BatchPoolInfo(pool_id=POOL)))
    tasks = [models.BatchTaskCreateOptions(id=f"task-{number:04d}", command_line=command) for number in range(count)]
    began = time.perf_counter()
    for first in range(0, count, COLLECTION):
        client.create_task_collection(job, models.BatchTaskGroup(task_values=tasks[first : first + COLLECTION]))
    submitted = time.perf_counter() - began
    deadline = time.perf_counter() + LIMIT_SECONDS
    while (counts := client.get_job_task_counts(job).task_counts).completed < count:
        if time.perf_counter() > deadline:
            raise RuntimeError(f"{counts.completed} of {count} tasks ended in {LIMIT_SECONDS} s")
        time.sleep(POLL_SECONDS)
    if counts.failed:
        raise RuntimeError(f"{counts.failed} of {count} tasks failed")
    return submitted


def _script(file: Path) -> str:
    """Writes when it began and ended, in nanoseconds. One short line at a time is appended whole."""
    return f"b=$(date +%s%N); sleep {TASK_SECONDS}; echo $b $(date +%s%N) >> {file}"


def _command(file: Path) -> str:
    return f"/bin/sh -c '{_script(file)}'"


def _by_xargs(count: int, script: str) -> float:
    numbers = "\n".join(str(number) for number in range(count))
    began = time.perf_counter()
    subprocess.run(
        ["xargs", "-P", str(SLOTS), "-n", "1", "/bin/sh", "-c", script],
        input=numbers,
        text=True,
        check=True,
        timeout=LIMIT_SECONDS,
    )
    return time.perf_counter() - began


def _gaps(file: Path, count: int) -> Sequence[float]:
    """Milliseconds for which a slot stood idle before each task that found none free."""
    times = [tuple(int(each) for each in line.split()) for line in file.read_text().splitlines()]
    if len(times) != count:
        raise RuntimeError(f"{len(times)} of {count} tasks wrote their times")
    starts, ends = sorted(began for began, _ in times), sorted(ended for _, ended in times)
    return [(start - end) / 1e6 for start, end in zip(starts[SLOTS:], ends, strict=False)]


class _Token:
    """The stack's principal, for the data plane of Batch."""

    def __init__(self, azure: ServedAzure) -> None:
        self._azure = azure

    def get_token(self, *scopes: str, **_: Any) -> AccessToken:
        return AccessToken(self._azure.token(scopes[0]), int(datetime.now(UTC).timestamp()) + 3000)
