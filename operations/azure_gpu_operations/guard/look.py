"""The look before an `up`: what it would take away is refused, before anything is changed.

In: a stack and what the command line allows. Out: the steps that the engine plans, where they were requested, or a refusal.
The engine's plan takes a preview. None is made where nothing of the stack holds data, nor where everything that decides about it
is as it was in the last update (`mark`).
"""

import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.stack.keys import config_key
from azure_gpu_operations.connection import connection_of
from azure_gpu_operations.guard import mark
from azure_gpu_operations.guard.held import Held, held, protected
from azure_gpu_operations.guard.losses import Allowed, Loss, gone, losses, problem, renamed
from azure_gpu_operations.stack import EngineError, Planned, Stack

_PROTECTED = re.compile(r'resource "(?P<urn>urn:pulumi:[^"]+)".*?protect', re.DOTALL)
_READABLE_ELSEWHERE = ("passphrase", "cloud")  # secrets of a state that aren't bound to its backend


class RefusedLossError(Exception):
    """An update would replace or delete what nobody allowed it to. The text is for the user."""

    def __init__(self, problems: list[Problem]) -> None:
        heading = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        super().__init__("\n".join([f"{heading}, nothing was changed:", *(f"  - {each}" for each in problems)]))


class UnknownNameError(Exception):
    """The command line names what the stack doesn't have, or what two resources have in common. The text is for the user."""


class Looked(NamedTuple):
    """What an update may do."""

    steps: Sequence[Mapping[str, Any]] = ()
    """The plan; empty where nobody requested one."""
    let_go: tuple[str, ...] = ()
    """Urns of what is protected and allowed to go: for `Stack.unprotect`, just before the update."""


def refuse_wrong_names(deployment: Mapping[str, Any], allowed: Allowed) -> None:
    """UnknownNameError where the command line allows something that isn't there."""
    wrong = allowed.wrong(held(deployment))
    if wrong:
        raise UnknownNameError("; ".join(str(each) for each in wrong))


def look(stack: Stack, deployment: Mapping[str, Any], allowed: Allowed, *, needs_steps: bool) -> Looked:
    """`needs_steps`: something else is decided by the plan. RefusedLossError; EngineError where the engine plans nothing."""
    found = held(deployment)
    if not needs_steps and (not found or mark.is_as_it_was(stack, deployment)):
        return Looked()
    freed: list[str] = []
    try:
        while True:
            planned = stack.planned()
            stops = {match["urn"] for error in planned.errors for match in _PROTECTED.finditer(error)}
            if planned.errors and not stops:
                if found:
                    raise EngineError("\n".join(planned.errors))
                return Looked()  # the update fails likewise, and says why
            looked = _judged(stack, deployment, found, planned, stops, allowed)
            if looked is not None:
                return looked
            # Nothing more is known until what stops the engine is let go. It is allowed to go, or there was a refusal.
            free = sorted((stops - set(freed)) & {*(each.urn for each in found), *_inside(deployment, found, allowed)})
            if not free:
                raise EngineError("\n".join(planned.errors))
            stack.unprotect(free)
            freed += free
    except BaseException:
        if freed:
            stack.protect(freed)
        raise


def _judged(
    stack: Stack, deployment: Mapping[str, Any], found: list[Held], planned: Planned, stops: set[str], allowed: Allowed
) -> Looked | None:
    """None where the plan isn't whole, and nothing of what is known of it is refused.

    The engine stops planning at the first resource that is protected. So it plans on a copy of the state in which none is, where
    the secrets of the state can be read in a copy.
    """
    whole = planned_unprotected(stack, deployment) if stops else planned
    lost = list(
        _with_others(_known_losses(stack, found, planned, stops) if whole is None else losses(found, whole.steps), deployment)
    )
    inside = _inside(deployment, found, allowed)
    refused = [each for each in lost if each.held.urn not in inside and not each.is_allowed(allowed)]
    if refused:
        raise RefusedLossError([problem(each) for each in refused])
    if whole is None:
        return None
    let_go = gone(whole.steps) & set(protected(deployment))
    if not let_go <= {*(each.held.urn for each in lost), *inside}:
        raise EngineError("\n".join(planned.errors))  # somebody has protected what isn't held
    return Looked(whole.steps, tuple(sorted(let_go)))


def _inside(deployment: Mapping[str, Any], found: Sequence[Held], allowed: Allowed) -> set[str]:
    """The urns of what is part of something that is allowed to go, such as the containers of a storage account."""
    names = {*allowed.replace, *allowed.delete}
    above = tuple(f"{each.id.lower()}/" for each in found if {each.name, each.urn} & names and not each.is_group)
    resources: list[Mapping[str, Any]] = deployment.get("resources") or []
    return {str(each["urn"]) for each in resources if str(each.get("id") or "").lower().startswith(above)}


def _known_losses(stack: Stack, found: list[Held], planned: Planned, stops: set[str]) -> list[Loss]:
    """Of a plan that isn't whole: what it has, what stopped it, and everything that has another name now."""
    team = stack.configuration().get(config_key("team", stack.project), "")
    named = {each.held.urn: each for each in renamed(found, stack.project, stack.name, team)}
    in_plan = {each.held.urn: each for each in losses(found, planned.steps)}
    stopping = {each.urn: Loss(each, is_replaced=True, changes={}) for each in found if each.urn in stops}
    return list({**stopping, **in_plan, **named}.values())


def _with_others(lost: Sequence[Loss], deployment: Mapping[str, Any]) -> Iterator[Loss]:
    """Without resource groups in which nothing is but the stack's own. AzureError where a group can't be listed."""
    connection = connection_of(deployment)
    for each in lost:
        if not each.held.is_group or connection is None:
            yield each
            continue
        from azure_gpu_operations.azure import Arm  # loads Azure's clients, which takes half a second
        from azure_gpu_operations.guard.strangers import strangers

        with closing(Arm(connection)) as arm:
            others = tuple(strangers(arm, each.held.id, deployment))
        if others:
            yield each._replace(others=others)


def planned_unprotected(stack: Stack, deployment: Mapping[str, Any]) -> Planned | None:
    """What an update would do if nothing of the stack were protected; None where no copy of the state can be planned on."""
    if (deployment.get("secrets_providers") or {}).get("type") not in _READABLE_ELSEWHERE:
        return None
    free = set(protected(deployment))
    resources = [{**each, "protect": False} if each["urn"] in free else each for each in deployment.get("resources") or []]
    checkpoint = {"stack": f"organization/{stack.project}/{stack.name}", "latest": {**deployment, "resources": resources}}
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text, ".pulumi")
        file = folder / "stacks" / stack.project / f"{stack.name}.json"
        file.parent.mkdir(parents=True)
        (folder / "meta.yaml").write_text("version: 1\n")
        file.write_text(json.dumps({"version": 3, "checkpoint": checkpoint}))
        planned = stack.planned(Path(text).as_uri())
    return None if planned.errors else planned
