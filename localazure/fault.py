"""One fault: what it does, which requests it fits, and how a fault is read from JSON. The kinds are rows of `faults.toml`."""

import fnmatch
import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from azure_gpu.catalog import regions
from azure_gpu.catalog.policies import everything
from azure_gpu.formats import arm_ids, azure_types, dates
from localazure.arm.errors import ArmError
from localazure.weather.parts import PARTS

PATH = "/local/faults"
_TYPES: Mapping[Any, Any] = {int: int, float: (int, float), str: str}


@dataclass(slots=True, kw_only=True)
class Fault:
    """What counts of it is what its kind takes."""

    kind: str
    method: str = "*"
    path: str = "*"  # glob over the request's path, or over ids, without regard to letter case
    count: int = 1
    status: int = 500
    code: str = "InternalServerError"
    message: str = "A fault was asked for."
    seconds: float = 1  # delay, timeout: how long; throttle: Retry-After; weather: how long the part lasts
    date: str = ""
    name: str = ""
    location: str = ""
    service: str = ""
    limit: int = 0
    used: int = 0
    registration: str = ""
    zone: str = ""
    reason: str = "NotAvailableForSubscription"
    property: str = ""
    tag: str = ""
    definition: str = ""
    value: str = ""  # policy-deny: the value that is denied, "" every one

    def fits(self, method: str, path: str) -> bool:
        return self.method.upper() in ("*", method) and fnmatch.fnmatchcase(path.lower(), self.path.lower())


class Kind(NamedTuple):
    """A row of the kinds."""

    help: str
    holds: str
    takes: Mapping[str, Mapping[str, Any]]  # by the member of a fault


def _kinds() -> Mapping[str, Kind]:
    table = tomllib.loads(Path(__file__).with_name("faults.toml").read_text(encoding="utf-8"))
    rows: dict[str, dict[str, Any]] = table["kinds"]
    return {
        name: Kind(row["help"], row.get("holds", "requests"), {each.split()[-1]: table["takes"][each] for each in row["takes"]})
        for name, row in rows.items()
    }


KINDS = _kinds()
STANDING = frozenset(name for name, kind in KINDS.items() if kind.holds == "cleared")
AT_ONCE = frozenset(name for name, kind in KINDS.items() if kind.holds == "once")


def choices(taken: Mapping[str, Any]) -> list[str]:
    """The values of which one has to be given; empty for any."""
    match taken.get("is"):
        case "part":
            return list(PARTS)
        case "definition":
            return sorted({each.definition for each in everything() if each.parametrized})
        case _:
            return taken.get("choices", [])


def parse(given: dict[str, Any]) -> Fault:
    """The fault that a JSON object describes. ArmError 400 with what is wrong and what is allowed."""
    known = {field.name: field.type for field in fields(Fault)}
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise _refusal(unknown[0], f"a fault has no '{unknown[0]}'; it has {', '.join(known)}")
    if given.get("kind") not in KINDS:
        raise _refusal("kind", f"'{given.get('kind')}' is not a kind of fault; allowed: {', '.join(KINDS)}")
    for name, value in given.items():
        if not isinstance(value, _TYPES[known[name]]) or isinstance(value, bool):
            raise _refusal(name, f"{json.dumps(value)} doesn't fit")
    fault = Fault(**given)
    for name, taken in KINDS[fault.kind].takes.items():
        _check(name, taken, getattr(fault, name))
    if fault.kind == "weather":
        fault.seconds = given.get("seconds", PARTS[fault.name].seconds)
    if fault.kind in STANDING:
        fault.count = 0
    return fault


def _check(name: str, taken: Mapping[str, Any], value: Any) -> None:
    if value == "" and "default" not in taken:
        raise _refusal(name, "it is missing")
    allowed = choices(taken)
    if allowed and value not in allowed:
        raise _refusal(name, f"'{value}' is none of {', '.join(allowed)}")
    fits, wrong = _FORMS.get(taken.get("is", ""), (None, ""))
    if fits is not None and not fits(value):
        raise _refusal(name, f"'{value}' {wrong}")
    if "least" in taken and not taken["least"] <= value <= taken.get("most", value):
        raise _refusal(name, f"it is {taken['least']} " + (f"to {taken['most']}" if "most" in taken else "or more"))


def _is_network(text: str) -> bool:
    network = arm_ids.parse(text)
    return network is not None and network.is_type(azure_types.VIRTUAL_NETWORK.arm_type)


_FORMS: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "day": (lambda text: dates.parse_day(text) is not None, f"is not {dates.SPELLING}"),
    "region": (regions.may_be, "isn't a name of a region"),
    "network": (_is_network, "isn't the id of a virtual network"),
}


def _refusal(target: str, why: str) -> ArmError:
    return ArmError(400, "InvalidFault", f"Invalid fault: {target}: {why}.", target=target)
