"""Whether a step of a plan interrupts running work, by the resource's type and its changed properties.

The facts with their sources are in interruptions.csv; the first row that matches type, operation and property applies. Without a
matching row the answer is not known. `can`: it depends on the values, such as a smaller number of nodes.
"""

import csv
import fnmatch
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import NamedTuple

FACTS = Path(__file__).with_name("interruptions.csv")


class Interrupts(StrEnum):
    """Whether work that runs is ended or kept waiting, the worst last."""

    NO = "no"
    NOT_KNOWN = "not known"
    CAN = "can"
    YES = "yes"


ORDER = list(Interrupts)


class Interruption(NamedTuple):
    """The effect of a step on running work."""

    interrupts: Interrupts
    what: str = ""
    """Such as "all containers of the group are restarted in place"; empty where nothing is to be told."""
    source: str = ""
    url: str = ""
    """Empty where no page is needed for it."""


class _Fact(NamedTuple):
    type: str
    operations: tuple[str, ...]
    properties: str
    interruption: Interruption


_NONE = Interruption(Interrupts.NO)
NOT_KNOWN = Interruption(Interrupts.NOT_KNOWN)


def of_step(operation: str, resource_type: str, properties: Sequence[str] = ()) -> Interruption:
    """The effect of `create`, `update`, `replace` or `delete` of a resource of a type, such as `azure-native:batch:Pool`.
    `properties`: the paths of the inputs that an update changes, such as `scaleSettings.fixedScale.targetDedicatedNodes`."""
    changed = properties if operation == "update" and properties else ("",)
    return worst([_of_property(operation, resource_type, path) for path in changed])


def worst(found: Sequence[Interruption]) -> Interruption:
    """The one that interrupts most, the first of several; nothing is interrupted where there is none."""
    return max(found, key=lambda each: ORDER.index(each.interrupts), default=_NONE)


def _of_property(operation: str, resource_type: str, path: str) -> Interruption:
    for fact in _facts():
        fits = operation in fact.operations or fact.operations == ("*",)
        if fact.type == resource_type and fits and fnmatch.fnmatchcase(path, fact.properties):
            return fact.interruption
    return _NONE if operation == "create" else NOT_KNOWN


@cache
def _facts() -> list[_Fact]:
    with FACTS.open(newline="", encoding="utf-8") as file:
        return [
            _Fact(
                row["type"],
                tuple(row["operations"].split()),
                row["properties"],
                Interruption(Interrupts(row["interrupts"]), row["what"], row["source"], row["url"]),
            )
            for row in csv.DictReader(file)
        ]
