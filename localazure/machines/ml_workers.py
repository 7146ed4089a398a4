"""The workers of a job of Azure ML on several nodes: their number, and what each knows of the others.

A job with `distribution` of the type TensorFlow runs its command once on each node, and the service sets TF_CONFIG there:
Microsoft Learn, machine-learning/how-to-train-tensorflow ("Distributed training"), REST reference 2025-12-01, `TensorFlow`.
"""

import contextlib
import json
import socket
from collections.abc import Sequence

from localazure.arm.store import Body

TENSORFLOW = "TensorFlow"
_HOST = "127.0.0.1"
_ALONE = "user_logs/std_log.txt"


def count(properties: Body) -> int:
    """On how many nodes the job runs."""
    return max(1, int((properties.get("resources") or {}).get("instanceCount") or 1))


def left_out(properties: Body) -> str:
    """What of the job's distribution isn't run here; "" where all of it is."""
    distribution: Body = properties.get("distribution") or {}
    kind, nodes = str(distribution.get("distributionType") or ""), count(properties)
    if not kind:
        return "jobs on more than one node without a distribution" if nodes > 1 else ""
    if kind != TENSORFLOW:
        return f"a distribution of the type '{kind}'"
    if int(distribution.get("parameterServerCount") or 0):
        return "parameter servers of a distribution"
    if int(distribution.get("workerCount") or nodes) != nodes:
        return "another number of workers than of nodes"
    return ""


def addresses(workers: int) -> list[str]:
    """Where workers meet: each at its own port, since all nodes are this machine."""
    with contextlib.ExitStack() as probing:
        probes = [probing.enter_context(socket.create_server((_HOST, 0))) for _ in range(workers)]
        return [f"{_HOST}:{each.getsockname()[1]}" for each in probes]


def variables(properties: Body, index: int, addresses: Sequence[str]) -> dict[str, str]:
    """What worker `index` finds in its environment; `addresses` are all workers', host and port."""
    found = {"AZUREML_NODE_COUNT": str(count(properties)), "NODE_RANK": str(index)}
    if (properties.get("distribution") or {}).get("distributionType") != TENSORFLOW:
        return found
    task = {"type": "worker", "index": index}
    return {**found, "TF_CONFIG": json.dumps({"cluster": {"worker": list(addresses)}, "task": task, "environment": "cloud"})}


def log_of(index: int, workers: int) -> str:
    """The file of a worker's output: `std_log.txt` of one that is alone, else one for each process, as public logs of jobs show
    them: `std_log_process_0.txt`, with as many digits as the last has."""
    return _ALONE if workers <= 1 else f"user_logs/std_log_process_{index:0{len(str(workers - 1))}}.txt"
