"""Errors between this plugin and ARM, in Azure's own words."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class AzureError(Exception):
    """ARM refused, or an operation that it had accepted failed. Reads `Status=400 Code="X" Message="…" Details=[…]`.

    Status 0: no answer of ARM. Shown as only the message.
    """

    def __init__(self, status: int, code: str, message: str, details: list[Any] | None = None) -> None:
        self.status = status
        self.code = code
        text = f'Status={status} Code="{code}" Message="{message}"' if status else message
        super().__init__(f"{text} Details={json.dumps(details)}" if details else text)


class AcceptedError(Exception):
    """The request was accepted, and then something failed: the resource may be there, half made."""


class LostError(AcceptedError):
    """The request was sent and its answer never came: nobody knows whether it was accepted."""


@dataclass(frozen=True, slots=True)
class State:
    """A resource as the engine keeps it, in the form of Pulumi's SDK."""

    id: str
    outputs: dict[str, Any]
    inputs: dict[str, Any]


class PartialError(Exception):
    """The resource is there, or may be, and isn't what was requested."""

    def __init__(self, state: State, reason: str, more: Sequence[str] = ()) -> None:
        super().__init__(reason)
        self.state = state
        self.reason = reason
        self.more = more  # what was seen on the way


def azure_error(status: int, body: Any, default_message: str = "") -> AzureError:
    """The error in ARM's envelope `{"error": {code, message, details}}`, or in an operation's status."""
    error = body.get("error") if isinstance(body, Mapping) else None
    if not isinstance(error, Mapping):
        return AzureError(status, "ServiceError", default_message or "Azure answered with an error without details")
    code, message = str(error.get("code", "ServiceError")), str(error.get("message", default_message))
    return AzureError(status, code, message, error.get("details"))
