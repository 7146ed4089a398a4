"""Makes the plan of a stack: all specs of a stack file, resolved once, with the results of the look-ups and every problem.

The program declares from it, and `preflight` uses it through the inventory. Nothing is declared here; the plan depends only on
the settings, the results of the look-ups and the files that the settings name.
"""

from dataclasses import dataclass

from azure_gpu.catalog.problems import Problem
from azure_gpu.foundation.spec import FoundationSpec
from azure_gpu.shared import private_network
from azure_gpu.shared.context import Context, resolve_stack
from azure_gpu.stack import ended, keep, rules
from azure_gpu.stack.keep import KeptPart
from azure_gpu.stack.kinds import KINDS, Parts, Planning
from azure_gpu.stack.look_ups import LookUps
from azure_gpu.stack.settings import Settings


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
    planning.add(*rules.without_required(names))
    for kind in KINDS:
        if kind.azure_name:
            key, attribute = kind.azure_name
            in_azure = {name: getattr(spec, attribute) for name, spec in specs[kind.section].items()}
            planning.add(*rules.names_taken_twice({f"{kind.path(name)}.{key}": each for name, each in in_azure.items()}))
    own = keep.parts(settings.kept, planning.foundation, specs["job_environment"], specs["batch_account"])
    kept = planning.found(look_ups.kept(own, project, stack))
    planning.add(*rules.names_shared(names, settings.parts["ml_workspace"].values()))
    if "identity" not in settings.parts["foundation"]["foundation"]:
        planning.add(*rules.jobs_without_identity(settings.parts["jobs"]))
    clusters = [spec.cluster for spec, _ in specs["clusters"].values()]
    planning.add(*rules.nothing_serves(planning.foundation, clusters, [*specs["ml_endpoints"].values()]))
    deployed = ended.deployed(ended.ended(planning.problems), look_ups.deployed)
    found = rules.without_explained(settings.problems, ended.downgraded(planning.problems, deployed))
    return Plan(
        context=context,
        parts=planning.specs,
        kept=tuple(kept),
        ended=deployed,
        problems=tuple(rules.insisted(rules.with_warnings(found, settings.warnings), settings.unchecked)),
    )
