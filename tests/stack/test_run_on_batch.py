"""`run --on batch` on the pools of a real stack: scripts, a workload, many tasks, two nodes with MPI, and what is beside it.

What it makes of a time limit, a Ctrl-C, a preparation that fails and a worker that is lost is in test_run_protocol and in rows of
operations/followed and operations/explained.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stack.attached_runs import is_followed_and_stopped
from tests.support.embedded import CHECKOUT, ServedAzure, until
from tests.support.stack import ProgramStack, standing

pytestmark = pytest.mark.slow
GPU = "Standard_NC4as_T4_v3"
ENDS = {"expires_after": "2999-01-01"}
CONFIG: dict[str, Any] = {
    "team": "tests",
    "location": "eastus",
    "foundation": dict.fromkeys(["resource_group", "identity", "registry", "log_workspace", "storage"], "create"),
    "batch_account": "create",
    "pools": {
        "train": {"size": GPU, "containers": True, "autoscale": {"scenario": "pending_tasks", "max_nodes": 2}, **ENDS},
        "plain": {"size": GPU, "task_slots": 2, "autoscale": {"scenario": "pending_tasks", "max_nodes": 2}, **ENDS},
        "mpi": {
            "size": "Standard_HB120rs_v3",
            "mpi": "hpcx",
            "autoscale": {"scenario": "pending_tasks", "max_nodes": 2, "nodes_per_task": 2},
            **ENDS,
        },
        "group": {
            "size": GPU,
            "containers": True,
            "inter_node": True,
            "autoscale": {"scenario": "pending_tasks", "max_nodes": 2, "nodes_per_task": 2},
            **ENDS,
        },
    },
}
SECRET = "hunter2-hunter2"
SCRIPT = """\
import json, os, pathlib, sys, time
print("arguments", *sys.argv[1:], flush=True)
print("colour", os.environ.get("COLOUR"), "secret", len(os.environ.get("TOKEN", "")), flush=True)
print("said as an error", file=sys.stderr, flush=True)
pathlib.Path("results").mkdir(exist_ok=True)
pathlib.Path("results/said.json").write_text(json.dumps(sys.argv[1:]))
time.sleep(float(os.environ.get("SLEEP", "0")))
sys.exit(int(os.environ.get("CODE", "0")))
"""
RANKS = """\
import os
print("rank", os.environ["OMPI_COMM_WORLD_RANK"], "of", os.environ["OMPI_COMM_WORLD_SIZE"], os.environ["COLOUR"],
      "on", os.environ["PMIX_SYSTEM_TMPDIR"], flush=True)
"""


@pytest.fixture(scope="module")
def stack(azure: ServedAzure, engine_bin: Path) -> Iterator[ProgramStack]:
    """One stack with four pools for all tests here."""
    with standing(azure, "pools", CONFIG, engine_bin=engine_bin) as made:
        yield made


def run(stack: ProgramStack, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    done = stack.operations("run", "--on", "batch", *words, **environment)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def job_of(said: str) -> str:
    """The job's name, as `run` has said it."""
    return said.partition(": job ")[2].split()[0]


def test_a_script_runs_in_a_container_with_its_arguments_and_its_exit_code_is_ours(
    stack: ProgramStack, script: Path, tmp_path: Path
) -> None:
    into = tmp_path / "out"
    options = ["--pool", "train", "--env", "COLOUR=red", "--env", "CODE=7", "--output", "results/*.json", "--into", str(into)]
    done = run(stack, str(script), *options, "--secret-env", "TOKEN", "--", "--epochs", "3", TOKEN=SECRET)
    assert done.returncode == 7, done.stdout + done.stderr
    assert done.stdout == f"arguments --epochs 3\ncolour red secret {len(SECRET)}\n"
    has_kept_the_secret(stack, done)
    assert "said as an error" in done.stderr
    assert "train: failed, exit code 7; " in done.stderr
    assert "on 1 node, " in done.stderr
    assert "USD at 0.526 USD/hour" in done.stderr
    assert [json.loads(file.read_text()) for file in into.rglob("said.json")] == [["--epochs", "3"]]
    explained = stack.operations("explain", job_of(done.stderr))
    assert explained.returncode == 1
    assert "exit code 7" in explained.stdout
    assert "    said as an error" in explained.stdout, "its last lines are shown"


def test_a_script_runs_on_a_node_without_containers_with_what_it_requires(stack: ProgramStack, tmp_path: Path) -> None:
    file = tmp_path / "needs.py"
    file.write_text("import iniconfig, sys\nprint('found', iniconfig.IniConfig.__name__, *sys.argv[1:])\n")
    (tmp_path / "requirements.txt").write_text("iniconfig==2.1.0\n")
    done = run(stack, str(file), "--pool", "plain", "--requirements", str(tmp_path / "requirements.txt"), "--", "a b")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "found IniConfig a b\n"


