"""One fault: what it does, which requests it fits, and how a fault is read from JSON."""

import fnmatch
import json
from dataclasses import dataclass, fields
from typing import Any

from formats import dates
from localazure.arm.errors import ArmError

PATH = "/local/faults"
KINDS = ("fail", "throttle", "delay", "lose-answer", "clock")
LONGEST_DELAY_SECONDS = 600
_TYPES = {"count": int, "status": int, "seconds": (int, float)}  # every other value is a string


@dataclass(slots=True, kw_only=True)
class Fault:
    """`kind` is one of KINDS; the other values count where the kind needs them."""

    kind: str
    method: str = "*"  # GET, PUT, ...; * is every one
    path: str = "*"  # glob over the request's path, without regard to letter case
    count: int = 1  # how many requests; 0 means until cleared
    status: int = 500  # fail
    code: str = "InternalServerError"  # fail
    message: str = "A fault was asked for."  # fail
    seconds: float = 1  # delay: how long; throttle: Retry-After
    date: str = ""  # clock: YYYY-MM-DD

    def fits(self, method: str, path: str) -> bool:
        return self.method.upper() in ("*", method) and fnmatch.fnmatchcase(path.lower(), self.path.lower())


def parse(given: dict[str, Any]) -> Fault:
    """The fault that a JSON object describes. ArmError 400 with what is wrong and what is allowed."""
    known = [field.name for field in fields(Fault)]
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise _refusal(unknown[0], f"a fault has no '{unknown[0]}'; it has {', '.join(known)}")
    if given.get("kind") not in KINDS:
        raise _refusal("kind", f"'{given.get('kind')}' is not a kind of fault; it takes {', '.join(KINDS)}")
    for name, value in given.items():
        if not isinstance(value, _TYPES.get(name, str)) or isinstance(value, bool):
            raise _refusal(name, f"{json.dumps(value)} doesn't fit")
    fault = Fault(**given)
    if fault.kind == "clock" and dates.parse_day(fault.date) is None:
        raise _refusal("date", f"'{fault.date}' is not {dates.SPELLING}")
    if fault.count < 0 or not 400 <= fault.status <= 599 or not 0 <= fault.seconds <= LONGEST_DELAY_SECONDS:
        raise _refusal(fault.kind, f"count is 0 or more, status 400 to 599, seconds 0 to {LONGEST_DELAY_SECONDS}")
    return fault


def _refusal(target: str, why: str) -> ArmError:
    return ArmError(400, "InvalidFault", f"The fault is not understood: {target}: {why}.", target=target)
