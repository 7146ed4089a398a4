"""Errors of the Batch service: a status, a code, a message for people, and named values with details.

Statuses and messages are in `localazure/evidence/codes.tsv`. The envelope is `BatchError` of azure-batch 15.1: code, message
{lang, value}, values.
"""

from typing import Any

from localazure import evidence

SERVICE = "Batch data plane"


class BatchError(Exception):
    """A refusal. Raised anywhere below the data plane, which answers it."""

    def __init__(
        self,
        code: str,
        message: str = "",
        *,
        status: int | None = None,
        values: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        known = evidence.codes().get((SERVICE, code))
        self.status = status or int((known and known.status) or 400)
        self.code = code
        self.message = message or (known.message if known else "")
        self.values = values or {}
        self.headers = headers or {}
        super().__init__(f"{code}: {self.message}")

    def body(self) -> dict[str, Any]:
        """The envelope."""
        content: dict[str, Any] = {"code": self.code, "message": {"lang": "en-US", "value": self.message}}
        if self.values:
            content["values"] = [{"key": key, "value": value} for key, value in self.values.items()]
        return content


def invalid_value(name: str, value: object, reason: str) -> BatchError:
    """A property whose value the service doesn't take."""
    return BatchError("InvalidPropertyValue", values={"PropertyName": name, "PropertyValue": str(value), "Reason": reason})


def not_imitated(what: str) -> BatchError:
    """Azure may know `what`; the embedded Batch doesn't imitate it."""
    return BatchError("NotImplemented", f"The embedded Azure does not implement {what}.", status=501)