def test_many_tasks_run_in_their_order_and_the_first_that_fails_gives_the_exit_code(
    stack: ProgramStack, script: Path, tmp_path: Path
) -> None:
    tasks = tmp_path / "tasks.yaml"
    tasks.write_text(
        "- --seed 1\n- [--seed, 2]\n- {id: third, command: --seed 3, environment: {CODE: '4'}}\n"
        "- {id: merge, command: --merge, depends_on: [task-00001, task-00002]}\n"
        "- {id: blocked, command: --never, depends_on: third}\n"
    )
    into = tmp_path / "out"
    done = run(stack, str(script), "--pool", "plain", "--tasks", str(tasks), "--output", "results/*.json", "--into", str(into))
    assert done.returncode == 4, done.stdout + done.stderr
    assert "sent 5 of 5 tasks" in done.stderr
    assert "third: exit code 4" in done.stderr
    assert "3 of 5 tasks succeeded, 1 failed, 1 never ran" in done.stderr
    said = {file.parent.name: json.loads(file.read_text()) for file in into.rglob("said.json")}
    expected = {"task-00001": ["--seed", "1"], "task-00002": ["--seed", "2"], "third": ["--seed", "3"], "merge": ["--merge"]}
    assert said == expected


def test_one_task_runs_on_two_nodes_at_once(stack: ProgramStack, tmp_path: Path) -> None:
    file = tmp_path / "ranks.py"
    file.write_text(RANKS)
    done = run(stack, str(file), "--pool", "mpi", "--nodes", "2", "--env", "COLOUR=blue")
    assert done.returncode == 0, done.stdout + done.stderr
    ranks = sorted(done.stdout.splitlines())
    assert [line.partition(" on ")[0] for line in ranks] == ["rank 0 of 2 blue", "rank 1 of 2 blue"]
    assert len({line.partition(" on ")[2] for line in ranks}) == 2, "each rank is on a node of its own"
    assert "on 2 nodes" in done.stderr


def test_two_workers_meet_by_the_addresses_in_tf_config(stack: ProgramStack) -> None:
    program = str(CHECKOUT / "tests" / "support" / "meeting.py")
    done = run(stack, program, "--pool", "group", "--nodes", "2", "--gpus", "1", "--env", "CODE=3", "--", "--epochs", "3")
    assert done.returncode == 3, done.stdout + done.stderr
    met = json.loads(done.stdout)
    assert met == [{"index": number, "gpus": "0", "arguments": ["--epochs", "3"]} for number in (0, 1)]
    assert "on 2 nodes" in done.stderr
    from tests.support.batch_clients import account_of  # here: Azure's clients take long to load

    account = account_of(stack)
    (other,) = account.list_subtasks(job_of(done.stderr), "main")
    assert (other.id, other.state, other.exit_code) == (1, "completed", 0)
    node = other.node_info
    assert node is not None
    at = node.pool_id or "", node.node_id or ""
    said = b"".join(account.download_node_file(*at, f"{node.task_root_directory}/stdout.txt"))
    assert said.decode().splitlines() == ["heard: all 2 are there"], "the other worker's output is a file of its node"


def test_a_secret_reaches_a_script_without_a_container_and_nobody_who_reads_the_job(stack: ProgramStack, script: Path) -> None:
    done = run(stack, str(script), "--pool", "plain", "--env", "CODE=3", "--secret-env", "TOKEN", TOKEN=SECRET)
    assert done.returncode == 3, done.stdout + done.stderr
    assert f"secret {len(SECRET)}" in done.stdout
    has_kept_the_secret(stack, done)


def has_kept_the_secret(stack: ProgramStack, done: "subprocess.CompletedProcess[str]") -> None:
    """Nobody who reads the run's output, its job or its files finds it."""
    assert SECRET not in done.stdout + done.stderr
    job = job_of(done.stderr)
    from tests.support.batch_clients import account_of  # here: Azure's clients take long to load

    account = account_of(stack)
    bodies = [account.get_job(job), *account.list_tasks(job)]
    assert bodies[1:], "the job is kept, with its task"
    assert all(SECRET not in json.dumps(each.as_dict()) for each in bodies)
    files = [file.name for file in account.list_task_files(job, "main", recursive=True)]
    assert not any(str(file).endswith(".run-environment") for file in files), "its file is gone from the node"


def test_a_run_that_was_left_is_followed_and_stopped_by_its_name(stack: ProgramStack, tmp_path: Path) -> None:
    def is_shown() -> bool:
        rows = json.loads(stack.operations("running", "--json").stdout)["running"]
        plain = next(row for row in rows if row["name"] == "plain")
        assert plain["kind"] == "Batch pool"
        assert plain["usd_hour"] in (0.526, 1.052), "each node of NC4as_T4_v3 costs 0.526 USD an hour in East US"
        return plain["state"].endswith(", 1 task running")

    def lasts() -> None:
        until(is_shown, "it is among what runs")

    is_followed_and_stopped(stack, tmp_path, "--on", "batch", "--pool", "plain", lasts=lasts)


def test_a_pool_is_drained_and_says_what_it_gives_up(stack: ProgramStack, script: Path) -> None:
    assert run(stack, str(script), "--pool", "plain").returncode == 0
    done = stack.operations("stop", "plain")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the pool plain has no nodes any more" in done.stdout
    rows = json.loads(stack.operations("running", "--json").stdout)["running"]
    assert "plain" not in [row["name"] for row in rows]
