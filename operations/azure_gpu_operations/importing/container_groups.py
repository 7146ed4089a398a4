"""Converts a group that was read from a file into entries of a stack file: the group, and a job for each GPU that is gone."""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, NamedTuple

from azure_gpu.catalog import names
from azure_gpu.catalog.lifecycle import Status
from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.formats.container_group_file import GroupInFile
from azure_gpu.formats.container_group_settings import Left, settings_of
from azure_gpu.formats.container_group_shape import ARM_TYPE
from azure_gpu.formats.dates import days_later
from azure_gpu.formats.shaped import is_of_placeholder
from azure_gpu.formats.tags import PROPOSED_DAYS
from azure_gpu_operations.importing.blocks import Entry
from azure_gpu_operations.importing.judging import Judgement, Verdict, judge
from azure_gpu_operations.importing.names import fitting
from azure_gpu_operations.importing.successors import Job, job_of


class TakenGroup(NamedTuple):
    """One group."""

    name: str
    group: GroupInFile
    location: str  # "" if unknown
    judgement: Judgement
    left: list[Left]
    entries: list[Entry]
    jobs: dict[str, Job]

    @property
    def problems(self) -> list[Problem]:
        return self.judgement.problems


def take(group: GroupInFile, name: str, location: str, as_of: date, own_day: bool) -> TakenGroup:
    """`location` is the stack's, for a group without one. `own_day`: the day isn't the stack's, so the entry has it."""
    where = str(group.body.get("location") or location)
    judgement = judge(group, where, as_of)
    settings, left, secrets = settings_of(group)
    if "group_name" in settings and names.check(ARM_TYPE, group.name, ""):
        settings["group_name"] = fitting(group.name)
    if judgement.verdicts:
        settings["expires_after"] = days_later(as_of, PROPOSED_DAYS).isoformat()
    if own_day:
        settings["as_of"] = as_of.isoformat()
    ours = Entry(
        "container_groups", name, settings, list(_group_comments(group, judgement, left, secrets)), secrets, judgement.runs
    )
    jobs = dict(_jobs(group, name, settings, where, as_of, judgement))
    entries = [Entry("jobs", key, _dated(job, as_of, own_day), job.notes, job.secrets, True) for key, job in jobs.items()]
    return TakenGroup(name, group, where, judgement, left, [*entries, ours], jobs)


def with_problems(taken: list[TakenGroup], problems: list[Problem]) -> list[TakenGroup]:
    """Each group with what is wrong with it as comments. The entries of one that Azure or its file refuses are comments too."""
    result: list[TakenGroup] = []
    for one in taken:
        own = [
            problem
            for problem in problems
            if len(taken) == 1 or _is_of(problem, one) or not any(_is_of(problem, each) for each in taken)
        ]
        wrong = errors(own)
        told = [f"not taken, {problem}" for problem in wrong]
        told += [f"left out, {problem.path}: {problem.message}; {problem.fix}" for problem in own if is_of_placeholder(problem)]
        if told:
            entries = [entry._replace(active=entry.active and not wrong) for entry in one.entries]
            one = one._replace(entries=[entries[0]._replace(comments=[*told, *entries[0].comments]), *entries[1:]])
        result.append(one)
    return result


def _is_of(problem: Problem, one: TakenGroup) -> bool:
    """Whether it is about this group of a template."""
    where = problem.path.removeprefix(f"{one.group.document.file}:").partition(": ")[2]
    return where == one.group.path or where.startswith((f"{one.group.path}.", f"{one.group.path}["))


def _dated(job: Job, as_of: date, own_day: bool) -> dict[str, Any]:
    return {**job.settings, **({"as_of": as_of.isoformat()} if own_day else {})}


def _group_comments(group: GroupInFile, judgement: Judgement, left: list[Left], secrets: list[str]) -> Iterator[str]:
    if not judgement.runs:
        end = max(verdict.end for verdict in judgement.verdicts)
        yield f"Azure refuses this group since {end}. With an as_of before that day, the embedded Azure runs it."
    for one in left:
        fix = f"; write {one.fix}" if one.fix else ""
        yield f"left out, {group.document.file}:{one.line}: {one.path}: {one.message}{fix}"
    if any(".secret" in key and key.startswith("volumes.") for key in secrets):
        yield "the files of a secret volume are base64 in the file, and plain text here"


def _jobs(
    group: GroupInFile, name: str, settings: Mapping[str, Any], location: str, as_of: date, judgement: Judgement
) -> Iterator[tuple[str, Job]]:
    """A job for each container whose GPU is gone; of several, each has the container's name behind the group's."""
    gone = [verdict for verdict in judgement.verdicts if verdict.status is Status.RETIRED]
    for verdict in gone:
        container = _properties(group)["containers"][verdict.place]
        container_settings: Mapping[str, Any] = settings.get("containers", {}).get(verdict.container, settings)
        job = job_of(verdict.place, container, container_settings, location, as_of)
        if job is not None:
            notes = [*job.notes, *_beside(group, verdict, settings, container_settings)]
            yield (name if len(gone) == 1 else f"{name}-{fitting(verdict.container)}"), job._replace(notes=notes)


def _beside(
    group: GroupInFile, verdict: Verdict, settings: Mapping[str, Any], container_settings: Mapping[str, Any]
) -> Iterator[str]:
    """What the group has and the job hasn't."""
    file = group.document.file
    properties = _properties(group)
    for kind in ("containers", "initContainers"):
        for index, one in enumerate(properties.get(kind) or []):
            if kind != "containers" or index != verdict.place:
                line = group.line_of(f"properties.{kind}[{index}]")
                yield f"left out, {file}:{line}: a job has one container, and {one.get('name')} is another"
    container = f"properties.containers[{verdict.place}].properties"
    for key, path, what in (
        ("mounts", f"{container}.volumeMounts", "a job here has no volumes: let the program fetch and store its files"),
        ("ports", f"{container}.ports", "a job has no ports"),
        ("liveness", f"{container}.livenessProbe", "a job has no probes"),
        ("readiness", f"{container}.readinessProbe", "a job has no probes"),
    ):
        if key in container_settings:
            yield f"left out, {file}:{group.line_of(path)}: {what}"
    if "registries" in settings:
        line = group.line_of("properties.imageRegistryCredentials")
        yield f"left out, {file}:{line}: a job pulls as the stack's identity, which needs the right to; it takes no password"
    if "network" in settings:
        yield f"left out, {file}:{group.line_of('properties.ipAddress')}: a job has no address"
    if settings.get("restart_policy") == "Always":
        yield "the group was started again whenever it ended, and the job isn't: retries is for failures"
    yield "stopped after 60 minutes; write timeout_minutes for another limit"


def _properties(group: GroupInFile) -> dict[str, Any]:
    return group.body.get("properties") or {}
