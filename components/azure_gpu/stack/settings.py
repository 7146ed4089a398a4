"""Reads a stack file from the engine's configuration into the arguments of components.

Unknown keys and values of a wrong type become problems, and are omitted from the arguments.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

from azure_gpu.aks import login
from azure_gpu.aks.args import DEFAULT_ON_CLUSTER, DEFAULT_WORKLOAD_IDENTITY, GpuClusterSettings
from azure_gpu.catalog.problems import Problem, Severity, errors
from azure_gpu.container_apps.job.args import DEFAULT_GPU
from azure_gpu.formats import stack_file
from azure_gpu.foundation.args import FoundationSettings, FoundationWiring
from azure_gpu.shared.context import StackArgs
from azure_gpu.shared.part import PartArgs
from azure_gpu.shared.provider_keys import SUBSCRIPTION_ID
from azure_gpu.shared.validation import check, key_hints, written
from azure_gpu.stack import common_file, entries, entry_options, keep, other_stacks, secret_values, switches, taken_down
from azure_gpu.stack.entries import Entry
from azure_gpu.stack.file import EntryOptions, StackFile
from azure_gpu.stack.keys import PROJECT, config_key
from azure_gpu.stack.kinds import BY_SECTION, KINDS, Args
from azure_gpu.stack.own_source import OwnSource, no_source
from azure_gpu.stack.resolving import Parts, region_of
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


def read(
    configuration: Mapping[str, str],
    today: str,
    encrypted: Encrypted = NOTHING_ENCRYPTED,
    project: str = PROJECT,
    folder: Path = Path(),
    outputs_of: other_stacks.Reader = other_stacks.unavailable,
    own_source: Callable[[], str] = no_source,
    ended_of: taken_down.Reader = taken_down.unavailable,
) -> Settings:
    """Reads the settings of `project` from the engine's configuration, whose keys are `namespace:key`, with the file that they
    extend. `today`: the date of the run, YYYY-MM-DD; `encrypted`: which of the values are secrets; `folder`: where paths begin;
    `outputs_of` reads other stacks; `own_source` finds the workloads' sources, where the file doesn't set them; `ended_of` finds
    past parts that were taken down."""
    sections, problems, warnings = _checked(configuration, encrypted, project, folder, outputs_of)
    found = entries.walk(sections)
    ended = entries.take_down(found, sections.get("as_of") or today, ended_of)
    off = [path for each in found for path in each.off()]
    parts = _parts(each for each in found if each.enabled)
    opts = {each.path: each.opts for each in found if each.opts is not None}
    kept = {each.path: each.args for each in found if each.kept and each.enabled}
    for path, options in opts.items():
        problems += entry_options.problems(options, path.partition(".")[0], f"{path}.opts")
    problems += [*switches.problems(parts, off, ended), *keep.problems(kept)]
    stack = _stack(sections, configuration.get(SUBSCRIPTION_ID, ""), today)
    completed = _completed(parts, sections, stack, configuration)
    return Settings(
        stack=stack,
        parts=completed,
        planned_only=frozenset(each.kind.section for each in found if not each.args.get("in_azure", True)),
        opts=opts,
        own_source=_with_own_source(completed["foundation"]["foundation"], own_source),
        kept=frozenset(kept),
        off=tuple(path for path in off if path not in ended),
        unchecked=tuple(sections.get("unchecked", ())),
        taken_down=ended,
        problems=problems,
        warnings=[*warnings, *taken_down.warnings(ended)],
    )


class _Checked(NamedTuple):
    """The sections of a stack file without invalid values, and what is wrong with the others."""

    sections: dict[str, Any]
    problems: list[Problem]
    warnings: list[Problem]


def _checked(
    configuration: Mapping[str, str], encrypted: Encrypted, project: str, folder: Path, outputs_of: other_stacks.Reader
) -> _Checked:
    whole = common_file.extended(configuration, project, folder)
    given, of_stacks = other_stacks.resolved(_decoded(whole.configuration, project), outputs_of)
    checked = check(given, StackFile, "")
    of_secrets = secret_values.problems(encrypted, given)
    of_project = _of_another_project([*configuration], project)
    problems = [*whole.problems, *of_stacks, *errors(of_secrets), *checked.problems, *of_project]
    warnings = [each for each in of_secrets if each.severity is Severity.WARNING]
    # Missing required keys have a problem already; an empty value allows validating the rest.
    sections: dict[str, Any] = {"team": "", "location": "", **(checked.value or {})}
    return _Checked(sections, problems, [*warnings, *secret_values.likely(given, encrypted)])


def _decoded(configuration: Mapping[str, str], project: str) -> dict[str, object]:
    """Decodes the project's values: a string, with JSON for other types. Invalid JSON stays a string, which validation
    rejects."""
    keys = {key: key.removeprefix(config_key("", project)) for key in configuration if key.startswith(config_key("", project))}
    hints = key_hints(StackFile)
    return {
        name: configuration[key] if hints.get(name, str) is str else stack_file.decoded(configuration[key])
        for key, name in keys.items()
    }


def _of_another_project(keys: Iterable[str], project: str) -> list[Problem]:
    """Rejects keys in this project's default namespace where the project has another name, as they would be ignored."""
    return [
        Problem(
            path=key,
            message="this key is in the namespace of another project, so it would be ignored",
            allowed=f"keys of the project {project}, as Pulumi.yaml names it",
            fix=f"write {config_key(key.removeprefix(config_key('')), project)}",
        )
        for key in keys
        if project != PROJECT and key.startswith(config_key(""))
    ]


