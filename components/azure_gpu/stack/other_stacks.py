"""Replaces references to outputs of other stacks, such as `${stacks.network.gpu_subnet}`, in the texts of a stack file.

Outputs are read by a blocking call before validation, as names, sizes and dates are validated before anything is declared.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

import pulumi

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats.stack_file import Steps
from azure_gpu.shared import existing
from azure_gpu.shared.own_state import READ_OUTPUTS
from azure_gpu.shared.secret_places import Leaf, path
from azure_gpu.stack.keys import OTHER_STACKS

REFERENCE = re.compile(r"\$\{stacks\.([^.{}]+)\.([^{}]+)\}")


class OutputsError(Exception):
    """The outputs of a stack can't be read. The text is for the user."""


class Outputs(NamedTuple):
    """The outputs of a stack."""

    values: Mapping[str, object]
    secret: frozenset[str] = frozenset()  # names


Reader = Callable[[str], Outputs]  # by a stack's name as the backend knows it; OutputsError


def by_engine(stack: str) -> Outputs:
    """Reads outputs from the engine that runs the program."""
    try:
        answer = cast(Mapping[str, Any], pulumi.runtime.invoke(READ_OUTPUTS, {"name": stack}).value)
    except Exception as error:  # noqa: BLE001  the SDK raises nothing narrower for a failed call
        raise OutputsError(existing.reason_of(error)) from None
    return Outputs(answer.get("outputs") or {}, frozenset(answer.get("secretOutputNames") or ()))


def unavailable(_: str) -> Outputs:
    """A reader for use without an engine: always fails."""
    raise OutputsError("there is no engine to read them")


def values(texts: Iterable[Leaf], stacks: object, outputs_of: Reader) -> tuple[dict[Steps, object], list[Problem]]:
    """Returns the values of texts with references, by their places; texts with a problem stay. `stacks`: the section that names
    the stacks."""
    reading = _Reading(stacks, outputs_of)
    found: dict[Steps, object] = {}
    for each in texts:
        where = path(each.steps)
        if len(each.steps) == 1:
            reading.refuse("other_stacks.not_here", where, each.value)
        elif each.steps[0] != OTHER_STACKS and isinstance(each.steps[1], str):
            found[each.steps] = reading.value(each.value, where)
    return found, [*reading.problems]


class _Reading:
    def __init__(self, stacks: object, outputs_of: Reader) -> None:
        self.stacks = {name: stack for name, stack in _items(stacks).items() if isinstance(stack, str)}
        self.outputs_of = outputs_of
        self.outputs: dict[str, Outputs | None] = {}
        self.problems: dict[Problem, None] = {}  # each once, in their order

    def refuse(self, why: str, path: str, value: str, **words: Any) -> None:
        self.problems[refused(why, path, value, **words)] = None

    def value(self, text: str, path: str) -> object:
        whole = REFERENCE.fullmatch(text)
        if whole is not None:
            return next(self._found(whole, path), text)
        return REFERENCE.sub(lambda match: self._within(match, path), text)

    def _within(self, match: re.Match[str], path: str) -> str:
        for found in self._found(match, path):
            if isinstance(found, (str, int, float)):
                return json.dumps(found) if isinstance(found, bool) else str(found)
            self.refuse("other_stacks.no_text", path, match[0])
        return match[0]

    def _found(self, match: re.Match[str], path: str) -> Iterator[object]:
        """Yields the output; adds a problem and yields nothing where it can't be used."""
        name, output = match[1], match[2]
        if name not in self.stacks:
            known = ", ".join(sorted(self.stacks))
            self.refuse("other_stacks.unknown", path, match[0], section=OTHER_STACKS, called=name, allowed=known)
            return
        outputs, stack = self._outputs(name), self.stacks[name]
        if outputs is None:
            return
        first, *steps = output.split(".")
        if first in outputs.secret:
            self.refuse("other_stacks.secret", path, match[0], output=first, stack=stack)
            return
        value: object = outputs.values
        for step in (first, *steps):
            below = _items(value)
            if step not in below:
                known = ", ".join(sorted(below))
                self.refuse("other_stacks.no_output", path, match[0], output=output, stack=stack, allowed=known)
                return
            value = below[step]
        yield value

    def _outputs(self, name: str) -> Outputs | None:
        if name not in self.outputs:
            try:
                self.outputs[name] = self.outputs_of(self.stacks[name])
            except OutputsError as error:
                self.outputs[name] = None
                self.refuse("other_stacks.unread", f"{OTHER_STACKS}.{name}", self.stacks[name], error=error)
        return self.outputs[name]


def _items(value: object) -> Mapping[str, object]:
    """Returns the items of a mapping; empty for anything else."""
    return {str(key): each for key, each in cast(Mapping[object, object], value).items()} if isinstance(value, Mapping) else {}
