"""`import` of Azure ML's YAML, Kubernetes manifests for clusters, and Batch and AKS resources of ARM: a file, or a folder of
them.

Documents that belong together, such as an endpoint and its deployments, become one entry. Each entry is judged at the day;
what isn't taken is a comment with its line. As the last step the GPUs of each document are looked for in what was taken, so
that one that a reader missed is a comment too.
"""

import argparse
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple, cast

from azure_gpu.catalog import offers, regions
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.problems import Code, Problem, Severity, errors
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats import arm_container_apps, arm_settings, arm_template, cluster_manifest, ml_yaml, retired_ml
from azure_gpu.formats.azure_types import CONTAINER_GROUP
from azure_gpu.formats.body_keys import not_read
from azure_gpu.formats.body_reader import Left, PartInFile, Reading, given, mapping
from azure_gpu.formats.container_group_template import others_in
from azure_gpu.formats.dates import days_later
from azure_gpu.formats.document import Document
from azure_gpu.formats.gpu_mentions import mentions
from azure_gpu.formats.lenient_json import member
from azure_gpu.formats.tags import PROPOSED_DAYS
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.importing.blocks import Entry, fitting
from azure_gpu_operations.importing.pools import gpus_of, judge
from azure_gpu_operations.importing.recognition import Format, documents_of, files_of, format_of, text_of

_GONE = (Code.RETIRED, Code.NOT_OFFERED)
_LONGEST_ENDPOINT = 32
_CLUSTER = "gpu"  # of manifests, whose cluster has no name in the file
_FOUNDATION = {
    "pools": ("resource_group", "identity", "storage"),
    "batch_account": ("resource_group", "identity", "storage"),
    "clusters": ("resource_group", "identity"),
    "vms": ("resource_group", "identity"),
    "ml_workspace": ("resource_group", "identity", "registry", "storage", "log_workspace"),
    "ml_endpoints": ("resource_group", "identity", "registry", "storage", "log_workspace"),
    "jobs": ("resource_group", "identity", "log_workspace"),
}
# Settings that are machines: the size's key and the service, by section.
_MACHINES = {
    "clusters": ("size", Service.AKS),
    "ml_workspace": ("size", Service.ML_COMPUTE),
    "vms": ("size", Service.VIRTUAL_MACHINES),
    "ml_endpoints": ("instance_type", Service.ML_ENDPOINT),
}


class Context(NamedTuple):
    """For which stack and day entries are made."""

    location: str  # "" if it isn't known; then no region is judged
    as_of: date
    own_day: bool  # the day isn't the stack's, so entries have it


@dataclass(slots=True)
class TakenDocuments:
    """All of it."""

    file: str
    entries: list[Entry] = field(default_factory=list[Entry])
    left: list[Left] = field(default_factory=list[Left])
    commands: list[ml_yaml.Command] = field(default_factory=list[ml_yaml.Command])
    secrets: list[str] = field(default_factory=list[str])  # of manifests: `job: VARIABLE`

    @property
    def is_empty(self) -> bool:
        return not (self.commands or any(entry.active and not entry.unless_there for entry in self.entries))


def take(
    options: argparse.Namespace,
    context: Context,
    parameters: Mapping[str, Any],
    scope: arm_template.Scope,
    *,
    with_groups: bool = False,
) -> tuple[TakenDocuments, list[Problem]]:
    """Of a file or a folder. Problems: what can't be read at all, and what Azure refuses. `with_groups`: the container groups of
    a template are read beside this."""
    taken = TakenDocuments(options.file)
    problems: list[Problem] = []
    found = FoundDocuments(with_groups)
    for file in files_of(Path(options.file)):
        text, wrong = text_of(str(file))
        problems += wrong
        if text is None:
            continue
        documents, wrong = documents_of(text, str(file))
        # What is understood in spite of a mistake is taken; the mistake is told.
        problems += [_warned(problem) for problem in wrong] if documents else wrong
        for document in documents:
            found.read(document, parameters, scope)
    parts = list(found.parts)
    if found.manifests:
        parts += _of_manifests(found, options, taken)
    _name_only(parts, options)
    taken.commands = found.commands
    problems += _entries(parts, context, taken)
    taken.left = [*found.left(), *taken.left]
    problems += [of_left(left) for left in taken.left if not left.changed]
    return taken, problems


