"""One fault: what it does, which requests it fits, and how a fault is read from JSON."""

import fnmatch
import json
from dataclasses import dataclass, fields
from typing import Any

from azure_gpu.catalog import regions
from azure_gpu.catalog.policies import everything
from azure_gpu.formats import arm_ids, azure_types, dates
from localazure.arm.errors import ArmError
from localazure.weather.parts import PARTS

PATH = "/local/faults"
AT_ONCE = ("evict",)  # happen when they are requested, and are over
WEATHER = ("weather", "calm")  # turn one part of the weather on, or off
POLICIES = ("policy-deny", "policy-tag", "policy-assign")  # assignments of Azure Policy
STANDING = (
    "clock",
    "quota",
    "capacity",
    "provider",
    "restrict",
    "forbid",
    "inside",
    *WEATHER,
    *POLICIES,
)  # hold for all requests until they are cleared
_REQUESTS = ("method", "path", "count")  # which requests a fault hits, and how many
FIELDS = {  # by kind: what counts of a fault
    "fail": (*_REQUESTS, "status", "code", "message"),
    "fail-later": (*_REQUESTS, "status", "code", "message"),
    "wrong-answer": (*_REQUESTS, "status", "code", "message"),
    "throttle": (*_REQUESTS, "seconds"),
    "delay": (*_REQUESTS, "seconds"),
    "lose-answer": _REQUESTS,
    "reset": _REQUESTS,
    "timeout": (*_REQUESTS, "seconds"),
    "clock": ("date",),
    "quota": ("service", "location", "name", "limit", "used"),
    "capacity": ("location",),
    "provider": ("name", "registration"),
    "restrict": ("name", "location", "zone", "reason"),
    "forbid": ("name",),
    "inside": ("name",),
    "weather": ("name", "seconds"),
    "calm": ("name",),
    "policy-deny": ("name", "path", "property", "value"),
    "policy-tag": ("name", "path", "tag", "value"),
    "policy-assign": ("name", "definition", "value"),
    "evict": ("name",),
}
KINDS = tuple(FIELDS)
QUOTA_SERVICES = ("compute", "batch", "ml", "aci", "apps")
REGISTRATION_STATES = ("NotRegistered", "Registering", "Registered", "Unregistering", "Unregistered")
RESTRICTION_REASONS = ("NotAvailableForSubscription", "QuotaId")
LONGEST_DELAY_SECONDS = 600
_TYPES = {"count": int, "status": int, "seconds": (int, float), "limit": int, "used": int}  # every other value is a string


@dataclass(slots=True, kw_only=True)
class Fault:
    """`kind` is one of KINDS; the other values count where the kind needs them."""

    kind: str
    method: str = "*"  # GET, PUT, ...; * is every one
    path: str = "*"  # glob over the request's path, without regard to letter case
    count: int = 1  # how many requests; 0 means until cleared
    status: int = 500  # fail, fail-later, wrong-answer
    code: str = "InternalServerError"
    message: str = "A fault was asked for."
    seconds: float = 1  # delay, timeout: how long; throttle: Retry-After; weather: how long the part lasts
    date: str = ""  # clock: YYYY-MM-DD
    # quota: a family, cores, lowPriorityCores, accounts, of aci ContainerGroups or StandardCores; provider: namespace;
    # restrict: size; forbid: action; inside: the id of a virtual network; weather, calm: one of weather.parts.PARTS; policies:
    # the assignment; evict: POOL or POOL/NODE of Batch, CLUSTER/POOL or CLUSTER/POOL/NODE of AKS, a virtual machine, CLUSTER or
    # CLUSTER/NODE of Azure ML
    name: str = ""
    location: str = ""  # quota, capacity, restrict
    service: str = ""  # quota: one of QUOTA_SERVICES
    limit: int = 0  # quota
    used: int = 0  # quota
    registration: str = ""  # provider: one of REGISTRATION_STATES
    zone: str = ""  # restrict: "" is the whole region
    reason: str = RESTRICTION_REASONS[0]  # restrict
    property: str = ""  # policy-deny: a path in the body, such as properties.publicNetworkAccess
    tag: str = ""  # policy-tag
    definition: str = ""  # policy-assign: the GUID of one of the catalog that has a parameter
    # policy-deny: the value that is denied, "" every one; policy-tag: the tag's; policy-assign: the parameter's, with commas
    value: str = ""

    def fits(self, method: str, path: str) -> bool:
        return self.method.upper() in ("*", method) and fnmatch.fnmatchcase(path.lower(), self.path.lower())


