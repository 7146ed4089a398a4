"""Makes the plan of a stack: all specs of a stack file, resolved once, with the results of the look-ups and every problem.

The program declares from it, and `preflight` uses it through the inventory. Nothing is declared here; the plan depends only on
the settings, the results of the look-ups and the files that the settings name.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from azure_gpu.aks.spec import ClusterSpec
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.refusals import refused
from azure_gpu.container_apps.job.spec import identity_problems
from azure_gpu.foundation.spec import FoundationSpec
from azure_gpu.ml.endpoint.spec import MlEndpointSpec
from azure_gpu.shared import private_network
from azure_gpu.shared.context import Context, resolve_stack
from azure_gpu.stack import ended, keep
from azure_gpu.stack.keep import KeptPart
from azure_gpu.stack.keys import REGION
from azure_gpu.stack.kinds import BY_SECTION, KINDS, Parts, Planning
from azure_gpu.stack.look_ups import LookUps
from azure_gpu.stack.settings import Settings

_OF_REGIONS = (Code.NOT_IN_REGION, Code.NOT_OFFERED, Code.RETIRED)  # at a `location`
Names = Mapping[str, Collection[str]]
"""Logical names of parts by section, in the order of the stack file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The specs of all parts with the results of their look-ups."""

    context: Context
    parts: Parts  # specs; with what was looked up where the component takes both
    kept: tuple[KeptPart, ...]  # stay in Azure when the stack is destroyed
    ended: frozenset[str]  # paths of parts that stay unchanged, because their last day has passed
    problems: tuple[Problem, ...]

    @property
    def foundation(self) -> FoundationSpec:
        return self.parts["foundation"]["foundation"][0]


def plan(settings: Settings, look_ups: LookUps, project: str, stack: str) -> Plan:
    """Makes the plan of the stack with these settings. It has all problems, so that nothing is declared unless all of it is
    valid."""
    context, problems = resolve_stack(settings.stack, project, stack)
    planning = Planning(settings=settings.parts, look_ups=look_ups, context=context, problems=problems)
    for kind in sorted(KINDS, key=lambda kind: kind.planned_last):
        planning.specs[kind.section] = {}
        for name, args in settings.parts[kind.section].items():
            network, of_network = planning.network, {}
            if network is not None:
                planning.add(*private_network.missing(kind.component, args, network, kind.path(name)))
                of_network = private_network.keys_of(kind.component, args, network)
            planning.specs[kind.section][name] = kind.resolve(planning, name, {**args, **of_network})
    specs = planning.specs
    names = {section: [*parts] for section, parts in settings.parts.items()}
    planning.add(*_without_required(names))
    for kind in KINDS:
        if kind.spec_name:
            in_azure = {name: getattr(spec, kind.spec_name) for name, spec in specs[kind.section].items()}
            planning.add(*_names_taken_twice({f"{kind.path(name)}.{kind.name_key}": each for name, each in in_azure.items()}))
    own = keep.parts(settings.kept, planning.foundation, specs["job_environment"], specs["batch_account"])
    kept = planning.found(look_ups.kept(own, project, stack))
    planning.add(*_names_shared(names, settings.parts["ml_workspace"].values()))
    if "identity" not in settings.parts["foundation"]["foundation"]:
        jobs = settings.parts["jobs"].items()
        planning.add(*(problem for name, job in jobs for problem in identity_problems(f"jobs.{name}", cast(Any, job))))
    clusters = [spec.cluster for spec, _ in specs["clusters"].values()]
    planning.add(*_nothing_serves(planning.foundation, clusters, [*specs["ml_endpoints"].values()]))
    deployed = ended.deployed(ended.ended(planning.problems), look_ups.deployed)
    found = _without_explained(settings.problems, ended.downgraded(planning.problems, deployed))
    return Plan(
        context=context,
        parts=planning.specs,
        kept=tuple(kept),
        ended=deployed,
        problems=tuple(_insisted(_with_warnings(found, settings.warnings), settings.unchecked)),
    )


def _names_taken_twice(names: Mapping[str, str]) -> Iterator[Problem]:
    """Rejects two parts of a kind with the same name in Azure. `names`: in Azure, by the paths of their keys."""
    first: dict[str, str] = {}
    for path, in_azure in names.items():
        taken = first.setdefault(in_azure.lower(), path)
        if taken != path:
            yield refused("stack.name_taken", path, in_azure, taken=taken)


def _without_required(names: Names) -> list[Problem]:
    """Rejects parts without the section that they require."""
    return [
        refused("stack.without_required", kind.requires, section=kind.section, noun=BY_SECTION[kind.requires].noun)
        for kind in KINDS
        if kind.requires and names[kind.section] and not names[kind.requires]
    ]


def _names_shared(names: Names, workspaces: Iterable[Mapping[str, Any]]) -> list[Problem]:
    """Rejects names that two parts share. `workspaces`: the arguments of the workspace."""
    problems: list[Problem] = []
    taken: dict[str, str] = {}
    named = [(section, BY_SECTION[section].noun, own) for section, own in names.items() if BY_SECTION[section].is_work]
    # A compute of the workspace has a separate cost and end where it has separate machines.
    computes = [each for workspace in workspaces for each in workspace.get("computes", {}).items()]
    machines = [name for name, compute in computes if "size" in compute]
    for key, noun, own in [*named, ("ml_workspace.computes", "a compute", machines)]:
        problems += [refused("stack.name_shared", f"{key}.{name}", other=taken[name]) for name in own if name in taken]
        taken |= dict.fromkeys((name for name in own if name not in taken), noun)
    return problems


def _component(path: str) -> str:
    """Returns the part of a path: `container_groups.train` of `container_groups.train.gpu.count`."""
    section, *steps = path.split(".")
    return ".".join([section, *steps[:1]]) if section in BY_SECTION and BY_SECTION[section].by_name else section


def _nothing_serves(
    foundation: FoundationSpec, clusters: Sequence[ClusterSpec], endpoints: Sequence[MlEndpointSpec]
) -> list[Problem]:
    """Warns of a serving identity that nothing uses."""
    fetching = any(service.has_model for cluster in clusters for service in cluster.objects.services.values())
    speaking = any(endpoint.identity != "system" for endpoint in endpoints)
    if foundation.serving_identity is None or fetching or speaking:
        return []
    return [refused("stack.nothing_serves", "foundation.serving_identity")]


def _without_explained(of_settings: Sequence[Problem], found: Sequence[Problem]) -> list[Problem]:
    """Combines all problems, without those that an earlier one explains: at the same path, or about a missing value where a key
    of the part was misspelt or of a wrong type."""
    paths = {problem.path for problem in of_settings}
    unclear = {_component(path) for path in paths}
    explained = [
        problem for problem in found if problem.path in paths or (problem.value is None and _component(problem.path) in unclear)
    ]
    return [*of_settings, *(problem for problem in found if problem not in explained)]


def _insisted(problems: Sequence[Problem], unchecked: Sequence[str]) -> list[Problem]:
    """The problems; where the file has `unchecked: [region]`, what a source says of a region is a warning."""
    return [
        each._replace(severity=Severity.WARNING)
        if REGION in unchecked and each.code in _OF_REGIONS and each.path.rpartition(".")[2] == "location"
        else each
        for each in problems
    ]


def _with_warnings(problems: Sequence[Problem], warnings: Sequence[Problem]) -> list[Problem]:
    """Combines both, without warnings at paths with a problem."""
    paths = {problem.path for problem in problems}
    return [*problems, *(warning for warning in warnings if warning.path not in paths)]
