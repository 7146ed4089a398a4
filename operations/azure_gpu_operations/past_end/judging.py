"""Decides which expired parts of a stack are destroyed, and why the others are kept. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.guard.foreign_resources import created
from azure_gpu_operations.guard.held import held, protected
from azure_gpu_operations.past_end.locks import Lock
from azure_gpu_operations.past_end.parts import Part, Resource, is_root, parts, references
from azure_gpu_operations.terminal import some


class Past(NamedTuple):
    """An expired part."""

    part: Part
    stays: str = ""
    """Why it isn't destroyed, and the fix; "" if it is."""


class Judged(NamedTuple):
    """The expired parts of a stack."""

    past: tuple[Past, ...]
    is_whole: bool
    """Whether every part that can expire has expired."""

    @property
    def going(self) -> list[Part]:
        return [each.part for each in self.past if not each.stays]


def judge(deployment: Mapping[str, Any], locks: Sequence[Lock], now: datetime) -> Judged:
    """The expired parts, in the order of the state."""
    every = parts(deployment)
    past = [each for each in every if each.is_past(now)]
    stays = {each.urn: why for each in past if (why := _own_reason(deployment, each, locks))}
    while True:  # a kept part keeps its dependencies in turn
        going = {urn for each in past if each.urn not in stays for urn in each.urns}
        more = {each.urn: why for each in past if each.urn not in stays and (why := _used(deployment, each, going))}
        if not more:
            break
        stays |= more
    found = tuple(Past(each, stays.get(each.urn, "")) for each in past)
    return Judged(found, is_whole=bool(past) and len(past) == len(every))


def keeps_whole(deployment: Mapping[str, Any], locks: Sequence[Lock]) -> str:
    """Why a short-lived stack isn't destroyed as a whole; "" if it is."""
    if urns := protected(deployment):
        return f"{some(sorted(map(_name, urns)))} is protected"
    for each in created(deployment):
        for lock in locks:
            if lock.keeps(str(each["id"])):
                return f"{lock.words} protects {_name(str(each['urn']))}"
    return ""


def _own_reason(deployment: Mapping[str, Any], part: Part, locks: Sequence[Lock]) -> str:
    kept = set(protected(deployment)) & set(part.urns)
    if kept:
        stack = _stack_of(part.urn)
        return f"{some(sorted(map(_name, kept)))} is protected; fix: {COMMAND} pulumi state unprotect URN --stack {stack}"
    data = [each for each in held(deployment) if each.urn in part.urns and each.holds_data]
    if data:
        lost = data[0].lost.removeprefix("its ")
        return f"the {data[0].what} {data[0].azure_name} holds {lost}; fix: remove it from the stack file"
    for lock in locks:
        if any(lock.keeps(each) for each in part.ids):
            return f"{lock.words} in Azure protects it; fix: delete the lock, if it is yours"
    return ""


def _used(deployment: Mapping[str, Any], part: Part, going: set[str]) -> str:
    """The resources that stay and depend on the part."""
    own = set(part.urns)
    users = sorted({_name(str(each["urn"])) for each in _others(deployment, going) if own & set(references(each))})
    return f"{some(users)} of the stack depends on it; fix: remove that from the stack file and run `up` first" if users else ""


def _others(deployment: Mapping[str, Any], going: set[str]) -> Iterator[Resource]:
    for each in deployment.get("resources") or []:
        if each["urn"] not in going and not is_root(each):
            yield each


def _name(urn: str) -> str:
    return urn.rsplit("::", 1)[-1]


def _stack_of(urn: str) -> str:
    return urn.split("::", 1)[0].rsplit(":", 1)[-1]
