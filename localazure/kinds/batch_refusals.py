"""Errors of Azure Batch to ARM requests: a code's one sentence, from `localazure/evidence/codes.tsv`, and details that name the
property.

The form (target `BatchAccount`, details `Reason`, `PropertyName`, `PropertyPath`): the sources of the codes there. A request id
and a time, which the service writes below its sentence, are left out.
"""

from localazure import evidence
from localazure.arm import refusals
from localazure.arm.errors import ArmError
from localazure.evidence import Refusal

TARGET = "BatchAccount"
_SERVICE = "Microsoft.Batch"
_OF_PROPERTIES = ("InvalidPropertyValue", "MissingRequiredProperty", "PropertyCannotBeUpdated")


def batch_error(code: str, reason: str = "", path: str = "", value: object = None) -> ArmError:
    """`path`: that of the property, `value`: what was given there; what a code about properties tells in its details."""
    row = evidence.codes()[_SERVICE, code]
    name = path.rsplit(".", 1)[-1] if code in _OF_PROPERTIES else ""
    given = "" if value is None else str(value)
    told = {"Reason": reason, "PropertyName": name, "PropertyPath": path, "PropertyValue": given}
    details = [ArmError(int(row.status), name, text) for name, text in told.items() if text]
    return ArmError(int(row.status), code, row.message, target=TARGET, details=details)


def cannot_be_updated(path: str) -> ArmError:
    code = "PropertyCannotBeUpdated"
    return batch_error(code, evidence.codes()[_SERVICE, code].message, path)


def invalid_value(path: str, reason: str, value: object = None) -> ArmError:
    return batch_error("InvalidPropertyValue", reason, path, value)


def form(row: Refusal, message: str, target: str, value: object) -> ArmError:
    """A row of the table as the service words it: its message is the reason, where the code has a sentence of its own."""
    known = evidence.codes().get((_SERVICE, row.code))
    if known is None or not known.message:
        return refusals.plain(row, message, target, value)
    shown = value if row.code == "InvalidPropertyValue" and isinstance(value, str | int | float) else None
    return batch_error(row.code, message, target, shown)
