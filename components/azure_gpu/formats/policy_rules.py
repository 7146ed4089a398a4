"""Judges bodies of resources by the definitions of Azure Policy in the catalog, `azure_gpu.catalog.policies`."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from azure_gpu.catalog.policies import PARAMETER, Policy, everything
from azure_gpu.formats import conditions

_TEST = re.compile(r"(is|not) (\S+)")


class Denied(NamedTuple):
    """What a row denies of a body."""

    row: Policy
    path: str
    value: Any

    @property
    def expression(self) -> dict[str, Any]:
        """What Azure shows of it: path, value, operator and target of the row's first test."""
        operator, target = _expression(self.row.condition.partition("; ")[0])
        return {"path": self.path, "expressionValue": self.value, "operator": operator, "targetValue": target}


def denied(arm_type: str, name: str, body: conditions.Body, definition: str = "", value: str = "") -> Iterator[Denied]:
    """What the catalog's rows deny of a body: those of a landing zone, or those of a definition, whose parameter is `value`, a
    list with commas."""
    facts: conditions.Body = {"name": name, "allowed": [each.strip() for each in value.split(",")]}
    for row in everything():
        is_asked = row.definition == definition if definition else row.in_a_landing_zone
        if not is_asked or not row.concerns(arm_type) or (row.parametrized and not value):
            continue
        path = row.property.replace(PARAMETER, value)
        for found in conditions.found(path, row.condition, body, facts):
            yield Denied(row, path, found)


def _expression(test: str) -> tuple[str, str]:
    if test in ("missing", "set"):
        return "exists", str(test == "set").lower()
    found = _TEST.fullmatch(test)
    if found is None:
        return test, ""
    several = "|" in found[2]
    words = {("is", False): "equals", ("is", True): "in", ("not", False): "notEquals", ("not", True): "notIn"}
    return words[found[1], several], found[2].replace("|", ", ")
