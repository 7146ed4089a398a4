"""Where two answers to the same request differ: status, code of an error, members, values. Pure.

What is random, a moment, or a name of the machine is compared as `tests/recorded/members.py` has it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from azure_gpu_operations.preflight.validation import leaves
from tests.conformance.azure import Exchange
from tests.recorded.members import comparable, flat, lowered, same


class Difference(NamedTuple):
    """`expected` is what the embedded Azure answers, or what is written down of Azure; `found` what was answered."""

    what: str  # the case, or the resource
    request: str
    kind: str  # status, error, member, value
    expected: str
    found: str


def between(what: str, request: str, expected: Exchange, found: Exchange) -> Iterator[Difference]:
    """Everything in which `found` differs. A member that only it has is Azure's own, and is listed as one."""
    if expected.status != found.status:
        yield Difference(what, request, "status", str(expected.status), _told(found))
        return
    codes, others = codes_of(expected.response), codes_of(found.response)
    if codes != others:
        yield Difference(what, request, "error", ", ".join(codes) or "none", ", ".join(others) or "none")
        return
    if codes:
        return  # the sentences are each service's own
    ours, theirs = lowered(flat(expected.response)), lowered(flat(found.response))
    for path in sorted(ours.keys() | theirs.keys()):
        if path not in theirs:
            yield Difference(what, request, "member", path, "missing")
        elif path not in ours:
            yield Difference(what, request, "member", "missing", path)
        elif comparable(path, ours[path]) and comparable(path, theirs[path]) and not same(ours[path], theirs[path]):
            yield Difference(what, request, "value", f"{path}: {ours[path]}", str(theirs[path]))


def codes_of(response: Any) -> list[str]:
    """The codes of an error, innermost, each with the name that it is about."""
    error = response.get("error") if isinstance(response, Mapping) else None
    if not isinstance(error, Mapping):
        return []
    return sorted(str(each.get("code")) for each in leaves(error))


def _told(found: Exchange) -> str:
    codes = codes_of(found.response)
    return f"{found.status} {', '.join(codes)}".strip()
