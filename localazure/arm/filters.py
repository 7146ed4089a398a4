"""The `$filter` and `$top` of lists. Conditions have the form `name eq 'value'`, joined by `and`; what else OData knows is
refused explicitly.
"""

import re
from collections.abc import Collection, Mapping

from localazure.arm.errors import arm_error

_CONDITION = re.compile(r"\s*(?P<name>[A-Za-z]+)\s+eq\s+'(?P<value>(?:[^']|'')*)'\s*(?P<more>and\b|$)", re.IGNORECASE)

_NUMBER = re.compile(r"[0-9]{1,18}")


def parse(text: str, allowed: Collection[str]) -> dict[str, str]:
    """The conditions by lower-case name. ArmError 400 for anything but `allowed` names compared with `eq`."""
    conditions: dict[str, str] = {}
    position = 0
    while position < len(text):
        found = _CONDITION.match(text, position)
        if found is None or found["name"].lower() not in {name.lower() for name in allowed}:
            raise arm_error("InvalidFilterInQueryString", text=text, names=", ".join(sorted(allowed)))
        conditions[found["name"].lower()] = found["value"].replace("''", "'")
        position = found.end()
    return conditions


def top(text: str) -> int | None:
    """How many entries `$top` requests; None for all."""
    return int(text) if _NUMBER.fullmatch(text) else None


def has_tag(tags: Mapping[str, str], conditions: Mapping[str, str]) -> bool:
    """Whether `tagName` and `tagValue` hold. Keys are compared without regard to letter case, values with it."""
    if "tagname" not in conditions:
        return True
    value = next((value for key, value in tags.items() if key.lower() == conditions["tagname"].lower()), None)
    return value is not None and conditions.get("tagvalue", value) == value