class FoundDocuments:
    """What the documents hold, before it is put together."""

    def __init__(self, with_groups: bool) -> None:
        self._with_groups = with_groups
        self.readings: list[Reading] = []
        self.manifests: list[Reading] = []
        self.commands: list[ml_yaml.Command] = []
        self.parts: list[PartInFile] = []
        self._mentioned: list[tuple[Reading, object, str]] = []  # values in which GPUs are looked for

    def read(self, document: Document, parameters: Mapping[str, Any], scope: arm_template.Scope) -> None:
        kind = format_of(document.value)
        if kind is Format.TEMPLATE:
            self._template(document, parameters, scope)
            return
        reading = Reading(document)
        self.readings.append(reading)
        self._mentioned.append((reading, document.value, ""))
        body = mapping(document.value)
        if kind is Format.MACHINE_LEARNING:
            self._machine_learning(body, reading)
        elif kind is Format.RETIRED:
            self._found(retired_ml.read(body, reading))
        elif kind is Format.KUBERNETES:
            self.manifests.append(reading)
        elif kind is Format.RESOURCE:
            listed = [(f"[{index}]", one) for index, one in enumerate(document.value)] if isinstance(document.value, list) else []
            for path, one in listed or [("", body)]:
                self._resource(mapping(one), path, reading)
        elif kind is Format.CONTAINER_GROUP:
            self._group("", reading)
        elif isinstance(body.get("dependencies"), list):
            reading.leave("", "a conda file", "set conda_file of an environment to it, or write requirements.txt")
        else:
            reading.leave("", "not a file that is read", "see `import --help` for those that are")

    def _machine_learning(self, body: Mapping[str, Any], reading: Reading) -> None:
        kind = ml_yaml.kind_of(body)
        if kind not in ml_yaml.READERS:
            path = "$schema" if "$schema" in body else "type"
            instead = not_read("Azure ML", kind)
            reading.leave(path, f"{kind} isn't taken", f"see {instead}" if instead else "it has no key in the stack file")
            return
        self._found(ml_yaml.read(kind, body, "", reading, str(Path(reading.document.file).parent)))

    def _found(self, found: ml_yaml.Found) -> None:
        self.parts += [one for one in found if isinstance(one, PartInFile)]
        self.commands += [_with_fitting_compute(one) for one in found if isinstance(one, ml_yaml.Command)]

    def _resource(self, body: Mapping[str, Any], path: str, reading: Reading) -> None:
        kind = arm_settings.kind_of(body)
        if kind not in arm_settings.READERS:
            section = not_read("ARM", kind.lower())
            fix = f"see {section} of the stack file" if section else "keep it as it is"
            reading.leave(path or "type", f"a {kind} isn't taken", fix)
            return
        found = arm_settings.read(kind, body, path, reading)
        if found and (there := arm_settings.exists_as(body)):
            takes = f"`{COMMAND} import {there}` takes it over"
            found[-1].notes.append(f"{reading.document.at(path)}: it exists in Azure, and this declares another: {takes}")
        self.parts += found

    def _template(self, document: Document, parameters: Mapping[str, Any], scope: arm_template.Scope) -> None:
        found, problems = others_in(document, parameters, scope)
        reading = Reading(document)
        self.readings.append(reading)
        for one in found:
            inner = Reading(document, one.unknown)
            self.readings.append(inner)
            self._mentioned.append((inner, one.body, one.path))
            self._resource(one.body, one.path, inner)
        for path, entry in [] if self._with_groups else _groups_in(document.value, ""):
            self._group(path, reading)
            self._mentioned.append((reading, entry, path))
        told = {left.at for each in self.readings for left in each.left}
        for problem in problems:
            if problem.path not in told and problem.severity is Severity.ERROR:
                reading.left.append(Left(problem.path, problem.message, problem.fix))

    def _group(self, path: str, reading: Reading) -> None:
        reading.leave(path, "a container group is imported by itself", f"run {COMMAND} import {reading.document.file}")

    def left(self) -> list[Left]:
        """Everything that isn't taken, with the GPUs that no reader has seen."""
        for reading, value, path in self._mentioned:
            told = {left.at for left in reading.left}
            for mention in mentions(value, path):
                at = reading.document.at(mention.path)
                if mention.path not in reading.read and at not in told:
                    reading.leave(mention.path, f"{mention.text} isn't taken", "set the GPUs that replace it")
        return list(dict.fromkeys(left for reading in self.readings for left in reading.left))


