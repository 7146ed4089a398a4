"""`import` of a Batch Shipyard configuration: its folder, or one of its files with the others beside it.

The jobs are written as files of tasks with --tasks."""

import argparse
import re
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from azure_gpu.catalog.problems import Problem, Severity, errors
from azure_gpu.formats import task_file
from azure_gpu.formats.dates import days_later
from azure_gpu.formats.left import Left
from azure_gpu.formats.shaped import is_of_placeholder
from azure_gpu.formats.shipyard import files
from azure_gpu.formats.shipyard.files import KINDS
from azure_gpu.formats.shipyard.jobs import JobSettings, settings_of as jobs_of
from azure_gpu.formats.shipyard.pool_settings import PoolSettings, settings_of as pool_of
from azure_gpu.formats.tags import PROPOSED_DAYS
from azure_gpu_operations.importing.blocks import Entry
from azure_gpu_operations.importing.names import fitting
from azure_gpu_operations.importing.shipyard_page import TakenJob, TakenShipyard
from azure_gpu_operations.importing.shipyard_pools import Judged, judge
from azure_gpu_operations.importing.texts import text_of

_ENDINGS = (".yaml", ".yml", ".json")
_TASK = re.compile(r"\btasks\[(\d+)\]")
_FOUNDATION = ("resource_group", "identity", "storage")


def is_shipyard(path: Path) -> bool:
    """Whether a folder has a pool or jobs, or a file begins like one of Batch Shipyard."""
    if path.is_dir():
        return bool(_files(path))
    text, _ = text_of(str(path))
    return text is not None and bool(files.kind_of(text))


def take(options: argparse.Namespace, location: str, as_of: date, own_day: bool) -> tuple[TakenShipyard, list[Problem]]:
    """`location` is the stack's, or the command line's. `own_day`: the day isn't the stack's, so the entry has it."""
    names = _files(Path(options.file))
    if not names:
        fix = "name the folder in which pool.yaml lies"
        nothing = Problem(options.file, "the folder has no pool and no jobs of Batch Shipyard", fix=fix)
        return TakenShipyard(options.file, "", False, [], [], []), [nothing]
    texts, problems = _texts(names)
    found, wrong = files.read(texts)
    problems += wrong
    name, replaced = "", False
    entries: list[Entry] = []
    if found.pool is not None:
        pool = pool_of(found)
        problems += pool.problems
        name = options.name or fitting(str(found.pool.get("id") or "pool"))
        judged = judge(pool.settings, pool.written, location or found.accounts.location, as_of)
        problems += judged.problems
        replaced = judged.was is not None
        entries = _entries(name, pool, judged, as_of, own_day)
    left = [Left(problem.path, problem.message, problem.fix) for problem in problems if is_of_placeholder(problem)]
    problems = [problem._replace(severity=Severity.WARNING) if is_of_placeholder(problem) else problem for problem in problems]
    refused = errors(problems)
    if refused:
        told = [f"not taken, {problem}" for problem in refused]
        entries = [
            entry._replace(active=False, comments=[*(told if entry.section == "pools" else []), *entry.comments])
            for entry in entries
        ]
    jobs = [_job(job, options) for job in jobs_of(found, name)]
    wrong = [problem for one in jobs for problem in one.job.problems]
    has_pool = any(entry.active for entry in entries)
    if has_pool or any(one.job.content for one in jobs):
        # One task or setting that can't be taken is a comment; the others are taken.
        wrong = [problem._replace(severity=Severity.WARNING) for problem in wrong]
    problems += wrong
    checked = [_checked(one, has_pool) for one in jobs]
    problems += [problem for _, found in checked for problem in found]
    jobs = [one for one, _ in checked]
    return TakenShipyard(options.file, name, replaced, entries, jobs, left), problems


def write_tasks(taken: TakenShipyard) -> list[str]:
    """Writes the files of tasks. A file of another content is never overwritten: it is named."""
    left: list[str] = []
    for one in taken.jobs:
        if not one.job.content:
            continue
        if one.file.exists() and one.file.read_text(encoding="utf-8") != one.text:
            left.append(f"{one.file} is there already, with other tasks")
            continue
        one.file.parent.mkdir(parents=True, exist_ok=True)
        one.file.write_text(one.text, encoding="utf-8")
    return left


def _files(path: Path) -> list[Path]:
    """The files of the configuration: those of the folder, recognised by their first key, the named one first."""
    folder = path if path.is_dir() else path.parent
    named = [] if path.is_dir() else [path]
    beside = [one for one in sorted(folder.iterdir()) if one.suffix.lower() in _ENDINGS and one.is_file() and one not in named]
    usual = [one for one in beside if one.stem in KINDS]
    others = [one for one in beside if one.stem not in KINDS]
    chosen: dict[str, Path] = {}
    for one in [*named, *usual, *(others if path.is_dir() else [])]:
        text, _ = text_of(str(one))
        # A file that isn't text is recognised by the usual name; its problem is reported when it is read.
        kind = files.kind_of(text) if text is not None else one.stem if one.stem in KINDS else ""
        if kind:
            chosen.setdefault(kind, one)
    return list(chosen.values()) if chosen.keys() & {"pool", "jobs"} else []


