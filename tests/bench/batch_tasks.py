"""Many short tasks through a pool of one node with 8 slots, against the same tasks run by `xargs -P 8` in the same run.

The overhead of a task is how long its slot stood idle before it: between the end of the task that freed a slot and its own
start, as the tasks themselves wrote both down. The k-th start (from the ninth on) is held against the end eight earlier.
"""

import statistics
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from azure.batch import BatchClient, models
from azure.core.credentials import AccessToken

from tests.support.embedded import SUBSCRIPTION, ServedAzure, until

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


@dataclass(frozen=True, slots=True)
class Tasks:
    """Times in seconds, memory in MiB."""

    count: int
    task_seconds: float  # what each task takes by itself
    submitted: float  # for all, in collections of 100
    whole: float  # from before the submission to the last end
    by_xargs: float  # the same tasks
    overhead_ms: float  # p50
    overhead_p95_ms: float
    xargs_overhead_ms: float  # p50
    resident_before_mib: float
    resident_after_mib: float


def measure(azure: ServedAzure, count: int, task_seconds: float) -> Tasks:
    endpoint = _account(azure)
    client = BatchClient(f"https://{endpoint}", _Token(azure), connection_verify=str(azure.ca_bundle))
    shared = azure.state / "bench-batch"
    shared.mkdir()
    _run(client, azure, "warm", SLOTS, _command(shared / "warm", task_seconds))  # the node comes up, the client's modules load
    before = _resident(azure)
    began = time.perf_counter()
    submitted = _run(client, azure, "many", count, _command(shared / "many", task_seconds))
    whole = time.perf_counter() - began
    after = _resident(azure)
    by_xargs = _by_xargs(count, _script(shared / "xargs", task_seconds))
    gaps, xargs_gaps = _gaps(shared / "many", count), _gaps(shared / "xargs", count)
    azure.finished(azure.delete(GROUP, GROUPS))
    return Tasks(
        count=count,
        task_seconds=task_seconds,
        submitted=submitted,
        whole=whole,
        by_xargs=by_xargs,
        overhead_ms=statistics.median(gaps),
        overhead_p95_ms=statistics.quantiles(gaps, n=100)[94],
        xargs_overhead_ms=statistics.median(xargs_gaps),
        resident_before_mib=before,
        resident_after_mib=after,
    )


def _account(azure: ServedAzure) -> str:
    """An account with one pool of one node. Its endpoint."""
    azure.put(GROUP, {"location": "eastus"}, GROUPS).raise_for_status()
    account = f"{GROUP}/providers/Microsoft.Batch/batchAccounts/{ACCOUNT}"
    azure.put(account, {"location": "eastus"}, BATCH).raise_for_status()
    until(lambda: azure.get(account, BATCH).json()["properties"]["provisioningState"] == "Succeeded", "the account is there")
    pool = {
        "vmSize": "Standard_NC4as_T4_v3",
        "deploymentConfiguration": {
            "virtualMachineConfiguration": {"imageReference": IMAGE, "nodeAgentSkuId": "batch.node.ubuntu 22.04"}
        },
        "scaleSettings": {"fixedScale": {"targetDedicatedNodes": 1}},
        "taskSlotsPerNode": SLOTS,
    }
    azure.put(f"{account}/pools/{POOL}", {"properties": pool}, BATCH).raise_for_status()
    return azure.get(account, BATCH).json()["properties"]["accountEndpoint"]


def _run(client: BatchClient, azure: ServedAzure, job: str, count: int, command: str) -> float:
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


def _script(file: Path, seconds: float) -> str:
    """Writes when it began and ended, in nanoseconds. One short line at a time is appended whole."""
    return f"b=$(date +%s%N); sleep {seconds}; echo $b $(date +%s%N) >> {file}"


def _command(file: Path, seconds: float) -> str:
    return f"/bin/sh -c '{_script(file, seconds)}'"


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


def _resident(azure: ServedAzure) -> float:
    said = subprocess.run(["ps", "-o", "rss=", "-p", str(azure.pid)], capture_output=True, text=True, check=True).stdout
    return int(said) / 1024


class _Token:
    """The stack's principal, for the data plane of Batch."""

    def __init__(self, azure: ServedAzure) -> None:
        self._azure = azure

    def get_token(self, *scopes: str, **_: Any) -> AccessToken:
        return AccessToken(self._azure.token(scopes[0]), int(datetime.now(UTC).timestamp()) + 3000)
