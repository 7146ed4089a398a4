"""Reads the file of `operations run --on batch --tasks FILE`: the tasks of one Batch job.

Every problem has file, line and path; None is returned if nothing can be run.

A file is a list in YAML, a JSON value a line, or a mapping with `tasks` and the settings of all of them beside it:

    retries: 2
    environment: {DATA: /mnt/data}
    tasks:
      - python train.py --seed 1                       a command line
      - [python, train.py, --seed, 2]                  its words
      - {id: merge, command: python merge.py, depends_on: all}
"""

import contextlib
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple, cast

from azure_gpu.catalog import spelling
from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats import located_yaml
from azure_gpu.formats.document import Document
from azure_gpu.formats.likely_secrets import holds_secret, is_secret_name
from azure_gpu.formats.shaped import Anything, Flag, ListOf, Number, Object, Shape, Text, TextMap, validate

ALL = "all"  # as `depends_on`: every task above
LONGEST_ID = 64  # characters
PRIORITIES = range(-1000, 1001)
_SOURCE = "Microsoft Learn, rest/api/batchservice/task/add: BatchTaskCreateOptions"
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_CONDITIONS = {"job": ("none", "disable", "terminate"), "dependents": ("block", "satisfy")}


class ResourceFile(NamedTuple):
    """What a node downloads before the task: one address, or a container of the account's own storage, or a folder in it."""

    url: str = ""
    container: str = ""
    prefix: str = ""
    path: str = ""  # where it goes, from the task's working folder on; "" for a container: there
    mode: str = ""  # as chmod takes it: 0750


class Output(NamedTuple):
    """What a node uploads after the task."""

    pattern: str  # from the task's working folder on: **/*.npz
    container: str = ""  # of the account's own storage; "": the one that the run makes
    path: str = ""  # in the container


class Task(NamedTuple):
    """One task, with the file's settings for all tasks."""

    id: str
    command: str  # one command line, no shell around it; behind a target its arguments
    path: str  # where it is written, as the path of a problem
    image: str = ""
    environment: Mapping[str, str] = {}
    depends_on: tuple[str, ...] = ()
    nodes: int = 1  # more: a multi-instance task
    coordination_command: str = ""
    resource_files: tuple[ResourceFile, ...] = ()
    shared_files: tuple[ResourceFile, ...] = ()  # of a multi-instance task, on each of its nodes
    outputs: tuple[Output, ...] = ()
    retries: int | None = None  # None: the run's; -1: unlimited
    timeout_minutes: float | None = None
    keep_minutes: float | None = None  # its folder on the node
    run_options: str = ""  # of its container
    elevated: bool = False
    on_failure_job: str = ""  # none, disable or terminate; "": none
    on_failure_dependents: str = ""  # block or satisfy; "": block


class TaskFile(NamedTuple):
    """One job."""

    tasks: tuple[Task, ...]
    pool: str = ""  # as the stack file calls it
    priority: int = 0
    max_minutes: float | None = None  # of the job


_FILE = Object({"url": Text(), "container": Text(), "prefix": Text(), "path": Text(), "mode": Text()})
_OUTPUT = Object({"pattern": Text(filled=False), "container": Text(), "path": Text()}, required={"pattern": "add pattern: '*'"})
_COMMON: Mapping[str, Shape] = {
    "image": Text(),
    "environment": TextMap(),
    "nodes": Number(whole=True),
    "coordination_command": Text(filled=False),
    "resource_files": ListOf(_FILE, "file"),
    "shared_files": ListOf(_FILE, "file"),
    "outputs": Anything(),
    "retries": Number(whole=True),
    "timeout_minutes": Number(),
    "keep_minutes": Number(),
    "run_options": Text(filled=False),
    "elevated": Flag(),
    "on_failure": Object({key: Text(words) for key, words in _CONDITIONS.items()}),
}
_TASK = Object({"id": Text(), "command": Anything(), "depends_on": Anything(), **_COMMON})
_DEFAULTS = Object({"pool": Text(), "priority": Number(whole=True), "max_minutes": Number(), **_COMMON})
_PLAIN = ("image", "nodes", "coordination_command", "retries", "timeout_minutes", "keep_minutes", "run_options", "elevated")
_LEAST = {"nodes": 1, "retries": -1, "timeout_minutes": 0.001, "keep_minutes": 0, "max_minutes": 0.001}