def _stack(file: Mapping[str, Any], subscription_id: str, today: str) -> StackArgs:
    given = {key: file[key] for key in ("team", "location", "tags", "as_of", "protect_data", "lock_data") if key in file}
    return cast(StackArgs, {**given, "subscription_id": subscription_id, "today": today})


def _parts(on: Iterable[Entry]) -> dict[str, dict[str, Any]]:
    """Returns the arguments of entries, by sections in the order of the file."""
    parts: dict[str, dict[str, Any]] = {section: {} for section in key_hints(StackFile) if section in BY_SECTION}
    for each in on:
        parts[each.kind.section][each.name] = each.declared()
    return parts


def _completed(parts: Parts, file: Mapping[str, Any], stack: StackArgs, configuration: Mapping[str, str]) -> Parts:
    """Completes the arguments of some components by those of others, and by the provider's configuration."""
    access = login.of_provider(configuration)
    without = {name: {key: args[key] for key in args if key != "in_azure"} for name, args in parts["budget"].items()}
    return {
        **parts,
        "foundation": {"foundation": _foundation(parts, file, stack)},
        "budget": without,
        "clusters": {
            name: {**args, "access": {**access, **args.get("access", {})}} if access else args
            for name, args in parts["clusters"].items()
        },
        "job_environment": _job_environments(parts["jobs"], parts["job_environment"], stack["location"]),
    }


def _job_environments(jobs: Args, given: Args, location: str) -> dict[str, Any]:
    """Returns one environment per region of the jobs, with their GPUs and those that the file adds."""
    environment: Args = next(iter(given.values()), cast(Args, {}))
    whole = environment if "existing" in environment else {"create": True, **environment}  # and its overrides
    gpus: dict[str, list[str]] = {}
    for job in jobs.values():
        gpus.setdefault(region_of(job, location), []).append(job.get("gpu", DEFAULT_GPU))
    more: Iterable[str] = whole.get("gpus", ())
    return {region: {**whole, "location": region, "gpus": [*of_region, *more]} for region, of_region in gpus.items()}


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
        "existing" not in cluster
        and cluster.get("on_cluster", DEFAULT_ON_CLUSTER)
        and cluster.get("workload_identity", DEFAULT_WORKLOAD_IDENTITY)
        for cluster in clusters
    )


def _with_own_source(foundation: FoundationWiring, find: Callable[[], str]) -> OwnSource | None:
    """Sets `image_source` to this installation's sources, where workloads are built and the file doesn't set it."""
    workloads = foundation.get("workloads")
    if not workloads or "image_source" in foundation or not (address := find()):
        return None
    foundation["image_source"] = address
    return OwnSource(address, tuple(map(str, workloads)))
