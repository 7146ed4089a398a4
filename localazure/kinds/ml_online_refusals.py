"""How the service refuses an endpoint or a deployment at once: 400 BadRequest, with what is wrong in its details.

The envelope and the sentence about a quota were read in users' reports (MicrosoftLearning/mslearn-azure-ml issue 30,
Azure/azureml-examples pull request 1635); the other sentences are this project's.
"""

import json

from localazure.arm import refusals
from localazure.arm.errors import ArmError
from localazure.arm.store import Body
from localazure.evidence import Refusal
from localazure.ml.failures import GUIDE

INVALID = "The request is invalid."


def invalid(message: str, target: str) -> ArmError:
    """Something of the body that the service doesn't take."""
    return ArmError(400, "BadRequest", message, target=target, details=[ArmError(400, "InvalidArgument", message, target=target)])


def refuse_other(patch: Body, allowed: tuple[str, ...]) -> None:
    """ArmError where a PATCH names a property that only a PUT may change."""
    other = sorted(set(patch) - {*allowed, "id", "name", "type", "location"})
    if other:
        raise invalid(f"A PATCH takes {', '.join(allowed)}; change '{other[0]}' by a PUT of the whole.", other[0])


def form(row: Refusal, message: str, target: str, value: object) -> ArmError:
    """A row of the table as the service words it."""
    if row.code == "InferencingClientCreateDeploymentFailed":
        return of_size(message)
    return invalid(message, target) if row.code == "BadRequest" else refusals.plain(row, message, target, value)


def of_size(message: str) -> ArmError:
    """About the size or the number of machines."""
    inner = {
        "errors": {"VmSize": [message]},
        "type": "https://tools.ietf.org/html/rfc7231#section-6.5.1",
        "title": "One or more validation errors occurred.",
        "status": 400,
    }
    detail = f"InferencingClient HttpRequest error, error detail: {json.dumps(inner, separators=(',', ':'))}"
    details = [ArmError(400, "InferencingClientCreateDeploymentFailed", detail)]
    return ArmError(400, "BadRequest", f"{INVALID} {message}", target="properties.instanceType", details=details)


def quota(size: str, subscription: str, used: int, limit: int, needed: int) -> ArmError:
    return of_size(
        f"Not enough quota available for {size} in SubscriptionId {subscription}. Current usage/limit: {used}/{limit}. "
        f"Additional needed: {needed} {GUIDE}outofquota"
    )
