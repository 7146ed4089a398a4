"""Judges a container group of a file at a day and in a region, and converts it into entries of a stack file: the group, and a job
for each GPU that is gone, on a serverless GPU and with its price.

A verdict tells of a container whether its GPU is still sold, until when it was, and what replaces it today.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

from azure_gpu.catalog import container_groups, names, regions, tags
from azure_gpu.catalog.container_cuda import check_replica
from azure_gpu.catalog.lifecycle import Status
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.prices.container_apps import packaged_meters
from azure_gpu.catalog.problems import Code, Problem, Severity, errors
from azure_gpu.catalog.services import container_instances
from azure_gpu.catalog.services.container_apps import PROFILES, Profile, serverless_on
from azure_gpu.catalog.services.container_instances import GPU_SKUS, ContainerRequest, GroupRequest
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats import image_reference
from azure_gpu.formats.azure_types import CONTAINER_GROUP
from azure_gpu.formats.container_group_file import GroupInFile
from azure_gpu.formats.container_group_settings import Left, settings_of
from azure_gpu.formats.dates import days_later
from azure_gpu.formats.shaped import is_of_placeholder
from azure_gpu.formats.stack_file import SECRET
from azure_gpu.formats.tags import PROPOSED_DAYS
from azure_gpu_operations.importing.blocks import Entry, fitting


class Verdict(NamedTuple):
    """The state of the GPUs of one container."""

    container: str
    place: int  # in the group, from 0 on
    sku: str
    gpus: int
    line: int
    status: Status
    end: str  # the last day on which it was sold, as YYYY-MM-DD; "" where none is known
    instead: tuple[str, ...]  # names, best first
    text: str  # what to do, with prices
    source: str


class Judgement(NamedTuple):
    """All of it. `problems` doesn't repeat the end of a GPU, which its verdict tells."""

    problems: list[Problem]
    verdicts: list[Verdict]

    @property
    def runs(self) -> bool:
        """Whether Azure still has all the GPUs that the group asks for."""
        return all(verdict.status is not Status.RETIRED for verdict in self.verdicts)


def judge(group: GroupInFile, location: str, as_of: date) -> Judgement:
    """`location` is the group's region; "" if unknown, and then no region is judged."""
    request = _request(group, location)
    images = [
        container_groups.Image(_image(one), group.at(f"properties.containers[{index}].properties.image"))
        for index, one in enumerate(_containers(group))
    ]
    found = container_groups.check(request, images, as_of, packaged())
    ends = {problem.path: problem for problem in found if problem.code in (Code.RETIRED, Code.RETIRING)}
    problems = [problem for problem in found if problem.path not in ends or problem.code not in (Code.RETIRED, Code.RETIRING)]
    if not location:
        problems = [problem for problem in problems if problem.path != request.location_path]
    verdicts = [
        _verdict(index, one, group, location, ends.get(one.gpu_sku_path), as_of, problems)
        for index, one in enumerate(request.containers)
        if one.gpu_count is not None
    ]
    return Judgement([*_words(group), *problems], verdicts)


def _verdict(
    index: int,
    container: ContainerRequest,
    group: GroupInFile,
    location: str,
    end: Problem | None,
    as_of: date,
    problems: list[Problem],
) -> Verdict:
    sku = GPU_SKUS.get(container.gpu_sku)
    lifecycle = sku.lifecycle if sku else container_instances.GPU_FEATURE
    path = f"properties.containers[{index}].properties.resources.requests.gpu"
    # A SKU that doesn't exist is among the problems, with what to use instead.
    told = end or next((one for one in problems if one.path == container.gpu_sku_path), None)
    return Verdict(
        container=container.name,
        place=index,
        sku=container.gpu_sku,
        gpus=container.gpu_count or 0,
        line=group.line_of(path),
        status=lifecycle.status(as_of),
        end=lifecycle.end.day.isoformat() if lifecycle.end else "",
        instead=told.instead if told else (),
        # Without a region the catalog can only tell that the successor is in another one.
        text=(told.fix if location else told.fix.replace(", in another region", "")) if told else "",
        source=told.source if told else "",
    )


