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

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from azure_gpu.catalog import spelling
from azure_gpu.catalog.problems import Problem, Severity, errors
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
    if not in_lines and (len(rows) < 2 or not all(_is_json(row) for _, row in rows)):
        return located_yaml.read(text, file)
    values: list[Any] = []
    lines: dict[str, int] = {"": 1}
    problems: list[Problem] = []
    for number, row in rows:
        try:
            values.append(json.loads(row))
            lines[f"[{len(values) - 1}]"] = number
        except (ValueError, RecursionError):
            fix = "write one JSON value a line: text, a list of words, or an object"
            problems.append(Problem(f"{file}:{number}", "this line isn't JSON", fix=fix))
    return Document(file, values, lines), problems


def _is_json(row: str) -> bool:
    if not row.lstrip().startswith(("{", "[", '"')):
        return False
    try:
        json.loads(row)
    except (ValueError, RecursionError):
        return False
    return True


class _Reader:
    def __init__(self, document: Document, problems: list[Problem]) -> None:
        self.document = document
        self.problems = problems
        self.common: Mapping[str, Any] = {}

    def report(
        self, path: str, message: str, *, value: object = None, allowed: str = "", fix: str = "", source: str = ""
    ) -> None:
        self.problems.append(Problem(self.document.at(path), message, value, allowed, fix, source=source))

    def job(self) -> tuple[TaskFile | None, list[Problem]]:
        value = self.document.value
        prefix, items = "", value
        if isinstance(value, dict):
            settings = {key: one for key, one in cast(dict[str, Any], value).items() if key != "tasks"}
            held = validate(settings, _DEFAULTS, self.document, "", what="a file of tasks")
            self.problems += held.problems
            self.common, prefix, items = held.value, "tasks", cast(dict[str, Any], value).get("tasks")
        if not isinstance(items, list) or not items:
            fix = "write a list, a command a line, each with `- ` before it"
            self.report(prefix, "a file of tasks is a list of them, and this holds none", fix=fix)
            return None, self.problems
        self.numbers(self.common, "")
        tasks = [self.task(one, f"{prefix}[{index}]", index) for index, one in enumerate(cast(list[Any], items))]
        whole = [task for task in tasks if task is not None]
        self.ids(whole)
        whole = self.dependencies(whole)
        priority = int(self.common.get("priority", 0))
        if priority not in PRIORITIES:
            self.report("priority", "a job's priority is a number from -1000 to 1000", value=priority, fix="write 0")
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
        dependencies = settings.get("depends_on")
        return Task(
            id=str(settings.get("id", f"task-{index + 1:05d}")),
            command=self.command(settings.get("command", ""), path),
            path=self.document.at(path),
            image=str(whole.get("image", "")),
            environment=environment,
            depends_on=self.names(dependencies, path) if dependencies is not None else (),
            nodes=int(whole.get("nodes", 1)),
            coordination_command=str(whole.get("coordination_command", "")),
            resource_files=self.files("resource_files", settings, path),
            shared_files=self.files("shared_files", settings, path),
            outputs=self.outputs(self.common.get("outputs"), "") + self.outputs(settings.get("outputs"), path),
            retries=whole.get("retries"),
            timeout_minutes=whole.get("timeout_minutes"),
            keep_minutes=whole.get("keep_minutes"),
            run_options=str(whole.get("run_options", "")),
            elevated=bool(whole.get("elevated", False)),
            on_failure_job=failure.get("job", ""),
            on_failure_dependents=failure.get("dependents", ""),
        )

    def command(self, value: object, path: str) -> str:
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return str(value)
        words = cast(list[object], value) if isinstance(value, list) else [None]
        if all(isinstance(word, str | int | float) and not isinstance(word, bool) for word in words):
            return shlex.join(map(str, words))
        self.report(
            path, "a command is text, or a list of words", fix="write the command line; put yes, no, on and off in quotes"
        )
        return ""

    def names(self, value: object, path: str) -> tuple[str, ...]:
        if value == ALL:
            return (ALL,)
        if isinstance(value, list):
            return tuple(map(str, cast(list[object], value)))
        if isinstance(value, str | int):
            return (str(value),)
        self.report(f"{path}.depends_on", "this names no tasks", allowed="a list of their ids, or all", fix="write a list")
        return ()

    def files(self, key: str, settings: Mapping[str, Any], path: str) -> tuple[ResourceFile, ...]:
        found: list[ResourceFile] = []
        for where, files in (("", self.common.get(key, [])), (path, settings.get(key, []))):
            for index, one in enumerate(files):
                file = ResourceFile(**one)
                if bool(file.url) == bool(file.container):
                    at = f"{where}.{key}[{index}]".lstrip(".")
                    self.report(at, "a file comes from exactly one of url and container", fix="write one of the two")
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
                self.report(at, "an output is a pattern of files", fix="write a pattern, such as '*.npz'")
        return tuple(found)

    def numbers(self, settings: Mapping[str, Any], path: str) -> None:
        for key, least in _LEAST.items():
            if key in settings and settings[key] < least:
                allowed = f"{least} or more" if least in (-1, 0, 1) else "more than 0"
                self.report(
                    f"{path}.{key}".lstrip("."),
                    "this is too little",
                    value=settings[key],
                    allowed=allowed,
                    fix=f"write {allowed}",
                )

    def secrets(self, environment: Mapping[str, str], path: str) -> None:
        """Likely secrets among variables, which whoever reads the job can read; each name is reported once."""
        for name, value in environment.items():
            if is_secret_name(name) or holds_secret(value):
                problem = Problem(
                    path=self.document.at(f"{path}.environment.{name}".lstrip(".")),
                    message=f"the variable {name!r} is likely to be a secret, and who may read the job can read it",
                    fix="let the task fetch it with the pool's identity",
                    severity=Severity.WARNING,
                )
                self.problems.append(problem)

    def ids(self, tasks: list[Task]) -> None:
        first: dict[str, Task] = {}
        for task in tasks:
            if not _ID.fullmatch(task.id):
                allowed = f"1 to {LONGEST_ID} letters, digits, hyphens and underscores"
                fix = f"write {re.sub(r'[^A-Za-z0-9_-]+', '-', task.id)[:LONGEST_ID] or 'task-1'}"
                self.problems.append(Problem(task.path, "not a valid task id", task.id, allowed, fix, source=_SOURCE))
            other = first.setdefault(task.id.lower(), task)
            if other is not task:
                message = (
                    f"two tasks have this id, the first at {other.path.partition(': ')[0]}; Batch compares them without case"
                )
                self.problems.append(Problem(task.path, message, task.id, fix="rename one of the two", source=_SOURCE))

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
                fix = f"write {by_lower[near[0]]}" if near else "name a task of this file, or remove it"
                self.problems.append(Problem(task.path, "it depends on a task that isn't in this file", name, fix=fix))
            result.append(task._replace(depends_on=tuple(known)))
        for task in _circle(result):
            fix = "remove one of the dependencies"
            self.problems.append(Problem(task.path, "it waits for itself, through what it depends on", task.id, fix=fix))
        return result


def _circle(tasks: list[Task]) -> Iterator[Task]:
    """The tasks that never become ready: those of a circle, and what waits for them."""
    waiting = {task.id: set(task.depends_on) for task in tasks}
    after: dict[str, list[str]] = {}
    for task in tasks:
        for name in task.depends_on:
            after.setdefault(name, []).append(task.id)
    ready = [name for name, needs in waiting.items() if not needs]
    while ready:
        name = ready.pop()
        del waiting[name]
        for other in after.get(name, []):
            waiting[other].discard(name)
            if not waiting[other]:
                ready.append(other)
    yield from (task for task in tasks if task.id in waiting)
