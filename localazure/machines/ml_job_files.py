"""What the body of a job of Azure ML says: what of it isn't run here, its nodes, their variables and logs.

A job with `distribution` of the type TensorFlow runs its command once on each node, and the service sets TF_CONFIG there:
Microsoft Learn, machine-learning/how-to-train-tensorflow ("Distributed training"), REST reference 2025-12-01, `TensorFlow`.
"""

import contextlib
import json
import re
import socket
from collections.abc import Iterator, Mapping, Sequence

from localazure.arm.errors import ArmError
from localazure.arm.store import Body

FOLDERS = ("uri_folder", "mltable", "custom_model", "mlflow_model", "triton_model")
FILES = ("uri_file",)
LITERAL = "literal"
TENSORFLOW = "TensorFlow"
_LEFT_OUT = ("parameters", "isolatedNetwork")
_NAME = re.compile(r"[A-Za-z0-9_]+")
_REFERENCE = re.compile(r"\$\{\{\s*(inputs|outputs|search_space)\.([A-Za-z0-9_]+)\s*\}\}")
_HOST = "127.0.0.1"
_ALONE = "user_logs/std_log.txt"


def not_run(properties: Body) -> Iterator[str]:
    """What of a job isn't run here. ArmError for a name that no input can have."""
    yield from (f"'{name}' of a job" for name in _LEFT_OUT if properties.get(name))
    distribution: Body = properties.get("distribution") or {}
    kind, nodes = str(distribution.get("distributionType") or ""), count(properties)
    if not kind and nodes > 1:
        yield "jobs on more than one node without a distribution"
    if kind not in ("", TENSORFLOW):
        yield f"a distribution of the type '{kind}'"
    if kind and int(distribution.get("parameterServerCount") or 0):
        yield "parameter servers of a distribution"
    if kind and int(distribution.get("workerCount") or nodes) != nodes:
        yield "another number of workers than of nodes"
    if str((properties.get("identity") or {}).get("identityType") or "AMLToken") == "UserIdentity":
        yield "jobs with the identity of the user (UserIdentity); jobs run as the compute's identity"
    for kind in ("inputs", "outputs"):
        for name, value in (properties.get(kind) or {}).items():
            if not _NAME.fullmatch(name):  # it becomes part of a path
                message = f"'{name}' isn't a valid name of {kind}; one has letters, digits and underscores."
                raise ArmError(400, "UserError", message, target=f"properties.{kind}")
            of_type = str(value.get("jobInputType") or value.get("jobOutputType") or "")
            if of_type.lower() not in (*FOLDERS, *FILES, *((LITERAL,) if kind == "inputs" else ())):
                yield f"the {kind[:-1]} '{name}' of the type '{of_type}'"


def command(text: str, words: Mapping[str, str]) -> str:
    """The job's command with its references filled in."""
    return _REFERENCE.sub(lambda found: words.get(f"{found[1]}.{found[2]}", found[0]), text)


def count(properties: Body) -> int:
    """On how many nodes the job runs."""
    return max(1, int((properties.get("resources") or {}).get("instanceCount") or 1))


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