def _containers(group: GroupInFile) -> list[dict[str, Any]]:
    return _properties(group).get("containers") or []


def _image(container: Mapping[str, Any]) -> str:
    return str((container.get("properties") or {}).get("image") or "")


def _request(group: GroupInFile, location: str) -> GroupRequest:
    properties = _properties(group)
    address: Mapping[str, Any] = properties.get("ipAddress") or {}
    return GroupRequest(
        location=location,
        os_type=str(properties.get("osType", "Linux")),
        in_virtual_network=bool(properties.get("subnetIds") or properties.get("networkProfile")),
        containers=tuple(_container(index, one, group) for index, one in enumerate(_containers(group))),
        location_path=group.at("location"),
        os_type_path=group.at("properties.osType"),
        network_path=group.at("properties.subnetIds" if properties.get("subnetIds") else "properties.networkProfile"),
        spot=properties.get("priority") == "Spot",
        inbound=address.get("type") == "Public",
        sku=str(properties.get("sku", container_instances.STANDARD)),
        spot_path=group.at("properties.priority"),
    )


def _container(index: int, container: Mapping[str, Any], group: GroupInFile) -> ContainerRequest:
    requests: Mapping[str, Any] = ((container.get("properties") or {}).get("resources") or {}).get("requests") or {}
    gpu: Mapping[str, Any] | None = requests.get("gpu")
    path = f"properties.containers[{index}].properties.resources.requests"
    return ContainerRequest(
        name=str(container.get("name", "")),
        cpu=requests.get("cpu", container_instances.DEFAULT_CPU),
        memory_gb=requests.get("memoryInGB", container_instances.DEFAULT_MEMORY_GB),
        cpu_path=group.at(f"{path}.cpu"),
        memory_path=group.at(f"{path}.memoryInGB"),
        gpu_count=gpu.get("count", 1) if gpu else None,
        gpu_sku=str(gpu.get("sku", "")) if gpu else "",
        gpu_count_path=group.at(f"{path}.gpu.count"),
        gpu_sku_path=group.at(f"{path}.gpu.sku"),
    )


def _words(group: GroupInFile) -> Iterator[Problem]:
    """Names, image references and the region."""
    for problem in names.check(CONTAINER_GROUP.arm_type, group.name, group.at("name")) if group.name else []:
        yield problem._replace(severity=Severity.WARNING)
    if "location" in group.body:
        yield from regions.check(group.body["location"], group.at("location"))
    yield from tags.check(group.body.get("tags") or {}, group.at("tags"))
    properties = _properties(group)
    for kind in ("containers", "initContainers"):
        for index, one in enumerate(properties.get(kind) or []):
            path = f"properties.{kind}[{index}]"
            if "name" in one:
                yield from names.check(names.CONTAINER, one["name"], group.at(f"{path}.name"))
            if _image(one):
                yield from image_reference.check(_image(one), group.at(f"{path}.properties.image"))
    for index, one in enumerate(properties.get("volumes") or []):
        if "name" in one:
            yield from names.check(names.VOLUME, one["name"], group.at(f"properties.volumes[{index}].name"))


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
    price = packaged_meters().hourly_cost(Decimal(str(cpu)), Decimal(str(memory)), profile.gpu, region)
    return Job(index, settings, secrets, notes, profile.gpu, price.text(as_of) if price else "")


def _memory_of(sku: str) -> Decimal:
    """GiB of one GPU of this SKU; 0 for one that never was."""
    family = GPU_SKUS[sku].vm_family if sku in GPU_SKUS else ""
    sizes = [size for size in SIZES if size.series.name == family and size.gpu_memory_each_gib]
    return Decimal(int(sizes[0].gpu_memory_each_gib or 0)) if sizes else Decimal(0)


def _notes(profile: Profile, sku: str, count: int, needed: Decimal, image: str) -> Any:
    if count > 1:
        yield f"a replica has one {profile.gpu} with {profile.gpu_memory_gib} GiB where the group had {count} {sku} with {needed}"
    for problem in check_replica(profile.type, image, ""):
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
    if "group_name" in settings and names.check(CONTAINER_GROUP.arm_type, group.name, ""):
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