def read(text: str, file: str) -> tuple[TaskFile | None, list[Problem]]:
    """`file` is how the user named it."""
    document, problems = _document(text, file)
    if document is None:
        return None, problems
    return _Reader(document, problems).job()


def _document(text: str, file: str) -> tuple[Document | None, list[Problem]]:
    """JSON lines if each line is a JSON value, else YAML, of which a JSON value is a part."""
    rows = [(number, row) for number, row in enumerate(text.splitlines(), start=1) if row.strip()]
    in_lines = file.lower().endswith((".jsonl", ".ndjson"))
    if not in_lines and (len(rows) < 2 or not all(row.lstrip().startswith(("{", "[", '"')) for _, row in rows)):
        return located_yaml.read(text, file)
    values: list[Any] = []
    lines: dict[str, int] = {"": 1}
    problems: list[Problem] = []
    for number, row in rows:
        try:
            values.append(json.loads(row))
            lines[f"[{len(values) - 1}]"] = number
        except (ValueError, RecursionError):
            problems.append(refused("tasks.not_json", f"{file}:{number}"))
    return (Document(file, values, lines), problems) if in_lines or not problems else located_yaml.read(text, file)


class _Reader:
    def __init__(self, document: Document, problems: list[Problem]) -> None:
        self.document = document
        self.problems = problems
        self.common: Mapping[str, Any] = {}

    def report(self, name: str, path: str, value: object = None, **words: Any) -> None:
        self.problems.append(refused(name, self.document.at(path), value, **words))

    def job(self) -> tuple[TaskFile | None, list[Problem]]:
        value = self.document.value
        prefix, items = "", value
        if isinstance(value, dict):
            settings = {key: one for key, one in cast(dict[str, Any], value).items() if key != "tasks"}
            held = validate(settings, _DEFAULTS, self.document, "", what="a file of tasks")
            self.problems += held.problems
            self.common, prefix, items = held.value, "tasks", cast(dict[str, Any], value).get("tasks")
        if not isinstance(items, list) or not items:
            self.report("tasks.none", prefix)
            return None, self.problems
        self.numbers(self.common, "")
        tasks = [self.task(one, f"{prefix}[{index}]", index) for index, one in enumerate(cast(list[Any], items))]
        whole = [task for task in tasks if task is not None]
        self.ids(whole)
        whole = self.dependencies(whole)
        priority = int(self.common.get("priority", 0))
        if priority not in PRIORITIES:
            self.report("tasks.priority", "priority", priority)
        job = TaskFile(tuple(whole), str(self.common.get("pool", "")), priority, self.common.get("max_minutes"))
        return (None if errors(self.problems) else job), self.problems

    def task(self, one: Any, path: str, index: int) -> Task | None:
        settings: Mapping[str, Any] = {"command": one}
        if isinstance(one, dict):
            held = validate(cast(dict[str, Any], one), _TASK, self.document, path, what="a task")
            self.problems += held.problems
            settings = held.value
        self.numbers(settings, path)
        whole = {**self.common, **settings}
        environment: dict[str, str] = {**self.common.get("environment", {}), **settings.get("environment", {})}
        self.secrets(settings.get("environment", {}), path)
        failure: Mapping[str, str] = {**self.common.get("on_failure", {}), **settings.get("on_failure", {})}
        plain: dict[str, Any] = {key: whole[key] for key in _PLAIN if key in whole}
        plain |= {f"on_failure_{key}": what for key, what in failure.items()}
        dependencies = settings.get("depends_on")
        return Task(
            id=str(settings.get("id", f"task-{index + 1:05d}")),
            command=self.command(settings.get("command", ""), path),
            path=self.document.at(path),
            environment=environment,
            depends_on=self.names(dependencies, path) if dependencies is not None else (),
            resource_files=self.files("resource_files", settings, path),
            shared_files=self.files("shared_files", settings, path),
            outputs=self.outputs(self.common.get("outputs"), "") + self.outputs(settings.get("outputs"), path),
            **plain,
        )

    def command(self, value: object, path: str) -> str:
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return str(value)
        words = cast(list[object], value) if isinstance(value, list) else [None]
        if all(isinstance(word, str | int | float) and not isinstance(word, bool) for word in words):
            return shlex.join(map(str, words))
        self.report("tasks.command", path)
        return ""

    def names(self, value: object, path: str) -> tuple[str, ...]:
        if value == ALL:
            return (ALL,)
        if isinstance(value, list):
            return tuple(map(str, cast(list[object], value)))
        if isinstance(value, str | int):
            return (str(value),)
        self.report("tasks.names", f"{path}.depends_on")
        return ()

    def files(self, key: str, settings: Mapping[str, Any], path: str) -> tuple[ResourceFile, ...]:
        found: list[ResourceFile] = []
        for where, files in (("", self.common.get(key, [])), (path, settings.get(key, []))):
            for index, one in enumerate(files):
                file = ResourceFile(**one)
                if bool(file.url) == bool(file.container):
                    self.report("tasks.file", f"{where}.{key}[{index}]".lstrip("."))
                found.append(file)
        return tuple(found)

    def outputs(self, value: object, path: str) -> tuple[Output, ...]:
        if value is None:
            return ()
        found: list[Output] = []
        for index, one in enumerate(cast(list[object], value) if isinstance(value, list) else [value]):
            at = f"{path}.outputs[{index}]".lstrip(".")
            if isinstance(one, str):
                found.append(Output(one))
            elif isinstance(one, dict):
                held = validate(cast(dict[str, Any], one), _OUTPUT, self.document, at, what="an output")
                self.problems += held.problems
                found += [Output(**held.value)] if "pattern" in held.value else []
            else:
                self.report("tasks.output", at)
        return tuple(found)

    def numbers(self, settings: Mapping[str, Any], path: str) -> None:
        for key, least in _LEAST.items():
            if key in settings and settings[key] < least:
                enough = f"{least} or more" if least in (-1, 0, 1) else "more than 0"
                self.report("tasks.too_little", f"{path}.{key}".lstrip("."), settings[key], enough=enough)

    def secrets(self, environment: Mapping[str, str], path: str) -> None:
        """Likely secrets among variables, which whoever reads the job can read; each name is reported once."""
        for name, value in environment.items():
            if is_secret_name(name) or holds_secret(value):
                self.report("tasks.secret", f"{path}.environment.{name}".lstrip("."), variable=name)

    def ids(self, tasks: list[Task]) -> None:
        first: dict[str, Task] = {}
        for task in tasks:
            if not _ID.fullmatch(task.id):
                valid = re.sub(r"[^A-Za-z0-9_-]+", "-", task.id)[:LONGEST_ID] or "task-1"
                self.problems.append(refused("tasks.id", task.path, task.id, source=_SOURCE, most=LONGEST_ID, valid=valid))
            other = first.setdefault(task.id.lower(), task)
            if other is not task:
                first_at = other.path.partition(": ")[0]
                self.problems.append(refused("tasks.id_twice", task.path, task.id, source=_SOURCE, first_at=first_at))

    def dependencies(self, tasks: list[Task]) -> list[Task]:
        """With `all` written out. Dependencies have to be there, and none may lead back to its task."""
        by_lower = {task.id.lower(): task.id for task in reversed(tasks)}
        result: list[Task] = []
        for index, task in enumerate(tasks):
            if task.depends_on == (ALL,):
                result.append(task._replace(depends_on=tuple(other.id for other in tasks[:index])))
                continue
            known: list[str] = []
            for name in task.depends_on:
                if name.lower() in by_lower:
                    known.append(by_lower[name.lower()])
                    continue
                near = spelling.nearest(name.lower(), by_lower, 1)
                fix = f"write {by_lower[near[0]]}" if near else None
                self.problems.append(refused("tasks.no_such_task", task.path, name, fix=fix))
            result.append(task._replace(depends_on=tuple(known)))
        self.problems += [refused("tasks.circle", task.path, task.id) for task in _circle(result)]
        return result


def _circle(tasks: list[Task]) -> Iterator[Task]:
    """The tasks that never become ready: those of a circle, and what waits for them."""
    order = TopologicalSorter({task.id: task.depends_on for task in tasks})
    with contextlib.suppress(CycleError):
        order.prepare()
    ready: set[str] = set()
    while found := order.get_ready():
        ready.update(found)
        order.done(*found)
    return (task for task in tasks if task.id not in ready)
