"""Lists and destroys the expired parts of a stack with the engine.

Destroyed parts are removed from the stack's state too. The stack file stays as it is, and `up` doesn't create them again while
their end date is past.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from typing import Any

from azure_gpu.formats import azure_types, stack_file
from azure_gpu.formats.dates import parse_day
from azure_gpu.shared.polling import first_line
from azure_gpu.stack.keys import config_key
from azure_gpu_operations import pool_steps, torn_state
from azure_gpu_operations.azure import Arm
from azure_gpu_operations.clusters import dead
from azure_gpu_operations.commands import bring_down, settle
from azure_gpu_operations.errors import expected
from azure_gpu_operations.guard import ending
from azure_gpu_operations.guard.foreign_resources import created, foreign_resources
from azure_gpu_operations.past_end import judging
from azure_gpu_operations.past_end.judging import Judged, Lock, Part, judge, keeps_whole
from azure_gpu_operations.past_end.report import StackResult
from azure_gpu_operations.stack import Stack, backend_folder
from azure_gpu_operations.stack_view import of_deployment
from azure_gpu_operations.terminal import some

Say = Callable[[str], None]


def listed(stack: Stack, now: datetime) -> StackResult:
    """The expired parts; changes nothing. An error is part of the result."""
    try:
        return _inspected(stack, stack.deployment(), now)
    except expected() as error:
        return StackResult(stack.name, error=first_line(error))


def taken_down(stack: Stack, now: datetime, say: Say, *, quiet: bool) -> StackResult:
    """Destroys the expired parts that aren't kept. `quiet`: hides the engine's output. An error is part of the result."""
    found = StackResult(stack.name)
    try:
        deployment = settle(stack, stack.deployment(), say)
        found = _inspected(stack, deployment, now)._replace(tried=True)
        if found.whole:
            say(f"stack {stack.name} is destroyed as a whole")
            bring_down(stack, say, quiet=quiet)
            return found._replace(gone=frozenset(each.part.urn for each in found.judged.past))
        if found.judged.going:
            _destroy(stack, deployment, found.judged.going, say, quiet=quiet)
        return found._replace(gone=_gone(found.judged, stack.deployment()))
    except expected() as error:
        return _failed(stack, found, error)


def _failed(stack: Stack, found: StackResult, error: Exception) -> StackResult:
    """The result after an error; what was destroyed is read from the state."""
    try:
        gone = _gone(found.judged, stack.deployment())
    except expected():
        gone = frozenset[str]()
    return found._replace(tried=True, gone=gone, error=first_line(error))


def _destroy(stack: Stack, deployment: Mapping[str, Any], going: Sequence[Part], say: Say, *, quiet: bool) -> None:
    urns = [urn for part in going for urn in part.urns]
    say(f"stack {stack.name}: destroying {', '.join(part.path for part in going)}")
    dead.forget_gone_existing(stack, deployment, say, within=frozenset(urns))
    deployment = stack.deployment()
    there = {str(each["urn"]) for each in deployment.get("resources") or []}
    pool_steps.tell_what_ends(deployment, say, within=frozenset(urns))
    with torn_state.kept(backend_folder(), stack.project, stack.name):
        stack.destroy([urn for urn in urns if urn in there], quiet=quiet)


def _gone(judged: Judged, deployment: Mapping[str, Any]) -> frozenset[str]:
    there = {str(each["urn"]) for each in deployment.get("resources") or []}
    return frozenset(each.urn for each in judged.going if not there & set(each.urns))


def _inspected(stack: Stack, deployment: Mapping[str, Any], now: datetime) -> StackResult:
    view = of_deployment(stack.name, deployment)
    if view is None or not judge(deployment, (), now).past:
        return StackResult(stack.name)
    with closing(Arm(view.connection)) as arm:
        held, notes = _locks(arm, view.connection.subscription_id)
        judged = judge(deployment, held, now)
        whole, more = _whole(arm, stack, deployment, judged, held)
    notes = [*notes, *more, *_as_of(stack, judged, now)]
    return StackResult(stack.name, judged, view.hourly_cost, whole, notes=tuple(notes))


def _locks(arm: Arm, subscription_id: str) -> tuple[list[Lock], list[str]]:
    """The locks, or a note why they can't be read; Azure then rejects the deletion of locked resources."""
    try:
        return list(judging.of_subscription(arm, subscription_id)), []
    except expected() as error:
        return [], [f"management locks can't be read ({first_line(error)}); Azure rejects the deletion of locked resources"]


def _whole(arm: Arm, stack: Stack, deployment: Mapping[str, Any], judged: Judged, held: Sequence[Lock]) -> tuple[str, list[str]]:
    """Why the whole stack is destroyed, and what is deleted with it; or "", and why a short-lived one isn't."""
    if not judged.is_whole or not _is_short_lived(stack):
        return "", []
    kept = keeps_whole(deployment, held)
    if not kept:
        groups = [str(each["id"]) for each in created(deployment) if each["type"] == azure_types.RESOURCE_GROUP.token]
        others = [each for group in groups for each in foreign_resources(arm, group, deployment)]
        kept = f"its resource group contains resources of others: {some(others)}" if others else ""
    if kept:
        return "", [f"it is short-lived (protect_data: false) but isn't destroyed as a whole: {kept}"]
    lines = [line.strip() for line in ending.deletions_of(stack).lines()]
    return (
        f"it is short-lived (protect_data: false), every part has expired, and it is destroyed as a whole: {'; '.join(lines)}",
        [],
    )


def _is_short_lived(stack: Stack) -> bool:
    return stack_file.decoded(stack.configuration().get(config_key("protect_data", stack.project), "")) is False


def _as_of(stack: Stack, judged: Judged, now: datetime) -> list[str]:
    """A note if the stack file's `as_of` is before the end of a destroyed part."""
    day = parse_day(stack.configuration().get(config_key("as_of", stack.project), ""))
    ends = [each.part.end.date() for each in judged.past if each.part.end is not None]
    if day is None or day >= now.date() or all(end <= day for end in ends):
        return []
    return [f"its stack file sets as_of: {day.isoformat()}, so the next `up` creates the destroyed parts again"]
