"""Check before an `up`: rejects the loss of data before anything is changed.

The check takes a preview. It is skipped if no resource of the stack holds data, or if everything that affects those resources is
the same as in the last update (`fingerprint`).
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
from azure_gpu_operations.command_line import listed
from azure_gpu_operations.connection import connection_of
from azure_gpu_operations.guard import fingerprint
from azure_gpu_operations.guard.held import Held, held, protected
from azure_gpu_operations.guard.losses import Allowed, Loss, gone, losses, problem, renamed
from azure_gpu_operations.stack import EngineError, Planned, Stack

_PROTECTED = re.compile(r'resource "(?P<urn>urn:pulumi:[^"]+)".*?protect', re.DOTALL)
_READABLE_ELSEWHERE = ("passphrase", "cloud")  # secrets providers that aren't bound to the backend


class RefusedLossError(Exception):
    """An update would replace or delete resources without permission. The text is for the user."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(listed(problems, "nothing was changed"))


class UnknownNameError(Exception):
    """The command line has an unknown or ambiguous name. The text is for the user."""


class UpdateCheck(NamedTuple):
    """The result for an update that may run."""

    steps: Sequence[Mapping[str, Any]] = ()
    """The plan; empty unless requested."""
    let_go: tuple[str, ...] = ()
    """URNs of protected resources that may be deleted: for `Stack.unprotect`, just before the update."""


def refuse_wrong_names(deployment: Mapping[str, Any], allowed: Allowed) -> None:
    """UnknownNameError for names in `allowed` that the stack doesn't have."""
    wrong = allowed.wrong(held(deployment))
    if wrong:
        raise UnknownNameError("; ".join(str(each) for each in wrong))


def check(stack: Stack, deployment: Mapping[str, Any], allowed: Allowed, *, needs_steps: bool) -> UpdateCheck:
    """`needs_steps`: the caller needs the plan. RefusedLossError; EngineError if the engine can't plan."""
    found = held(deployment)
    if not needs_steps and (not found or fingerprint.is_unchanged(stack, deployment)):
        return UpdateCheck()
    freed: list[str] = []
    try:
        while True:
            planned = stack.planned()
            stops = {match["urn"] for error in planned.errors for match in _PROTECTED.finditer(error)}
            if planned.errors and not stops:
                if found:
                    raise EngineError("\n".join(planned.errors))
                return UpdateCheck()  # the update fails likewise, and says why
            looked = _judged(stack, deployment, found, planned, stops, allowed)
            if looked is not None:
                return looked
            # The rest of the plan is known only after unprotecting what stops the engine, which is allowed at this point.
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
) -> UpdateCheck | None:
    """None if the plan is incomplete and its known part is allowed.

    The engine stops planning at the first protected resource. Therefore it plans on a copy of the state without protection, if
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
        raise EngineError("\n".join(planned.errors))  # a protected resource without data
    return UpdateCheck(whole.steps, tuple(sorted(let_go)))


def _inside(deployment: Mapping[str, Any], found: Sequence[Held], allowed: Allowed) -> set[str]:
    """The URNs of parts of allowed resources, such as the containers of a storage account."""
    names = {*allowed.replace, *allowed.delete}
    above = tuple(f"{each.id.lower()}/" for each in found if {each.name, each.urn} & names and not each.is_group)
    resources: list[Mapping[str, Any]] = deployment.get("resources") or []
    return {str(each["urn"]) for each in resources if str(each.get("id") or "").lower().startswith(above)}


def _known_losses(stack: Stack, found: list[Held], planned: Planned, stops: set[str]) -> list[Loss]:
    """Losses of an incomplete plan: its steps, what stopped it, and everything whose name changes."""
    team = stack.configuration().get(config_key("team", stack.project), "")
    named = {each.held.urn: each for each in renamed(found, stack.project, stack.name, team)}
    in_plan = {each.held.urn: each for each in losses(found, planned.steps)}
    stopping = {each.urn: Loss(each, is_replaced=True, changes={}) for each in found if each.urn in stops}
    return list({**stopping, **in_plan, **named}.values())


def _with_others(lost: Sequence[Loss], deployment: Mapping[str, Any]) -> Iterator[Loss]:
    """Drops resource groups that contain only the stack's resources. AzureError if a group can't be listed."""
    connection = connection_of(deployment)
    for each in lost:
        if not each.held.is_group or connection is None:
            yield each
            continue
        from azure_gpu_operations.azure import Arm  # loads Azure's clients, which takes half a second
        from azure_gpu_operations.guard.foreign_resources import foreign_resources

        with closing(Arm(connection)) as arm:
            others = tuple(foreign_resources(arm, each.held.id, deployment))
        if others:
            yield each._replace(others=others)


def write_backend(folder: Path, stack: Stack, deployment: Mapping[str, Any]) -> None:
    """Makes the folder a file backend with a copy of a stack's state; {} is a stack that was never up."""
    state = folder / ".pulumi" / "stacks" / stack.project / f"{stack.name}.json"
    state.parent.mkdir(parents=True, exist_ok=True)
    (folder / ".pulumi" / "meta.yaml").write_text("version: 1\n")
    name = f"organization/{stack.project}/{stack.name}"
    checkpoint = {"stack": name, "latest": deployment} if deployment else {"stack": name}
    state.write_text(json.dumps({"version": 3, "checkpoint": checkpoint}))


def planned_unprotected(stack: Stack, deployment: Mapping[str, Any]) -> Planned | None:
    """The plan without any protection; None if it can't be made on a copy of the state."""
    if (deployment.get("secrets_providers") or {}).get("type") not in _READABLE_ELSEWHERE:
        return None
    free = set(protected(deployment))
    resources = [{**each, "protect": False} if each["urn"] in free else each for each in deployment.get("resources") or []]
    with tempfile.TemporaryDirectory() as folder:
        write_backend(Path(folder), stack, {**deployment, "resources": resources})
        planned = stack.planned(Path(folder).as_uri())
    return None if planned.errors else planned
