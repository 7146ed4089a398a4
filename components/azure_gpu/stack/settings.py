"""Reads a stack file from the engine's configuration into the arguments of components.

Text is decoded, completed by the common file and by outputs of other stacks, and checked as a whole: unknown keys and values of a
wrong type become problems, and are omitted. One walk then makes an entry of each part, with all that the file sets for it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from azure_gpu.aks import login
from azure_gpu.aks.args import AccessArgs, GpuClusterSettings
from azure_gpu.catalog import regions
from azure_gpu.catalog.problems import Problem, Severity, errors
from azure_gpu.catalog.refusals import refused
from azure_gpu.container_apps.job.args import DEFAULT_GPU
from azure_gpu.formats import stack_file
from azure_gpu.formats.dates import End, parse_day
from azure_gpu.foundation.args import FoundationSettings, FoundationWiring
from azure_gpu.shared.context import StackArgs
from azure_gpu.shared.part import PartArgs
from azure_gpu.shared.provider_keys import SUBSCRIPTION_ID
from azure_gpu.shared.secret_places import leaves, put
from azure_gpu.shared.validation import below, check, form, key_hints, written
from azure_gpu.stack import common_file, ended, entry_options, keep, other_stacks, secret_values, switches
from azure_gpu.stack.file import EntryOptions, StackFile
from azure_gpu.stack.keys import OTHER_STACKS, PROJECT, config_key
from azure_gpu.stack.kinds import BY_SECTION, KINDS, Args, Kind, Parts
from azure_gpu.stack.own_source import OwnSource, no_source
from azure_gpu.stack.secret_values import NOTHING_ENCRYPTED, Encrypted


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """A stack file as arguments of components, without the invalid parts that `problems` lists."""

    stack: StackArgs
    parts: Parts  # arguments of components
    planned_only: frozenset[str]  # sections whose parts aren't declared: a budget with `in_azure: false`
    opts: Mapping[str, EntryOptions]  # of entries, by their paths
    own_source: OwnSource | None = None  # None: the file sets `image_source`, or no workload is built
    kept: frozenset[str]  # sections whose parts stay when the stack is destroyed
    off: tuple[str, ...]  # paths of parts with `enabled: false`, which aren't in `parts`
    unchecked: Sequence[str]  # what the file insists on, whatever a source says
    taken_down: Mapping[str, str]  # the same of parts that were taken down after their last day, with its end
    problems: list[Problem]
    warnings: list[Problem]  # of secrets, and of parts that were taken down


@dataclass(slots=True, kw_only=True)
class _Entry:
    """A part of a stack file: an entry of a section, or a part inside of one, such as a GPU pool of a cluster.

    The keys `opts`, `enabled` and `keep` exist only in a stack file, so its arguments don't contain them."""

    kind: Kind  # of the section
    name: str  # the logical name of an entry; of a part inside, the user's
    path: str  # such as `clusters.shared`, `clusters.shared.gpu_pools.t4`
    args: Mapping[str, Any]  # what its component takes, parts inside included
    opts: EntryOptions | None  # the engine's
    enabled: bool
    kept: bool  # stays in Azure when the stack is destroyed
    past: str  # the end of its last day (RFC 3339); empty where that hasn't passed
    key: str = ""  # of the entry, where it is a part inside
    inner: list["_Entry"]

    def declared(self) -> dict[str, Any]:
        """Returns the arguments without the parts inside that are off, and their shares of 0. A key whose parts are all off is
        removed, so that it has no effect on other parts, unless it is required."""
        found = dict(self.args)
        section = key_hints(StackFile)[self.kind.section]
        required = form(below(section, self.name) if self.kind.by_name else section).__required_keys__
        for key in {part.key: None for part in self.inner}:
            found[key] = {part.name: part.args for part in self.inner if part.key == key and part.enabled}
            if not found[key] and key not in required:
                del found[key]
        off = {part.name for part in self.inner if part.key == "deployments" and not part.enabled}
        for key in ("traffic", "mirror"):
            if off and key in found:
                found[key] = {name: share for name, share in found[key].items() if share or name not in off}
        return found


