"""The commands by which a task's nodes become workers, run by a real shell with the variables that Batch sets."""

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from azure_gpu_operations.run.on_batch.commands import EXIT_FILE, worker_commands, worker_port
from tests.support.embedded import until

SHOW = "python3 -c \"import os; print(os.environ['TF_CONFIG'])\""
# As the service sets them. The primary needn't be the first of the list.
HOSTS = {"AZ_BATCH_HOST_LIST": "10.0.0.4,10.0.0.5,10.0.0.6", "AZ_BATCH_MASTER_NODE": "10.0.0.5:6000"}
CLUSTER = {"worker": ["10.0.0.5:20100", "10.0.0.4:20101", "10.0.0.6:20102"]}


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A folder for PATH, with what a node says of its addresses."""
    program = tmp_path / "hostname"
    program.write_text('#!/bin/sh\n[ "$1" = -I ] && echo "$ADDRESSES 172.17.0.1 "\n')
    program.chmod(0o755)
    return tmp_path


def ran(command: str, node: Path, address: str) -> subprocess.CompletedProcess[str]:
    env = {**HOSTS, "AZ_BATCH_TASK_DIR": str(node), "PATH": f"{node}:/usr/local/bin:/usr/bin:/bin", "ADDRESSES": address}
    env["AZ_BATCH_IS_CURRENT_NODE_MASTER"] = str(address == "10.0.0.5").lower()
    return subprocess.run(shlex.split(command), env=env, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.slow
def test_the_primary_is_worker_0_and_the_others_begin_in_the_coordination_command(node: Path) -> None:
    commands = worker_commands(SHOW, 20100)
    first = ran(commands.application, node, "10.0.0.5")
    assert json.loads(first.stdout) == {"cluster": CLUSTER, "task": {"type": "worker", "index": 0}}
    assert ran(commands.coordination, node, "10.0.0.5").stdout == "", "the primary's worker is the application command"
    for address, index in (("10.0.0.4", 1), ("10.0.0.6", 2)):
        other = ran(commands.coordination, node, address)
        assert json.loads(other.stdout) == {"cluster": CLUSTER, "task": {"type": "worker", "index": index}}


@pytest.mark.slow
def test_a_node_that_is_not_in_the_list_says_so_and_starts_nothing(node: Path) -> None:
    done = ran(worker_commands(SHOW, 20100).coordination, node, "10.0.0.40")
    assert (done.returncode, done.stdout) == (1, "")
    assert "none of the addresses of this node ( 10.0.0.40 172.17.0.1 " in done.stderr


@pytest.mark.slow
def test_preparation_comes_first_and_its_failure_starts_nothing(node: Path) -> None:
    done = ran(worker_commands(SHOW, 20100, prepare="false").coordination, node, "10.0.0.4")
    assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.slow
def test_the_code_of_a_worker_beside_the_first_is_left_in_a_file(node: Path) -> None:
    told = node / EXIT_FILE
    told.write_text("9")  # of the try before
    done = ran(worker_commands("sh -c 'exit 7'".replace("'", '"'), 20100).coordination, node, "10.0.0.4")
    assert done.returncode == 0, "the coordination command has started it and ends"
    until(lambda: told.exists() and told.read_text() == "7\n", "the worker has ended")


@pytest.mark.slow
def test_words_reach_the_program_as_they_are(node: Path) -> None:
    words = ("printf", "%s|", "it's", 'a "b" $HOME', "")
    done = ran(worker_commands('"${1}" "${2}" "${3}" "${4}" "${5}"', 20100, words=words).application, node, "10.0.0.5")
    assert done.stdout == 'it\'s|a "b" $HOME||'


def test_the_port_is_the_tasks_own() -> None:
    ports = {worker_port("run-x", f"task-{number}") for number in range(20)}
    assert len(ports) > 1
    assert all(20000 <= port < 30000 for port in ports)
