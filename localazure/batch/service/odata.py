"""The OData of the data plane's lists: $select, and of $filter `eq`, `ne` and `startswith`, joined by `and`.

Anything else of OData is refused by name. Which properties a list can be filtered by: Microsoft Learn,
rest/api/batchservice/odata-filters-in-batch.
"""

import re
from collections.abc import Callable

from localazure.arm.store import Body
from localazure.batch.errors import BatchError, not_imitated

_RUN = ("startTime", "endTime", "exitCode", "result")
_CHANGES = ("state", "stateTransitionTime", "creationTime", "lastModified")
JOBS = ("id", *_CHANGES, "executionInfo/startTime", "executionInfo/endTime", "executionInfo/poolId")
TASKS = ("id", *_CHANGES, *(f"executionInfo/{name}" for name in _RUN))
POOLS = (
    *("id", *_CHANGES, "allocationState", "allocationStateTransitionTime"),
    *("enableAutoScale", "vmSize", "enableInterNodeCommunication"),
)
NODES = (
    *("state", "stateTransitionTime", "lastBootTime", "allocationTime"),
    *(f"startTaskInfo/{name}" for name in ("state", *_RUN)),
)
FILES = ("name",)
IMAGES = ("osType", "verificationType", "nodeAgentSKUId")
PREPARATIONS = (
    *("poolId", "nodeId"),
    *(f"{task}TaskExecutionInfo/{name}" for task in ("jobPreparation", "jobRelease") for name in ("state", *_RUN)),
)

Test = Callable[[Body], bool]
_LITERAL = r"(?:'(?P<text>(?:[^']|'')*)'|(?P<bare>-?\w+))"
_TERM = re.compile(
    rf"\s*(?:startswith\(\s*(?P<start>[\w/]+)\s*,\s*'(?P<prefix>(?:[^']|'')*)'\s*\)"
    rf"|(?P<name>[\w/]+)\s+(?P<word>eq|ne)\s+{_LITERAL})\s*(?:(?P<on>and)\b|$)",
    re.IGNORECASE,
)


def parse(text: str, properties: tuple[str, ...]) -> Test:
    """Whether an entry of the list is wanted. BatchError 400 for another property, 501 for what else OData knows."""
    tests: list[Test] = []
    position, more = 0, bool(text.strip())
    while more:
        found = _TERM.match(text, position)
        if found is None:
            raise not_imitated("a $filter of more than 'eq', 'ne' and 'startswith', joined by 'and'")
        tests.append(_test(found, text, properties))
        position, more = found.end(), bool(found["on"])
    return lambda entry: all(test(entry) for test in tests)


def _test(found: re.Match[str], text: str, properties: tuple[str, ...]) -> Test:
    name = next((each for each in properties if each.lower() == (found["start"] or found["name"]).lower()), None)
    if name is None:
        reason = f"the list can be filtered by {', '.join(sorted(properties))}"
        values = {"QueryParameterName": "$filter", "QueryParameterValue": text[:200], "Reason": reason}
        raise BatchError("InvalidQueryParameterValue", values=values)
    if found["start"]:
        prefix = found["prefix"].replace("''", "'").lower()
        return lambda entry: _value(entry, name).startswith(prefix)
    given = (found["bare"] or (found["text"] or "").replace("''", "'")).lower()
    return lambda entry: (_value(entry, name) == given) is (found["word"].lower() == "eq")


def selected(entry: Body, select: str) -> Body:
    """Of an entry what `$select` names; all of it where it names nothing."""
    if not select.strip():
        return entry
    kept: Body = {}
    for name in (each.strip() for each in select.split(",")):
        first, _, rest = name.partition("/")
        value = entry.get(first)
        if value is not None:
            kept[first] = selected(value, rest) | kept.get(first, {}) if rest and isinstance(value, dict) else value
    return kept


def _value(entry: Body, path: str) -> str:
    """As texts are compared: without regard to letter case; "" where there is none."""
    value: object = entry
    for name in path.split("/"):
        value = value.get(name) if isinstance(value, dict) else None
    return "" if value is None else str(value).lower()
