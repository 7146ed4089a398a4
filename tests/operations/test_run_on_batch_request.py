"""What `run --on batch` is asked to do: the command line and the file of tasks, with every problem of both."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from azure_gpu.catalog.problems import Problem
from azure_gpu_operations.run import options as run_options
from azure_gpu_operations.run.context import of_script
from azure_gpu_operations.run.on_batch.request import BatchRequest, resolve
from azure_gpu_operations.run.target import Target

OPEN = "- echo \"it's\n"
SCRIPT = Target(of_script("train.py", "print(1)\n", "", "python:3.11-slim"))


def asked(words: str, target: Target, arguments: Sequence[str]) -> tuple[BatchRequest | None, list[Problem]]:
    return resolve(run_options.parsed(["--on", "batch", *words.split()], arguments), target)


def wanted(words: str, *arguments: str) -> BatchRequest:
    found, problems = asked(words, SCRIPT, arguments)
    assert found is not None
    assert problems == []
    return found


def problems(words: str, target: Target = SCRIPT) -> list[str]:
    return [str(problem) for problem in asked(words, target, ())[1]]


def file(folder: Path, text: str) -> Path:
    path = folder / "tasks.yaml"
    path.write_text(text)
    return path


def test_without_a_file_there_is_one_task_with_the_words_behind_the_hyphens() -> None:
    found = wanted("--nodes 2", "--name", "a b")
    assert [(task.id, task.command, task.nodes) for task in found.job.tasks] == [("main", "--name 'a b'", 2)]
    assert found.is_one


def test_words_behind_the_hyphens_come_before_those_of_each_task(tmp_path: Path) -> None:
    tasks = file(tmp_path, "- --seed 1\n- {id: b, command: --seed 2, nodes: 3}\n")
    found = wanted(f"--tasks {tasks} --nodes 2", "--fast")
    assert [(task.command, task.nodes) for task in found.job.tasks] == [("--fast --seed 1", 2), ("--fast --seed 2", 3)]


def test_a_file_that_is_not_there_and_numbers_out_of_range_come_together(tmp_path: Path) -> None:
    said = problems(f"--tasks {tmp_path}/none.yaml --retries -2 --output ../x --output /etc/passwd")
    assert [text.partition(":")[0] for text in said] == ["--retries", "--output", "--output", "--tasks"]


def test_a_quote_that_stays_open_is_found_before_it_is_sent(tmp_path: Path) -> None:
    assert "missing closing quote" in problems(f"--tasks {file(tmp_path, OPEN)}")[0]


def test_a_task_has_no_image_of_its_own_behind_a_target(tmp_path: Path) -> None:
    text = "- {command: x, image: docker.io/library/python:3.11}\n"
    assert "can't be combined with TARGET" in problems(f"--tasks {file(tmp_path, text)}")[0]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("--retries 1", "not available to retried tasks"),
        ("--nodes 2", "not available to tasks on several nodes"),
    ],
)
def test_a_secret_goes_with_a_task_that_runs_once_on_one_node(said: str, message: str) -> None:
    assert message in problems(said, SCRIPT._replace(secrets={"TOKEN": "hunter2"}))[0]


def test_a_number_of_processes_needs_several_nodes() -> None:
    assert "requires tasks on several nodes" in problems("--processes 4")[0]
    assert wanted("--processes 4 --nodes 2").processes == 4
