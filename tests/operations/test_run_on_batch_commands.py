"""Command lines of tasks, and the commands by which a task's nodes become workers: what a shell makes of them."""

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from azure_gpu.formats.build_context import Context
from azure_gpu_operations.run.context import of_folder, of_script
from azure_gpu_operations.run.on_batch import commands
from azure_gpu_operations.run.on_batch.commands import EXIT_FILE, worker_commands, worker_port
from tests.support.embedded import until
from tests.support.patience import SECONDS

WORDS = ["a b", "it's", "$HOME", "`id`", 'q"q', "", "back\\slash", "new\nline", "#", "*", "-x=~"]
SHOW = "python3 -c 'import json, sys; print(json.dumps(sys.argv[1:]))'"
NODE = {"AZ_BATCH_TASK_WORKING_DIR": "/mnt/a folder", "AZ_BATCH_NODE_SHARED_DIR": "/mnt/shared"}


def ran(line: str, **environment: str) -> str:
    """As a node starts it: split into words, without a shell around it."""
    done = subprocess.run(
        shlex.split(line), env={**os.environ, **NODE, **environment}, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.slow
def test_words_reach_a_program_behind_a_shell_as_they_are() -> None:
    assert json.loads(ran(commands.script(f"{SHOW} {commands.shell_line(WORDS)}"))) == WORDS


@pytest.mark.slow
def test_variables_of_the_node_are_filled_in_and_no_others() -> None:
    line = commands.script(
        f"{SHOW} {commands.shell_line(['$AZ_BATCH_TASK_WORKING_DIR/x y', '${AZ_BATCH_NODE_SHARED_DIR}', '$PATH'])}"
    )
    assert json.loads(ran(line)) == ["/mnt/a folder/x y", "/mnt/shared", "$PATH"]


def test_words_are_quoted_for_a_shell_but_for_variables_of_the_node() -> None:
    assert commands.shell_line(["a b", "it's", "$HOME", "`id`", 'q"q', "", "back\\slash", "plain"]) == (
        r""""a b" "it's" "\$HOME" "\`id\`" "q\"q" "" "back\\slash" plain"""
    )
    line = ["$AZ_BATCH_TASK_WORKING_DIR/x y", "${AZ_BATCH_NODE_SHARED_DIR}", "$PATH"]
    assert commands.shell_line(line) == r'''"$AZ_BATCH_TASK_WORKING_DIR""/x y" "${AZ_BATCH_NODE_SHARED_DIR}" "\$PATH"'''


def test_a_file_of_secrets_is_read_and_removed_before_the_program_starts() -> None:
    file = '"$AZ_BATCH_TASK_WORKING_DIR/.run-environment"'
    *shell, line = shlex.split(commands.native("nvidia-smi -L", secrets=True))
    assert (shell, line) == (["/bin/bash", "-c"], f". {file} && rm -f {file} && exec nvidia-smi -L")
    assert commands.secrets_file([("TOKEN", "it's $HOME")]) == b"export TOKEN='it'\"'\"'s $HOME'\n"
    started = commands.container([], ["python", "two words", "$AZ_BATCH_NODE_SHARED_DIR/x"], secrets=True)
    assert started is not None
    assert started.run_options == "--entrypoint /bin/sh"
    called = f'. {file} && rm -f {file} && exec "${{1}}" "${{2}}" "$AZ_BATCH_NODE_SHARED_DIR"/x'
    assert shlex.split(started.command_line) == ["-c", called, "sh", "python", "two words"]


def test_a_command_that_needs_no_shell_is_sent_as_it_is() -> None:
    assert commands.native("nvidia-smi -L") == "nvidia-smi -L"


@pytest.mark.slow
def test_secrets_are_read_from_a_file_that_is_gone_when_the_program_starts(tmp_path: Path) -> None:
    file = tmp_path / ".run-environment"
    file.write_bytes(commands.secrets_file([("TOKEN", 'it\'s $HOME "x"')]))
    line = commands.native('/bin/sh -c \'echo "$TOKEN"; ls -A "$AZ_BATCH_TASK_WORKING_DIR"\'', secrets=True)
    assert ran(line, AZ_BATCH_TASK_WORKING_DIR=str(tmp_path)) == 'it\'s $HOME "x"\n'
    assert not file.exists()


@pytest.mark.slow
def test_a_containers_words_stay_words_behind_the_shell_that_reads_its_secrets(tmp_path: Path) -> None:
    (tmp_path / ".run-environment").write_bytes(commands.secrets_file([("TOKEN", "hunter2")]))
    whole = ["python3", "-c", "import os, sys; print(os.environ['TOKEN'], sys.argv[1:])", *WORDS, "$AZ_BATCH_NODE_SHARED_DIR/x"]
    started = commands.container(whole[3:], whole, secrets=True)
    assert started is not None
    assert started.run_options == "--entrypoint /bin/sh"
    said = ran(f"/bin/sh {started.command_line}", AZ_BATCH_TASK_WORKING_DIR=str(tmp_path))
    assert said == f"hunter2 {[*WORDS, '/mnt/shared/x']}\n"


def test_a_container_that_needs_no_shell_keeps_its_own_entry_point() -> None:
    assert commands.container(["--steps", "3"], None) == commands.Started("--steps 3", "")


def test_a_command_that_nobody_knows_can_not_be_wrapped() -> None:
    assert commands.container([], None, secrets=True) is None


@pytest.mark.parametrize(
    ("dockerfile", "arguments", "whole"),
    [
        ('FROM a\nENTRYPOINT ["python", "-m", "x"]\nCMD ["--help"]\n', [], ("python", "-m", "x", "--help")),
        ('FROM a\nENTRYPOINT ["python", "-m", "x"]\nCMD ["--help"]\n', ["--steps", "3"], ("python", "-m", "x", "--steps", "3")),
        ('FROM a\nCMD ["python", "x.py"]\n', [], ("python", "x.py")),
        ("FROM a\nENTRYPOINT python x.py\n", [], None),
        ("FROM a\n", [], None),
    ],
)
def test_an_images_command_is_read_from_its_dockerfile(
    dockerfile: str, arguments: list[str], whole: tuple[str, ...] | None
) -> None:
    context = of_folder("x", {"Dockerfile": dockerfile.encode()})
    assert commands.whole_command(context, arguments) == whole


def script_with_requirements() -> Context:
    return of_script("my train.py", "print(1)\n", "iniconfig\n", "python:3.11-slim")


@pytest.mark.slow
def test_requirements_are_installed_once_for_each_content(tmp_path: Path) -> None:
    context = script_with_requirements()
    (tmp_path / "bin").mkdir()
    pip = tmp_path / "bin" / "python3"  # stands for pip: leaves a file where it is told to install
    pip.write_text('#!/bin/sh\nwhile [ "$1" != --target ]; do shift; done\nmkdir -p "$2"; echo x >> "$2/installed"; echo ran\n')
    pip.chmod(0o755)
    line = commands.in_shell(commands.install(context, str(tmp_path)))
    environment = {
        "AZ_BATCH_NODE_SHARED_DIR": str(tmp_path / "shared"),
        "AZ_BATCH_JOB_ID": "job",
        "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
    }
    assert ran(line, **environment) == "ran\n"
    assert ran(line, **environment) == ""
    assert (tmp_path / "shared" / "run" / context.tag / "installed").read_text() == "x\n"


def test_a_script_is_found_by_the_name_that_it_has_on_the_node() -> None:
    context = script_with_requirements()
    line = commands.python("$AZ_BATCH_JOB_PREP_WORKING_DIR", context.script, commands.library_of(context), ["--n", "a b"])
    library = f"$AZ_BATCH_NODE_SHARED_DIR/run/{context.tag}"
    assert line == f'env PYTHONPATH="{library}" python3 "$AZ_BATCH_JOB_PREP_WORKING_DIR/my_train.py" --n "a b"'


SHOW_TF_CONFIG = "python3 -c \"import os; print(os.environ['TF_CONFIG'])\""
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


def ran_on(command: str, node: Path, address: str) -> subprocess.CompletedProcess[str]:
    env = {**HOSTS, "AZ_BATCH_TASK_DIR": str(node), "PATH": f"{node}:/usr/local/bin:/usr/bin:/bin", "ADDRESSES": address}
    env["AZ_BATCH_IS_CURRENT_NODE_MASTER"] = str(address == "10.0.0.5").lower()
    return subprocess.run(shlex.split(command), env=env, capture_output=True, text=True, check=False, timeout=SECONDS)


@pytest.mark.slow
def test_the_primary_is_worker_0_and_the_others_begin_in_the_coordination_command(node: Path) -> None:
    commands = worker_commands(SHOW_TF_CONFIG, 20100)
    first = ran_on(commands.application, node, "10.0.0.5")
    assert json.loads(first.stdout) == {"cluster": CLUSTER, "task": {"type": "worker", "index": 0}}
    assert ran_on(commands.coordination, node, "10.0.0.5").stdout == "", "the primary's worker is the application command"
    for address, index in (("10.0.0.4", 1), ("10.0.0.6", 2)):
        other = ran_on(commands.coordination, node, address)
        assert json.loads(other.stdout) == {"cluster": CLUSTER, "task": {"type": "worker", "index": index}}


@pytest.mark.slow
def test_a_node_that_is_not_in_the_list_says_so_and_starts_nothing(node: Path) -> None:
    done = ran_on(worker_commands(SHOW_TF_CONFIG, 20100).coordination, node, "10.0.0.40")
    assert (done.returncode, done.stdout) == (1, "")
    assert "none of the addresses of this node ( 10.0.0.40 172.17.0.1 " in done.stderr


@pytest.mark.slow
def test_preparation_comes_first_and_its_failure_starts_nothing(node: Path) -> None:
    done = ran_on(worker_commands(SHOW_TF_CONFIG, 20100, prepare="false").coordination, node, "10.0.0.4")
    assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.slow
def test_the_code_of_a_worker_beside_the_first_is_left_in_a_file(node: Path) -> None:
    told = node / EXIT_FILE
    told.write_text("9")  # of the try before
    done = ran_on(worker_commands("sh -c 'exit 7'".replace("'", '"'), 20100).coordination, node, "10.0.0.4")
    assert done.returncode == 0, "the coordination command has started it and ends"
    until(lambda: told.exists() and told.read_text() == "7\n", "the worker has ended")


@pytest.mark.slow
def test_words_reach_the_program_as_they_are(node: Path) -> None:
    words = ("printf", "%s|", "it's", 'a "b" $HOME', "")
    done = ran_on(worker_commands('"${1}" "${2}" "${3}" "${4}" "${5}"', 20100, words=words).application, node, "10.0.0.5")
    assert done.stdout == 'it\'s|a "b" $HOME||'


def test_the_port_is_the_tasks_own() -> None:
    ports = {worker_port("run-x", f"task-{number}") for number in range(20)}
    assert len(ports) > 1
    assert all(20000 <= port < 30000 for port in ports)
