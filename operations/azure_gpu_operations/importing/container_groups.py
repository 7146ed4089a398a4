"""Converts a group that was read from a file into entries of a stack file: the group, and a job for each GPU that is gone, on a
serverless GPU and with its price.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

from azure_gpu.catalog import names, regions
from azure_gpu.catalog.container_jobs import check_image
from azure_gpu.catalog.lifecycle import Status
from azure_gpu.catalog.prices.container_apps import Meter, packaged_meters
from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.catalog.services.container_apps import PROFILES, Profile, serverless_on
from azure_gpu.catalog.services.container_instances import GPU_SKUS
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats.container_group_file import GroupInFile
from azure_gpu.formats.container_group_settings import Left, settings_of
from azure_gpu.formats.container_group_shape import ARM_TYPE
from azure_gpu.formats.dates import days_later
from azure_gpu.formats.shaped import is_of_placeholder
from azure_gpu.formats.stack_file import SECRET
from azure_gpu.formats.tags import PROPOSED_DAYS
from azure_gpu_operations.importing.blocks import Entry, fitting
from azure_gpu_operations.importing.judging import Judgement, Verdict, judge

# Images that do what a workload of this repository does, on GPUs that are gone.
_WORKLOADS = {"cuda-vector-add": "vector_add", "samples-tf-mnist-demo": "mnist"}
# Parts of the names of regions; the nearest region has the most of these in common.
_PARTS_OF_THE_WORLD = (
    ("europe", "uk", "france", "germany", "norway", "sweden", "switzerland", "italy", "poland", "spain"),
    ("us", "mexico"),
    ("canada", "us"),
    ("asia", "india", "japan", "korea", "malaysia", "indonesia"),
    ("australia",),
    ("brazil", "chile"),
)


class Job(NamedTuple):
    """One job. `gpu` is what it runs on; `secrets` are keys relative to it."""

    container: int  # its place in the group
    settings: dict[str, Any]
    secrets: list[str]
    notes: list[str]
    gpu: str
    price: str  # "" where it isn't known


def job_of(
    index: int, container: Mapping[str, Any], container_settings: Mapping[str, Any], location: str, as_of: date
) -> Job | None:
    """`container` is the one at `index` of the group's body, `container_settings` its keys in the stack file. None if no such
    job was sold on that day."""
    requests: Mapping[str, Any] = container["properties"]["resources"]["requests"]
    sku, count = str(requests["gpu"].get("sku")), int(requests["gpu"].get("count") or 1)
    profiles = sorted((PROFILES[name] for name in serverless_on(as_of)), key=lambda one: one.gpu_memory_gib)
    if not profiles:
        return None
    needed = _memory_of(sku) * count
    profile = next((one for one in profiles if one.gpu_memory_gib >= needed), profiles[-1])
    notes = list(_notes(profile, sku, count, needed, str(container_settings.get("image", ""))))
    region = _region(profile, location)
    settings: dict[str, Any] = {"gpu": profile.gpu}
    settings |= {key: container_settings[key] for key in ("image", "command", "environment") if key in container_settings}
    cpu = min(container_settings.get("cpu", profile.vcpus), profile.vcpus)
    memory = min(container_settings.get("memory_in_gb", profile.memory_gib), profile.memory_gib)
    settings |= {"cpu": cpu, "memory_in_gib": memory}
    if region:
        settings["location"] = region
        if regions.normalise(location) != region:
            notes.append(f"{regions.normalise(location)} has no {profile.type}; {region} is the nearest region that has")
    else:
        notes.append(f"{profile.type} is sold in {', '.join(sorted(profile.regions))}")
    settings["expires_after"] = days_later(as_of, PROPOSED_DAYS).isoformat()
    secrets = [f"secret_environment.{name}" for name in _secret_names(container)]
    price = packaged_meters().hourly_cost(Decimal(str(cpu)), Decimal(str(memory)), Meter(profile.gpu), region)
    return Job(index, settings, secrets, notes, profile.gpu, price.text(as_of) if price else "")


def _memory_of(sku: str) -> Decimal:
    """GiB of one GPU of this SKU; 0 for one that never was."""
    family = GPU_SKUS[sku].vm_family if sku in GPU_SKUS else ""
    sizes = [size for size in SIZES if size.series.name == family and size.gpu_memory_each_gib]
    return Decimal(int(sizes[0].gpu_memory_each_gib or 0)) if sizes else Decimal(0)


def _notes(profile: Profile, sku: str, count: int, needed: Decimal, image: str) -> Any:
    if count > 1:
        yield f"a replica has one {profile.gpu} with {profile.gpu_memory_gib} GiB where the group had {count} {sku} with {needed}"
    for problem in check_image(profile.type, image, ""):
        yield f"{problem.message}; {problem.fix}"
    for name, workload in _WORKLOADS.items():
        if name in image:
            yield f"`workload: {workload}` in place of image is this repository's own, made for these GPUs"


def _secret_names(container: Mapping[str, Any]) -> list[str]:
    variables = container["properties"].get("environmentVariables") or []
    return [str(one.get("name", "")) for one in variables if one.get("value", SECRET) == SECRET]


def _region(profile: Profile, location: str) -> str:
    """Where the profile is sold: there, or in the same part of the world. "" where nothing is known of the location."""
    wanted = regions.normalise(location)
    if not wanted or wanted in profile.regions:
        return wanted
    return max(sorted(profile.regions), key=lambda other: (_shared(wanted, other), _same_letters(wanted, other)))


def _shared(one: str, other: str) -> int:
    return sum(any(word in one for word in part) and any(word in other for word in part) for part in _PARTS_OF_THE_WORLD)


def _same_letters(one: str, other: str) -> int:
    """How many letters both end with, or both begin with, whichever is more; a digit at the end doesn't count."""
    one, other = one.rstrip("0123456789"), other.rstrip("0123456789")
    pairs = (zip(one, other, strict=False), zip(reversed(one), reversed(other), strict=False))
    return max(next((n for n, (a, b) in enumerate(pair) if a != b), min(len(one), len(other))) for pair in pairs)


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
