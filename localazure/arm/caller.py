"""Who sends a request to the embedded Azure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """The claims `oid` and `appid` of a request's token."""

    object_id: str
    app_id: str
