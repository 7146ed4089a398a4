"""ARM's error: a status, a code that tools rely on, a message for people, in ARM's envelope.

Source of the envelope: Azure/azure-resource-manager-rpc, v1.0/common-api-details.md, "Error Response Content".
"""

from collections.abc import Sequence
from typing import Any

from localazure import evidence
from localazure.arm.caller import Caller


class ArmError(Exception):
    """An error response. Raised below the router, which answers it; in the background it ends the operation as Failed."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        target: str = "",
        details: Sequence["ArmError"] = (),
        headers: dict[str, str] | None = None,
        info: Sequence[dict[str, Any]] = (),
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.target = target
        self.details = tuple(details)
        self.headers = headers or {}
        self.info = list(info)

    def content(self) -> dict[str, Any]:
        """The content of "error": code, message, and target, details and what else is told if there is any."""
        content: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.target:
            content["target"] = self.target
        if self.details:
            content["details"] = [detail.content() for detail in self.details]
        if self.info:
            content["additionalInfo"] = self.info
        return content

    def body(self) -> dict[str, Any]:
        return {"error": self.content()}


def arm_error(code: str, *, target: str = "", details: Sequence[ArmError] = (), **words: object) -> ArmError:
    """A refusal of Azure Resource Manager that has one sentence, that of its row in `localazure/evidence/codes.tsv`."""
    row = evidence.codes()["Azure Resource Manager", code]
    return ArmError(int(row.status), code, row.message.format(**words), target=target, details=details)


def refused(name: str, /, *, details: Sequence[ArmError] = (), **words: object) -> ArmError:
    """The refusal of a row of `localazure/evidence/sentences.tsv`, by its name there."""
    row = evidence.sentences()[name]
    return ArmError(int(row.status), row.code, row.message.format(**words), target=row.target.format(**words), details=details)


def not_implemented(what: str) -> ArmError:
    """501: Azure may support `what`; the embedded Azure doesn't."""
    return ArmError(501, "NotImplemented", f"The embedded Azure does not implement {what}.")


def nothing_runs(what: str) -> ArmError:
    """501: this server was started with --nothing-runs and has no `what`."""
    return ArmError(
        501,
        "NotImplemented",
        f"This embedded Azure was started with --nothing-runs and has no {what}; use another state folder (--state) without "
        "--nothing-runs.",
    )


def conflict(message: str, code: str = "Conflict") -> ArmError:
    return ArmError(409, code, message)


def not_authorized(caller: Caller, action: str, scope: str) -> ArmError:
    """A right that the caller doesn't have."""
    return arm_error("AuthorizationFailed", app=caller.app_id, object=caller.object_id, action=action, scope=scope)


def resource_not_found(arm_type: str, name: str, resource_group: str) -> ArmError:
    """404 in ARM's wording. `name` holds the parents' names too: `registry/run`."""
    where = f"under resource group '{resource_group}'" if resource_group else "in the subscription"
    steps = arm_type.split("/")
    names = name.split("/")
    path = "/".join([steps[0], *(f"{kind}/{one}" for kind, one in zip(steps[1:], names, strict=True))])
    return arm_error("ResourceNotFound", path=path, where=where)