def _with_fitting_compute(command: ml_yaml.Command) -> ml_yaml.Command:
    """The compute by the name of its entry."""
    words = zip(("", *command.words), command.words, strict=False)
    return command._replace(words=tuple(fitting(word) if before == "--compute" else word for before, word in words))


def _groups_in(value: object, path: str) -> Iterator[tuple[str, object]]:
    """The container groups of a template, those of nested deployments included."""
    if isinstance(value, dict):
        body = mapping(value)
        if str(body.get("type", "")).lower() == CONTAINER_GROUP.arm_type.lower():
            yield path, body
            return
        for key, inner in body.items():
            yield from _groups_in(inner, member(path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(cast(list[object], value)):
            yield from _groups_in(inner, f"{path}[{index}]")


def _warned(problem: Problem) -> Problem:
    return problem._replace(severity=Severity.WARNING)


def of_left(left: Left) -> Problem:
    return Problem(left.at, left.message, fix=left.fix, code=Code.UNKNOWN, severity=Severity.WARNING)


def _of_manifests(found: FoundDocuments, options: argparse.Namespace, taken: TakenDocuments) -> list[PartInFile]:
    manifest = cluster_manifest.read(found.manifests, fitting)
    if manifest.is_empty():
        return []
    at = found.manifests[0].document.at("")
    name = options.name or _CLUSTER
    settings: dict[str, Any] = {}
    settings |= given(gpu_pools=manifest.pools, queues=manifest.queues, jobs=manifest.jobs, services=manifest.services)
    part = PartInFile("clusters", name, settings, at, notes=list(manifest.notes))
    if not manifest.pools:
        part.notes.append("what a cluster needs besides, gpu_pools with a size above all, is in docs/settings.md")
    if any(key in job for job in manifest.jobs.values() for key in ("active_thread_percentage", "pinned_memory_limit")):
        part.notes.append("shares of a GPU need `sharing: {strategy: mps, replicas: …}` of their pool")
    for section in ("jobs", "services"):
        bare = [key for key, one in settings.get(section, {}).items() if "image" not in one]
        part.notes += [f"the file names no image for {key}: give it `image` or `workload`" for key in bare]
    for where, variable in manifest.secrets:
        job = where.partition(".")[2]
        part.notes.append(f"not copied, since it is likely a secret; give it as secret_environment: {job}: {variable}")
        taken.secrets.append(f"{job}: {variable}")
    if manifest.refused:
        entry = Entry(
            "clusters", name, manifest.refused, ["without their GPUs, which a cluster of a stack doesn't have"], [], False
        )
        taken.entries.append(entry)
    return [part] if settings else []


def _name_only(parts: list[PartInFile], options: argparse.Namespace) -> None:
    """--name renames the only entry."""
    named = [part for part in parts if part.section in ("pools", "clusters", "vms", "ml_endpoints", "jobs")]
    if options.name and len({(part.section, part.name) for part in named}) == 1:
        for part in named:
            part.name = options.name


def _entries(parts: Iterable[PartInFile], context: Context, taken: TakenDocuments) -> list[Problem]:
    """The parts of one entry together, judged and with their dates; what they depend on in front of them."""
    merged: dict[tuple[str, str], PartInFile] = {}
    held = list(parts)
    _with_profiles(held)
    endpoints = {part.name: part.settings for part in held if part.section == "ml_endpoints" and "compute" in part.settings}
    for part in held:
        if part.section == "ml_workspace" and "" in part.settings:
            _with_compute(part, endpoints, taken)
        name = part.name
        if part.section == "ml_endpoints":
            name = fitting(name)[:_LONGEST_ENDPOINT]
        elif part.section in ("pools", "clusters", "vms", "jobs"):
            name = fitting(name)
        one = merged.setdefault((part.section, name), PartInFile(part.section, name, {}, part.at))
        for path, kept in _merge(one.settings, part.settings):
            message = f"{part.section}.{name}{path} is set before, and stays {kept}".replace("..", ".")
            taken.left.append(Left(part.at, message, "give one of the two another name, or import it by itself"))
        one.written |= part.written
        one.notes += part.notes
        one.secrets += part.secrets
    problems = regions.check(context.location, "location") if context.location else []
    made: list[Entry] = []
    for part in merged.values():
        entries, wrong = _judged(part, context)
        made += entries
        problems += wrong
    taken.entries = [*_foundation(made), *made, *taken.entries]
    return problems


def _with_compute(part: PartInFile, endpoints: Mapping[str, Mapping[str, Any]], taken: TakenDocuments) -> None:
    """An instance type of a deployment on Kubernetes goes to the compute of its endpoint."""
    compute = endpoints.get(part.written.get("endpoint", ""), {}).get("compute")
    settings = part.settings.pop("")
    if compute:
        part.settings[compute] = settings
        return
    [(name, instance)] = settings["instance_types"].items()
    values = ", ".join(f"{key}: {value}" for key, value in instance.items())
    fix = f"set instance_types: {{{name}: {{{values}}}}} of the compute"
    taken.left.append(Left(part.at, f"{values}: the endpoint's compute isn't in the files", fix))


def _with_profiles(parts: list[PartInFile]) -> None:
    """The GPU of each job of Container Apps, which its environment's profile decides."""
    profiles = {key: value for part in parts if part.section == "job_environment" for key, value in part.written.items()}
    for part in list(parts):
        name = part.written.get(arm_container_apps.PROFILE) if part.section == "jobs" else None
        if name is None:
            continue
        by_name = next((gpu for gpu in ("A100", "T4") if gpu in name.upper()), "")
        gpu = profiles.get(f"{arm_container_apps.PROFILE}{name.lower()}", by_name)
        if gpu:
            part.settings = {"gpu": gpu, **part.settings}
        else:
            part.notes.append(f"{part.written['gpu']}: {name} isn't a profile with a GPU in the file: set gpu, to T4 or A100")


def _merge(into: dict[str, Any], settings: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, object]]:
    """Yields the paths that both set differently; the first stays."""
    for key, value in settings.items():
        here = f"{path}.{key}"
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            yield from _merge(into[key], value, here)
        elif key not in into:
            into[key] = value
        elif into[key] != value:
            yield here, into[key]


def _foundation(entries: list[Entry]) -> list[Entry]:
    """What the entries depend on, unless one of them is it, or the stack file has it already."""
    there = {(entry.section, entry.name) for entry in entries}
    needed = dict.fromkeys(part for entry in entries for part in _FOUNDATION.get(entry.section, ()) if entry.active)
    found = [Entry("foundation", part, "create", [], [], True, True) for part in needed if ("foundation", part) not in there]
    sections = {entry.section for entry in entries if entry.active}
    if sections & {"ml_workspace", "ml_endpoints"} and ("ml_workspace", "create") not in there:
        found.append(Entry("ml_workspace", "create", True, [], [], True, True))
    if any(entry.section == "pools" and entry.active for entry in entries) and not any(
        entry.section == "batch_account" for entry in entries
    ):
        found.append(Entry("batch_account", "", "create", [], [], True, True))
    return found


def _judged(part: PartInFile, context: Context) -> tuple[list[Entry], list[Problem]]:
    day = {"as_of": context.as_of.isoformat()} if context.own_day else {}
    end = {"expires_after": days_later(context.as_of, PROPOSED_DAYS).isoformat()}
    if part.section == "pools":
        return _pool(part, context, end | day)
    if part.section in ("foundation", "batch_account", "ml_workspace", "job_environment") and not part.name:
        return [Entry(part.section, key, value, part.notes, [], True) for key, value in part.settings.items()], []
    comments = list(part.notes)
    settings = part.settings
    problems = regions.check(str(settings["location"]), part.at) if "location" in settings else []
    if part.section in _MACHINES:
        of_sizes, changes = _sized(part, context)
        problems += of_sizes
        comments += changes
    if part.section == "jobs" or (part.section == "clusters" and "existing" not in settings):
        settings |= end | day
    elif part.section == "ml_endpoints":
        settings |= end | day
        comments += list(_of_endpoint(part))
    elif part.section == "vms":
        settings |= end | day
        comments.append("`admin.ssh_public_key` is who may sign in: set it")
    elif part.section == "ml_workspace" and part.name == "computes":
        for one in settings.values():
            one |= end if "size" in one else {}
    if part.section == "ml_workspace":
        settings = {(fitting(key) if part.name == "computes" else key): value for key, value in settings.items()}
    refused = bool(errors(problems))
    return [Entry(part.section, part.name, settings, comments, part.secrets, not refused)], problems


def _of_endpoint(part: PartInFile) -> Iterator[str]:
    if not part.settings.get("deployments"):
        yield f"{part.at}: an endpoint needs deployments: import the files of both, in one folder"
    if "compute" in part.settings:
        compute = part.settings["compute"]
        yield f"the compute {compute} is a Kubernetes compute of the workspace: ml_workspace.computes.{compute}"
    yield f"the endpoint gets another address; set endpoint_name: {part.name} to keep its name where the old one is deleted"


def _pool(part: PartInFile, context: Context, dated: dict[str, str]) -> tuple[list[Entry], list[Problem]]:
    judged = judge(part.settings, part.written, context.location, context.as_of)
    comments = [*part.notes, *judged.changes]
    refused = bool(errors(judged.problems))
    entries = [Entry("pools", part.name, {**judged.settings, **dated}, comments, part.secrets, not refused)]
    if judged.was is not None:
        told = "Azure refuses this pool today. With an as_of before the end of what is gone, the embedded Azure takes it."
        entries.append(Entry("pools", part.name, {**judged.was, **dated}, [told], part.secrets, False))
    return entries, judged.problems


def _sized(part: PartInFile, context: Context) -> tuple[list[Problem], list[str]]:
    """Replaces sizes that are gone by their successors. Returns the other problems of the sizes, and what was replaced."""
    key, service = _MACHINES[part.section]
    problems: list[Problem] = []
    changes: list[str] = []
    for path, holder in _holders(part.settings, key, ""):
        size = str(holder[key])
        if not (SIZES.find(size) or size.lower().startswith("standard")):  # an instance type of Kubernetes
            continue
        at = part.written.get(f"{path}.{key}" if path else key, part.at)
        use = SizeUse(
            service,
            size,
            context.location,
            at,
            "location",
            nodes=int(holder.get("max_nodes") or 1),
            spot=bool(holder.get("spot")),
        )
        found = offers.check(use, context.as_of, prices=packaged())
        if not context.location:
            found = [problem for problem in found if problem.path != "location"]
        gone = next((problem for problem in errors(found) if problem.code in _GONE and problem.instead), None)
        if gone is not None:
            enough = [name for name in gone.instead if gpus_of(name) >= gpus_of(size)]
            holder[key] = (enough or gone.instead)[0]
            if not enough:
                changes.append(f"{gone.path}: {holder[key]} has fewer GPUs than {size}: count the nodes again")
            source = f" Source: {gone.source}." if gone.source else ""
            changes.append(f"{gone.path}: {gone.message}. What to do: {gone.fix}.{source}")
            found = [problem for problem in found if problem is not gone]
        problems += [_warned(problem) if problem.code is Code.UNKNOWN else problem for problem in found]
    return problems, changes


def _holders(value: Mapping[str, Any], key: str, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The mappings with this key, and their paths: machines of a cluster's own system pool aside, which have no GPU."""
    if isinstance(value.get(key), str) and isinstance(value, dict):
        yield path, value
    for name, inner in value.items():
        if isinstance(inner, dict) and name != "system_pool":
            yield from _holders(inner, key, f"{path}.{name}" if path else name)