def _texts(names: list[Path]) -> tuple[list[tuple[str, str]], list[Problem]]:
    texts: list[tuple[str, str]] = []
    problems: list[Problem] = []
    for name in names:
        text, wrong = text_of(str(name))
        problems += wrong
        if text is not None:
            texts.append((str(name), text))
    return texts, problems


def _entries(name: str, pool: PoolSettings, judged: Judged, as_of: date, own_day: bool) -> list[Entry]:
    """The pool to create, the original pool if it differs, and what both depend on."""
    day = {"as_of": as_of.isoformat()} if own_day else {}
    end = {"expires_after": days_later(as_of, PROPOSED_DAYS).isoformat()}
    left = [str(one) for one in pool.left]
    entries = [Entry("foundation", part, "create", [], [], True, unless_there=True) for part in _FOUNDATION]
    entries.append(Entry("batch_account", "", "create", [], [], True, unless_there=True))
    entries.append(Entry("pools", name, {**judged.settings, **end, **day}, [*judged.changes, *left], pool.secrets, True))
    if judged.was is not None:
        told = "Azure refuses this pool today. With an as_of before the end of what is gone, the embedded Azure takes it."
        entries.append(Entry("pools", name, {**judged.was, **end, **day}, [told], pool.secrets, False))
    return entries


class _NoAliases(yaml.SafeDumper):
    """Writes out for each task what several have in common."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - its signature is given
        return True


def _job(job: JobSettings, options: argparse.Namespace) -> TakenJob:
    """With a comment for each problem, and without tasks that wait for one that isn't taken."""
    left = [Left(problem.path, problem.message, problem.fix) for problem in job.problems]
    content, waiting = _without_orphans(job) if left else (job.content, [])
    job = job._replace(content=content, left=[*left, *waiting, *job.left])
    return _with_text(job, Path(options.tasks or ".") / f"{fitting(job.name)}.yaml")


def _with_text(job: JobSettings, file: Path) -> TakenJob:
    text = yaml.dump(job.content, Dumper=_NoAliases, sort_keys=False, allow_unicode=True, width=10_000) if job.content else ""
    return TakenJob(job, file, text)


def _without_orphans(job: JobSettings) -> tuple[dict[str, Any], list[Left]]:
    tasks: list[dict[str, Any]] = job.content.get("tasks", [])
    left: list[Left] = []
    while True:
        there = {task["id"] for task in tasks}
        orphans = {task["id"] for task in tasks if not _names(task) <= there}
        if not orphans:
            break
        for task in tasks:
            if task["id"] in orphans:
                missing = ", ".join(sorted(_names(task) - there))
                left.append(Left(f"job {job.name}", f"the task {task['id']} depends on {missing}, which isn't taken"))
        tasks = [task for task in tasks if task["id"] not in orphans]
    return ({**job.content, "tasks": tasks} if tasks else {}), left


def _names(task: dict[str, Any]) -> set[str]:
    """The tasks that it depends on by name."""
    named = task.get("depends_on")
    return set(named) if isinstance(named, list) else set()


def _checked(one: TakenJob, has_pool: bool) -> tuple[TakenJob, list[Problem]]:
    """A job as the reader of task files takes it: circles, names, numbers. A task that it refuses is left out, unless nothing
    would be taken then; the problems are of the job's file."""
    problems = _problems_of(one)
    wrong = errors(problems)
    refused = {int(found[1]) for problem in wrong if (found := _TASK.search(problem.path))}
    tasks: list[dict[str, Any]] = one.job.content.get("tasks", [])
    kept = [task for index, task in enumerate(tasks) if index not in refused]
    if not wrong or not refused or not (kept or has_pool):
        return one, problems
    content, left = _without_orphans(one.job._replace(content={**one.job.content, "tasks": kept}))
    left = [*(Left(problem.path, problem.message, problem.fix) for problem in wrong), *left, *one.job.left]
    other = _with_text(one.job._replace(content=content, left=left), one.file)
    again = _problems_of(other)
    if errors(again):
        return one, problems
    return other, [*(problem._replace(severity=Severity.WARNING) for problem in wrong), *again]


def _problems_of(one: TakenJob) -> list[Problem]:
    if not one.text:
        return []
    _, problems = task_file.read(one.text, f"tasks of {one.job.name}")
    return problems