def parse(given: dict[str, Any]) -> Fault:
    """The fault that a JSON object describes. ArmError 400 with what is wrong and what is allowed."""
    known = [field.name for field in fields(Fault)]
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise _refusal(unknown[0], f"a fault has no '{unknown[0]}'; it has {', '.join(known)}")
    if given.get("kind") not in KINDS:
        raise _refusal("kind", f"'{given.get('kind')}' is not a kind of fault; allowed: {', '.join(KINDS)}")
    for name, value in given.items():
        if not isinstance(value, _TYPES.get(name, str)) or isinstance(value, bool):
            raise _refusal(name, f"{json.dumps(value)} doesn't fit")
    fault = Fault(**given)
    if fault.kind in WEATHER:
        _check_weather(fault)
        fault.seconds = given.get("seconds", PARTS[fault.name].seconds)
    if fault.kind == "clock" and dates.parse_day(fault.date) is None:
        raise _refusal("date", f"'{fault.date}' is not {dates.SPELLING}")
    if fault.count < 0 or not 400 <= fault.status <= 599 or not 0 <= fault.seconds <= LONGEST_DELAY_SECONDS:
        raise _refusal(fault.kind, f"count is 0 or more, status 400 to 599, seconds 0 to {LONGEST_DELAY_SECONDS}")
    if fault.kind in AT_ONCE and not fault.name:
        raise _refusal("name", "it is missing")
    if fault.kind in STANDING:
        _check_standing(fault)
        fault.count = 0
    return fault


def _check_standing(fault: Fault) -> None:
    """What a fault that changes the subscription has to name."""
    if fault.kind not in ("clock", "capacity") and not fault.name:
        raise _refusal("name", "it is missing")
    if fault.kind in ("quota", "capacity", "restrict") and not regions.may_be(fault.location):
        raise _refusal("location", f"'{fault.location}' isn't a name of a region")
    if fault.kind == "quota" and (fault.service not in QUOTA_SERVICES or fault.limit < 0 or fault.used < 0):
        raise _refusal("quota", f"service is one of {', '.join(QUOTA_SERVICES)}, limit and used are 0 or more")
    if fault.kind == "provider" and fault.registration not in REGISTRATION_STATES:
        raise _refusal("registration", f"'{fault.registration}' is none of {', '.join(REGISTRATION_STATES)}")
    if (fault.kind == "policy-deny" and not fault.property) or (fault.kind == "policy-tag" and not fault.tag):
        raise _refusal("property" if fault.kind == "policy-deny" else "tag", "it is missing")
    if fault.kind == "policy-assign" and not (fault.value and any(each.is_of(fault.definition) for each in everything())):
        raise _refusal("definition", f"'{fault.definition}' is none of the catalog that has a parameter, or its value is missing")
    network = arm_ids.parse(fault.name) if fault.kind == "inside" else None
    if fault.kind == "inside" and (network is None or not network.is_type(azure_types.VIRTUAL_NETWORK.arm_type)):
        raise _refusal("name", f"'{fault.name}' isn't the id of a virtual network")
    if fault.kind == "restrict" and fault.reason not in RESTRICTION_REASONS:
        raise _refusal("reason", f"'{fault.reason}' is none of {', '.join(RESTRICTION_REASONS)}")


def _check_weather(fault: Fault) -> None:
    if fault.name not in PARTS:
        raise _refusal("name", f"'{fault.name}' isn't a part of the weather; its parts are {', '.join(PARTS)}")


def _refusal(target: str, why: str) -> ArmError:
    return ArmError(400, "InvalidFault", f"Invalid fault: {target}: {why}.", target=target)
