"""The file of `operations run --on batch --tasks FILE`."""

import json

import pytest

from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.formats import task_file
from azure_gpu.formats.task_file import Output, ResourceFile, Task, TaskFile


def taken(text: str, file: str = "tasks.yaml") -> TaskFile:
    job, problems = task_file.read(text, file)
    assert job is not None, [str(problem) for problem in problems]
    return job


def refused(text: str, file: str = "tasks.yaml") -> list[Problem]:
    job, problems = task_file.read(text, file)
    assert job is None
    return problems


def commands(job: TaskFile) -> list[str]:
    return [task.command for task in job.tasks]


def test_a_list_of_command_lines_is_a_job() -> None:
    job = taken("- python train.py --seed 1\n- python train.py --seed 2\n")
    assert commands(job) == ["python train.py --seed 1", "python train.py --seed 2"]
    assert [task.id for task in job.tasks] == ["task-00001", "task-00002"]
    assert job.tasks[1].path == "tasks.yaml:2: [1]"


def test_a_list_of_words_is_quoted() -> None:
    assert commands(taken("- [echo, 'two words', 3, 0.5]\n")) == ["echo 'two words' 3 0.5"]


def test_a_json_value_a_line_is_a_task_a_line() -> None:
    text = '"echo a"\n\n["echo", "b c"]\n{"id": "last", "command": "echo d", "depends_on": "all"}\n'
    job = taken(text, "tasks.txt")
    assert commands(job) == ["echo a", "echo 'b c'", "echo d"]
    assert job.tasks[2].depends_on == ("task-00001", "task-00002")
    assert job.tasks[2].path == "tasks.txt:4: [2]"


def test_one_line_of_json_is_a_task_where_the_name_says_json_lines() -> None:
    assert commands(taken('["echo", "b"]', "one.jsonl")) == ["echo b"]
    assert commands(taken('["echo", "b"]', "one.json")) == ["echo", "b"]


def test_what_stands_beside_the_tasks_holds_for_all() -> None:
    job = taken("""
pool: train
priority: 5
max_minutes: 90
image: docker.io/library/python:3.11-slim
environment: {A: one, B: two}
retries: 2
outputs: ['*.npz']
tasks:
  - echo 1
  - {command: echo 2, environment: {B: three}, retries: 0, outputs: [{pattern: '*.txt', container: logs, path: day}]}
""")
    assert (job.pool, job.priority, job.max_minutes) == ("train", 5, 90)
    first, second = job.tasks
    assert (first.environment, first.retries, first.outputs) == ({"A": "one", "B": "two"}, 2, (Output("*.npz"),))
    assert (second.environment, second.retries) == ({"A": "one", "B": "three"}, 0)
    assert second.outputs == (Output("*.npz"), Output("*.txt", "logs", "day"))
    assert first.image == second.image == "docker.io/library/python:3.11-slim"


def test_everything_of_a_task_is_read() -> None:
    job = taken("""
tasks:
  - echo before
  - id: mpi
    command: mpirun ./solve
    nodes: 2
    coordination_command: ./prepare
    depends_on: [task-00001]
    resource_files: [{url: 'https://example.org/a', path: data/a, mode: '0750'}]
    shared_files: [{container: input, prefix: meshes, path: shared}]
    timeout_minutes: 1.5
    keep_minutes: 60
    run_options: --shm-size 1g
    elevated: true
    on_failure: {job: terminate, dependents: satisfy}
""")
    task = job.tasks[1]
    assert task == Task(
        id="mpi",
        command="mpirun ./solve",
        path="tasks.yaml:4: tasks[1]",
        nodes=2,
        coordination_command="./prepare",
        depends_on=("task-00001",),
        resource_files=(ResourceFile(url="https://example.org/a", path="data/a", mode="0750"),),
        shared_files=(ResourceFile(container="input", prefix="meshes", path="shared"),),
        timeout_minutes=1.5,
        keep_minutes=60,
        run_options="--shm-size 1g",
        elevated=True,
        on_failure_job="terminate",
        on_failure_dependents="satisfy",
    )


def test_all_problems_are_said_at_once_each_with_its_line() -> None:
    problems = refused("""priority: 2000
retries: -2
tasks:
  - {id: a, command: echo, depends_on: [b]}
  - {id: b, command: echo, depends_on: [A]}
  - {id: B, command: yes}
  - {id: 'c d', command: echo, nodes: 0, depends_on: [aa]}
  - {command: echo, resource_files: [{path: x}], comand: x}
  - {command: echo, on_failure: {job: stop}}
""")
    said = [f"{problem.path} | {problem.message}" for problem in problems]
    for expected in (
        "tasks.yaml:1: priority | a job's priority",
        "tasks.yaml:2: retries | this is too little",
        "tasks.yaml:4: tasks[0] | it waits for itself",
        "tasks.yaml:5: tasks[1] | it waits for itself",
        "tasks.yaml:6: tasks[2] | two tasks have this id, the first at tasks.yaml:5",
        "tasks.yaml:6: tasks[2] | a command is text",
        "tasks.yaml:7: tasks[3] | not a valid task id",
        "tasks.yaml:7: tasks[3].nodes | this is too little",
        "tasks.yaml:7: tasks[3] | it depends on a task that isn't in this file",
        "tasks.yaml:8: tasks[4].resource_files[0] | a file comes from exactly one of",
        "tasks.yaml:8: tasks[4].comand | a task has no property 'comand' here",
        "tasks.yaml:9: tasks[5].on_failure.job | not one of the values",
    ):
        assert any(line.startswith(expected) for line in said), (expected, said)


@pytest.mark.parametrize("text", ["", "tasks: []", "[]", "name: x", "just a line", "tasks: {a: b}"])
def test_a_file_without_tasks_is_refused(text: str) -> None:
    assert refused(text)


def test_a_line_that_is_no_json_is_named() -> None:
    (problem,) = [one for one in refused('"a"\nnope\n', "x.jsonl") if "JSON" in one.message]
    assert problem.path == "x.jsonl:2"


def test_a_likely_secret_is_warned_about_and_not_shown() -> None:
    job, problems = task_file.read("tasks:\n  - {command: echo, environment: {DB_PASSWORD: hunter2}}\n", "tasks.yaml")
    assert job is not None
    (problem,) = problems
    assert problem.severity is Severity.WARNING
    assert "hunter2" not in str(problem)


def test_ten_thousand_tasks_are_read() -> None:
    text = "\n".join(json.dumps(f"echo {number}") for number in range(10_000))
    assert len(taken(text, "many.jsonl").tasks) == 10_000