def read(
    configuration: Mapping[str, str],
    today: str,
    encrypted: Encrypted = NOTHING_ENCRYPTED,
    project: str = PROJECT,
    folder: Path = Path(),
    outputs_of: other_stacks.Reader = other_stacks.unavailable,
    own_source: Callable[[], str] = no_source,
    ended_of: ended.Reader = ended.none_taken_down,
) -> Settings:
    """Reads the settings of `project` from the engine's configuration, whose keys are `namespace:key`, with the file that they
    extend. `today`: the date of the run, YYYY-MM-DD; `encrypted`: which of the values are secrets; `folder`: where paths begin;
    `outputs_of` reads other stacks; `own_source` finds the workloads' sources, where the file doesn't set them; `ended_of` finds
    past parts that were taken down."""
    sections, problems, warnings = _checked(configuration, encrypted, project, folder, outputs_of)
    found, past, of_entries = _entries(sections, sections.get("as_of") or today, ended_of)
    off = [part.path for each in found for part in (each.inner if each.enabled else [each]) if not part.enabled]
    parts: dict[str, dict[str, Any]] = {section: {} for section in key_hints(StackFile) if section in BY_SECTION}
    for each in found:
        if each.enabled:
            parts[each.kind.section][each.name] = each.declared()
    problems += [*of_entries, *(switches.problems(parts, off, past) if off else ())]
    provider = {key: text for key, text in configuration.items() if not key.startswith(config_key("", project))}
    given = {key: sections[key] for key in ("team", "location", "tags", "as_of", "protect_data", "lock_data") if key in sections}
    stack = cast(StackArgs, {**given, "subscription_id": provider.get(SUBSCRIPTION_ID, ""), "today": today})
    _complete(parts, sections, stack, login.of_provider(provider))
    return Settings(
        stack=stack,
        parts=parts,
        planned_only=frozenset(each.kind.section for each in found if not each.args.get("in_azure", True)),
        opts={each.path: each.opts for each in found if each.opts is not None},
        own_source=_with_own_source(parts["foundation"]["foundation"], own_source),
        kept=frozenset(each.path for each in found if each.kept and each.enabled),
        off=tuple(path for path in off if path not in past),
        unchecked=tuple(sections.get("unchecked", ())),
        taken_down=past,
        problems=problems,
        warnings=[*warnings, *ended.warnings(past)],
    )


def _checked(
    configuration: Mapping[str, str], encrypted: Encrypted, project: str, folder: Path, outputs_of: other_stacks.Reader
) -> tuple[dict[str, Any], list[Problem], list[Problem]]:
    """Decodes, completes and checks the project's values: a string, with JSON for other types. Invalid JSON stays a string, which
    is rejected. Returns the sections without invalid values, what is wrong with these, and warnings of secrets."""
    prefix, hints = config_key("", project), key_hints(StackFile)
    common, problems = common_file.read(configuration.get(prefix + common_file.EXTENDS, ""), project, folder)
    whole = common_file.merged(common, configuration) if common else configuration
    own = {key.removeprefix(prefix): text for key, text in whole.items() if key.startswith(prefix)}
    given = {name: text if hints.get(name, str) is str else stack_file.decoded(text) for name, text in own.items()}
    texts = [*leaves(given, StackFile, ())]
    of_stacks, more = other_stacks.values(
        [each for each in texts if other_stacks.REFERENCE.search(each.value)], given.get(OTHER_STACKS), outputs_of
    )
    if of_stacks:
        given = put(given, of_stacks, ())
        texts = [*leaves(given, StackFile, ())]
    of_secrets = secret_values.problems(encrypted, given.keys(), {each.steps[0] for each in texts if each.is_kept})
    likely = [each for each in texts if each.value not in ("", stack_file.SECRET) and each.looks_secret]
    checked = check(given, StackFile, "")
    problems += [*more, *errors(of_secrets), *checked.problems, *_of_another_project([*configuration], project)]
    warnings = [each for each in of_secrets if each.severity is Severity.WARNING]
    # Missing required keys have a problem already; an empty value allows validating the rest.
    sections: dict[str, Any] = {"team": "", "location": "", **(checked.value or {})}
    return sections, problems, [*warnings, *secret_values.likely(likely, encrypted)]


def _of_another_project(keys: Iterable[str], project: str) -> list[Problem]:
    """Rejects keys in this project's default namespace where the project has another name, as they would be ignored."""
    return [
        refused("stack.other_namespace", key, project=project, own=config_key(key.removeprefix(config_key("")), project))
        for key in keys
        if project != PROJECT and key.startswith(config_key(""))
    ]


