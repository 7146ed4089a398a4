"""Taking down what lies past its end, stack by stack, by the engine.

In: a stack, the instant at which ends are judged. Out: `Found`: what is past, why some of it stays, what was taken down. What is
taken down is out of the stack's state too; its stack file stays as it is, and no `up` brings it back while its day is a past one.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from typing import Any, NamedTuple

from azure_gpu.formats import azure_types, stack_file
from azure_gpu.formats.dates import parse_day
from azure_gpu.stack.keys import config_key
from azure_gpu_operations import pool_steps, torn_state
from azure_gpu_operations.azure import Arm, first_line
from azure_gpu_operations.clusters import dead
from azure_gpu_operations.commands import bring_down, settle
from azure_gpu_operations.errors import expected
from azure_gpu_operations.guard import ending
from azure_gpu_operations.guard.strangers import created, strangers
from azure_gpu_operations.past_end import locks
from azure_gpu_operations.past_end.judging import Judged, judge, keeps_whole
from azure_gpu_operations.past_end.locks import Lock
from azure_gpu_operations.past_end.report import Found
from azure_gpu_operations.stack import Stack, backend_folder
from azure_gpu_operations.stack_view import of_deployment
from azure_gpu_operations.terminal import some

Say = Callable[[str], None]


class _Looked(NamedTuple):
    """What is known of a stack before anything is done."""

    deployment: Mapping[str, Any]
    found: Found


def listed(stack: Stack, now: datetime) -> Found:
    """What is past, and nothing is changed. Its error is in it."""
    try:
        return _looked(stack, stack.deployment(), now).found
    except expected() as error:
        return Found(stack.name, error=first_line(error))


def taken_down(stack: Stack, now: datetime, say: Say, *, quiet: bool) -> Found:
    """What is past, taken down where it doesn't stay. `quiet`: the engine's own output isn't shown. Its error is in it."""
    looked = _Looked({}, Found(stack.name))
    try:
        looked = _looked(stack, settle(stack, say), now)
        found = looked.found._replace(tried=True)
        if found.whole:
            say(f"stack {stack.name} goes as a whole")
            bring_down(stack, say, quiet=quiet)
            return found._replace(gone=frozenset(each.part.urn for each in found.judged.past))
        if found.judged.going:
            _destroy(stack, looked, say, quiet=quiet)
        return found._replace(gone=_gone(found.judged, stack.deployment()))
    except expected() as error:
        return _failed(stack, looked.found, error)


def _failed(stack: Stack, found: Found, error: Exception) -> Found:
    """What went nevertheless is known from the state."""
    try:
        gone = _gone(found.judged, stack.deployment())
    except expected():
        gone = frozenset[str]()
    return found._replace(tried=True, gone=gone, error=first_line(error))


def _destroy(stack: Stack, looked: _Looked, say: Say, *, quiet: bool) -> None:
    going = looked.found.judged.going
    urns = [urn for part in going for urn in part.urns]
    say(f"stack {stack.name}: taking down {', '.join(part.path for part in going)}")
    dead.forget_dead(stack, looked.deployment, say, within=frozenset(urns))
    there = {str(each["urn"]) for each in stack.deployment().get("resources") or []}
    pool_steps.tell_what_ends(stack, say, within=frozenset(urns))
    with torn_state.kept(backend_folder(), stack.project, stack.name):
        stack.destroy([urn for urn in urns if urn in there], quiet=quiet)


def _gone(judged: Judged, deployment: Mapping[str, Any]) -> frozenset[str]:
    there = {str(each["urn"]) for each in deployment.get("resources") or []}
    return frozenset(each.urn for each in judged.going if not there & set(each.urns))


def _looked(stack: Stack, deployment: Mapping[str, Any], now: datetime) -> _Looked:
    view = of_deployment(stack.name, deployment)
    if view is None or not judge(deployment, (), now).past:
        return _Looked(deployment, Found(stack.name))
    with closing(Arm(view.connection)) as arm:
        held, notes = _locks(arm, view.connection.subscription_id)
        judged = judge(deployment, held, now)
        whole, more = _whole(arm, stack, deployment, judged, held)
    notes = [*notes, *more, *_as_of(stack, judged, now)]
    return _Looked(deployment, Found(stack.name, judged, view.hourly_cost, whole, notes=tuple(notes)))


def _locks(arm: Arm, subscription_id: str) -> tuple[list[Lock], list[str]]:
    """The locks, or why they can't be read: then Azure itself refuses what is locked."""
    try:
        return list(locks.of_subscription(arm, subscription_id)), []
    except expected() as error:
        return [], [f"management locks can't be read ({first_line(error)}); Azure refuses to delete what has one"]


def _whole(arm: Arm, stack: Stack, deployment: Mapping[str, Any], judged: Judged, held: Sequence[Lock]) -> tuple[str, list[str]]:
    """Why the stack goes as a whole, with what goes with it; or nothing, and why a short-lived one doesn't."""
    if not judged.is_whole or not _is_short_lived(stack):
        return "", []
    kept = keeps_whole(deployment, held)
    if not kept:
        groups = [str(each["id"]) for each in created(deployment) if each["type"] == azure_types.RESOURCE_GROUP.token]
        others = [each for group in groups for each in strangers(arm, group, deployment)]
        kept = f"its resource group has what it didn't create: {some(others)}" if others else ""
    if kept:
        return "", [f"it is short-lived (protect_data: false), and doesn't go as a whole: {kept}"]
    lines = [line.strip() for line in ending.taken(stack).lines()]
    return f"it is short-lived (protect_data: false), every part is past its end, and it goes as a whole: {'; '.join(lines)}", []


def _is_short_lived(stack: Stack) -> bool:
    return stack_file.decoded(stack.configuration().get(config_key("protect_data", stack.project), "")) is False


def _as_of(stack: Stack, judged: Judged, now: datetime) -> list[str]:
    """A stack file that is judged at a day of its own may declare what is past by today's date."""
    day = parse_day(stack.configuration().get(config_key("as_of", stack.project), ""))
    ends = [each.part.end.date() for each in judged.past if each.part.end is not None]
    if day is None or day >= now.date() or all(end <= day for end in ends):
        return []
    return [f"its stack file is judged at as_of: {day.isoformat()}, by which the next `up` brings back what is taken down"]
