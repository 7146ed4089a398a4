"""`run --nodes` on a stack's cluster with queues: workers meet by TF_CONFIG, codes arrive, and what doesn't fit waits whole."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.localazure.kubernetes import groups
from tests.stack.test_run_on_aks import run
from tests.support.embedded import ServedAzure, until
from tests.support.stack import ProgramStack, standing

pytestmark = pytest.mark.slow
CONFIG: dict[str, Any] = {
    "team": "tests",
    "location": "eastus",
    "foundation": dict.fromkeys(["resource_group", "identity", "registry", "log_workspace", "storage"], "create"),
    "clusters": {
        "gpu": {
            "gpu_pools": {"t4": {"size": "Standard_NC4as_T4_v3", "min_nodes": 4, "max_nodes": 4}},
            "metrics": False,
            "groups": True,
            "queues": {"vision": {"gpus": 2}, "speech": {"gpus": 2, "borrow": 0}},
            "expires_after": "2999-01-01",
        }
    },
}
# Every worker hears from each of the others before its first step.
SCRIPT = """\
import json, os, socket, sys, threading, time
config = json.loads(os.environ["TF_CONFIG"])
own, workers = config["task"]["index"], config["cluster"]["worker"]
listening = socket.create_server(("0.0.0.0", int(workers[own].rpartition(":")[2])))
told = set()
def tell():
    while True:
        connection, _ = listening.accept()
        connection.sendall(str(own).encode())
        told.add(connection.recv(9))
        connection.close()
threading.Thread(target=tell, daemon=True).start()
heard = set()
while len(heard) < len(workers) or len(told) < len(workers):
    for number, each in enumerate(workers):
        if number in heard:
            continue
        host, port = each.rsplit(":", 1)
        try:
            with socket.create_connection((host, int(port)), 5) as there:
                heard.add(int(there.recv(9)))
                there.sendall(str(own).encode())
        except (OSError, ValueError):
            time.sleep(0.05)
    time.sleep(0.01)
print("step 1 with", len(heard), "workers", flush=True)
if os.environ.get("HOLD"):
    time.sleep(600)
sys.exit(int(os.environ.get("CODE", "0")) if own == 1 else 0)
"""


@pytest.fixture(scope="module")
def stack(azure: ServedAzure, kubernetes_bin: Path, engine_bin: Path) -> Iterator[ProgramStack]:
    told = groups.told()
    there = azure.state / "groups-bin"
    there.write_text(told.read_text(encoding="utf-8"), encoding="utf-8")
    with standing(azure, "groups", CONFIG, engine_bin=engine_bin, kubernetes_bin=kubernetes_bin) as made:
        yield made
    there.unlink()


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("script") / "meet.py"
    file.write_text(SCRIPT)
    return file


def test_a_group_of_four_runs_to_its_first_step_on_gpus_that_it_borrows(stack: ProgramStack, script: Path) -> None:
    done = run(stack, str(script), "--nodes", "4", "--queue", "vision")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"[{number}] step 1 with 4 workers" for number in range(4)]
    assert "as 4 workers on cluster gpu" in done.stderr


def test_what_is_on_the_cluster_is_what_the_stack_says(stack: ProgramStack) -> None:
    done = stack.pulumi("preview", "--refresh", "--json")
    assert done.returncode == 0, done.stderr
    steps = [
        (step["op"], step["urn"]) for step in json.loads(done.stdout)["steps"] if "kubernetes:" in step["urn"].split("::")[-2]
    ]
    assert len([urn for _, urn in steps if "kueue.x-k8s.io" in urn]) == 5
    assert [step for step in steps if step[0] not in ("same", "refresh")] == []


def test_the_code_of_the_worker_that_fails_is_the_runs(stack: ProgramStack, script: Path) -> None:
    done = run(stack, str(script), "--nodes", "2", "--env", "CODE=7")
    assert done.returncode == 7, done.stderr
    assert "worker 1 failed, exit code 7" in done.stderr


def test_a_group_that_does_not_fit_waits_whole_and_explain_says_for_what(stack: ProgramStack, script: Path) -> None:
    holds, waits = (_started(stack, script, *more) for more in (("--env", "HOLD=1"), ()))
    explained = stack.operations("explain", waits)
    assert explained.returncode == 1, explained.stderr
    assert "it starts when all of it fits" in explained.stdout
    assert "insufficient unused quota for nvidia.com/gpu" in explained.stdout
    assert stack.operations("stop", holds).returncode == 0
    until(lambda: "it succeeded" in stack.operations("explain", waits).stdout, "the group that waited to run")


def _started(stack: ProgramStack, script: Path, *words: str) -> str:
    """The name of a group of the queue `speech` that nobody waits for."""
    done = run(stack, str(script), "--nodes", "2", "--queue", "speech", "--detach", *words)
    assert done.returncode == 0, done.stderr
    found = re.search(r": job (run-\S+)", done.stderr)
    assert found, done.stderr
    return found[1]