def _entries(
    sections: Mapping[str, Any], today: str, ended_of: ended.Reader
) -> tuple[list[_Entry], Mapping[str, str], list[Problem]]:
    """Makes the entries of checked sections. `today`: the stack's day; `ended_of`: selects the ended ones of past parts. Returns
    also the paths of those, which are off, with their ends, and problems of the keys that exist only in a stack file."""
    found: list[_Entry] = []
    for section, given in sections.items():
        kind = BY_SECTION.get(section)
        if kind is not None:
            by_name = given.items() if kind.by_name else [(kind.name, given)]
            found += [_entry(kind, name, kind.path(name), args, today) for name, args in by_name]
    every = {part.path: part for each in found for part in (each, *each.inner)}
    past = ended_of({path: part.past for path, part in every.items() if part.past})
    for path in past:
        every[path].enabled = False
    opts = {f"{each.path}.opts": (each.opts, each.kind) for each in found if each.opts is not None}
    problems = [problem for path, (own, kind) in opts.items() for problem in entry_options.problems(own, kind.section, path)]
    kept = (each.path for each in found if each.kept and each.enabled and "existing" in each.args)
    return found, past, [*problems, *keep.problems(kept)]


def _entry(kind: Kind, name: str, path: str, given: Mapping[str, Any], today: str, key: str = "") -> _Entry:
    inner = [
        _entry(kind, part, f"{path}.{key}.{part}", args, today, key)
        for key in kind.inner
        for part, args in given.get(key, {}).items()
    ]
    last, day = parse_day(given.get("expires_after", "")), parse_day(str(given.get("as_of") or today))
    return _Entry(
        kind=kind,
        name=name,
        path=path,
        args={key: value for key, value in given.items() if key not in ("opts", "enabled", "keep")},
        opts=given.get("opts"),
        enabled=given.get("enabled", True),
        kept=given.get("keep", False),
        past=End(last if last and day and last <= day else None).at or "",
        key=key,
        inner=inner,
    )


def _complete(parts: dict[str, dict[str, Any]], file: Mapping[str, Any], stack: StackArgs, access: AccessArgs) -> None:
    """Completes the arguments of some components by those of others, and by the login of the provider's configuration."""
    parts["foundation"] = {"foundation": _foundation(parts, file, stack)}
    for args in parts["budget"].values():
        args.pop("in_azure", None)
    for args in parts["clusters"].values():
        if access:
            args["access"] = {**access, **args.get("access", {})}
    environment: Args = next(iter(parts["job_environment"].values()), {})
    whole = environment if "existing" in environment else {"create": True, **environment}  # and its overrides
    gpus: dict[str, list[str]] = {}  # by region: one environment each, with the GPUs of its jobs and those that the file adds
    for job in parts["jobs"].values():
        region = regions.normalise(job.get("location", stack["location"]))
        gpus.setdefault(region, []).append(job.get("gpu", DEFAULT_GPU))
    parts["job_environment"] = {
        region: {**whole, "location": region, "gpus": [*of_jobs, *whole.get("gpus", ())]} for region, of_jobs in gpus.items()
    }


def _foundation(parts: Parts, file: Mapping[str, Any], stack: StackArgs) -> FoundationWiring:
    """Adds to the foundation what other parts need of it."""
    # pyrefly: ignore[bad-assignment]
    own: FoundationSettings = next(iter(parts["foundation"].values()), {})
    workloads = {each for kind in KINDS for args in parts[kind.section].values() for each in kind.workloads(args)}
    writing = [kind.section for kind in KINDS if kind.writes_blobs]
    foundation = FoundationWiring(
        **own,
        stack=stack,
        workloads=sorted(workloads),
        share_files=any("existing" not in each for each in parts["ml_workspace"].values()),
        write_blobs=any(parts[section] or file.get(section) == {} for section in writing) or _pods_have_an_identity(own, parts),
    )
    more = {key: file[key] for key in ("image_source", "assign_roles") if key in file}
    return cast(FoundationWiring, {**foundation, **more})


def _pods_have_an_identity(foundation: FoundationSettings, parts: Parts) -> bool:
    """Whether pods may run as the stack's identity, by which they transfer files of runs and fetch models of services."""
    # pyrefly: ignore[bad-specialization]
    identity: PartArgs = written(foundation.get("identity", PartArgs()))
    clusters: Iterable[GpuClusterSettings] = parts["clusters"].values()
    return "existing" not in identity and any(
        "existing" not in cluster and cluster.get("on_cluster", True) and cluster.get("workload_identity", True)
        for cluster in clusters
    )


def _with_own_source(foundation: FoundationWiring, find: Callable[[], str]) -> OwnSource | None:
    """Sets `image_source` to this installation's sources, where workloads are built and the file doesn't set it."""
    workloads = foundation.get("workloads")
    if not workloads or "image_source" in foundation or not (address := find()):
        return None
    foundation["image_source"] = address
    return OwnSource(address, tuple(map(str, workloads)))
