"""The members of an answer, as paths with values, and which values say the same wherever and whenever they are answered."""

import re
from collections.abc import Mapping
from typing import Any

GUID = re.compile(r"^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$", re.IGNORECASE)
_ANY_GUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)
_TAKEN_OUT = re.compile(r"^\{\w+\}$")  # what the publisher of a recording left out
HOST = re.compile(r"^(?:https?://)?[\w.-]+\.(?:com|net|io|dev|local|azure|ms)(?:[:/].*)?$", re.IGNORECASE)
_DATE = re.compile(r"^\d{4}-\d\d-\d\d[T ]")
_ADDRESS = re.compile(r"^\d+\.\d+\.\d+\.\d+(?:/\d+)?$")
# Members whose values differ from one resource, moment or release to the next: their names end so.
_VOLATILE = (
    *("etag", "version", "timestamp", "date", "time", "thumbprint", "key", "secret", "token", "fingerprint", "hash"),
    *("verificationid", "vmid", "uniqueid", "generation", "createdby", "lastmodifiedby", "resourceuid", "displaystatus"),
    *("powerstate", "provisioningstate"),
    *("createdbytype", "lastmodifiedbytype"),  # who asked: a person there, a service principal here
)


def flat(value: Any, at: str = "") -> dict[str, Any]:
    """Every member that isn't null, by its path: `properties.containers[0].name`. An empty list is one, an empty object isn't."""
    if isinstance(value, Mapping):
        return {path: leaf for name, each in value.items() for path, leaf in flat(each, f"{at}.{name}" if at else name).items()}
    if isinstance(value, list):
        found = {path: leaf for i, each in enumerate(value) for path, leaf in flat(each, f"{at}[{i}]").items()}
        return found or {at: []}
    return {} if value is None else {at: value}


def comparable(path: str, value: Any) -> bool:
    """Whether another answer has to have the same value there."""
    if path.rsplit(".", 1)[-1].lower().endswith(_VOLATILE):
        return False
    return not (isinstance(value, str) and any(each.match(value) for each in (GUID, HOST, _DATE, _ADDRESS, _TAKEN_OUT)))


def same(theirs: Any, ours: Any) -> bool:
    """Without regard to letter case, as ARM reads, and to GUIDs that a service makes up for a name."""
    return _ANY_GUID.sub("", str(theirs)).lower() == _ANY_GUID.sub("", str(ours)).lower()


def lowered(members: Mapping[str, Any]) -> dict[str, Any]:
    """The same by paths in lower case, since the services don't agree on the case of theirs."""
    return {path.lower(): value for path, value in members.items()}
