"""What of a stack a run uses: its part as Azure has it (whether it is there, has expired, has an identity), and its registry."""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from azure_gpu.catalog.problems import Code, Problem, Severity, errors
from azure_gpu.formats import dates, tags
from azure_gpu.formats.dates import instant
from azure_gpu.shared.registry_build import REGISTRY_VERSION, Registry
from azure_gpu_operations.one_part import Kind
from azure_gpu_operations.run.context import LONGEST_BUILD_MINUTES
from azure_gpu_operations.run.protocol import Say, WrongRunError
from azure_gpu_operations.run.target import Target
from azure_gpu_operations.stack_view import StackView

if TYPE_CHECKING:
    from azure_gpu_operations.azure import Arm

_LONGER = f"--build-timeout MINUTES sets a longer limit, of at most {LONGEST_BUILD_MINUTES}"


def missing(kind: Kind, view: StackView, name: str, more: str = "") -> WrongRunError:
    """The refusal of a part that isn't in Azure. `more`: how it may have been lost."""
    fix = f"run `pulumi refresh --stack {view.name}`, then `pulumi up` to create it again"
    message = f"the {kind.noun} is in the stack's state but not in Azure{more}"
    return WrongRunError([Problem(kind.option, message, name, fix=fix)])


def client_id(body: Mapping[str, Any]) -> str | None:
    """Client id of a resource's user-assigned identity; "" for its system-assigned one, None without identity."""
    identity = body.get("identity") or {}
    given = (identity.get("userAssignedIdentities") or {}).values()
    return next((str(each.get("clientId") or "") for each in given), "" if identity.get("principalId") else None)


def carrier_of(kind: Kind, name: str, body: Mapping[str, Any]) -> str:
    """Client id of the identity that transfers files. WrongRunError without an identity."""
    found = client_id(body)
    if found is None:
        fix = "add `identity: create` to the stack's foundation and run `pulumi up`"
        raise WrongRunError([Problem(kind.option, f"the {kind.noun} has no identity to transfer files", name, fix=fix)])
    return found


def expired(
    kind: Kind, view: StackView, name: str, body: Callable[[], Mapping[str, Any] | None], today: date | None = None
) -> list[Problem]:
    """The warning of an expired part, which exists until it is destroyed. `body`: of the part, whose tag may set its current day;
    read only if it has an end."""
    end = instant(view.expires_at.get(name))
    if end is None:
        return []
    as_of = ((body() or {}).get("tags") or {}).get(tags.AS_OF, "")
    if end.date() > (dates.parse_day(as_of) or today or datetime.now(UTC).date()):
        return []
    return [
        Problem(
            path=f"{kind.section}.{name}.expires_after",
            message=f"the {kind.noun} expired on {end.date().isoformat()} and may be destroyed at any time",
            fix=f"set a later date and run `pulumi up --stack {view.name}`",
            severity=Severity.WARNING,
        )
    ]


def accepted(problems: list[Problem], say: Say) -> None:
    """Says warnings. WrongRunError if there are errors among the problems."""
    if errors(problems):
        raise WrongRunError(problems)
    for warning in problems:
        say(f"warning: {warning}")


def no_registry(view: StackView, target: Target, instead: str = "name an existing image") -> list[Problem]:
    """The problem of an image that has to be built, on a stack without a registry."""
    if view.registry or target.context is None:
        return []
    fix = f"add `registry: create` to the stack's foundation, or {instead}"
    message = "the stack has no registry to build the image"
    return [Problem("--stack", message, value=view.name, fix=fix, code=Code.NOT_FOUND)]


def registry_of(arm: "Arm", view: StackView) -> Registry:
    """WrongRunError if it doesn't exist."""
    body = arm.get(view.registry, REGISTRY_VERSION)
    if body is None:
        fix = f"run `pulumi refresh --stack {view.name}` and `pulumi up --stack {view.name}`"
        message = "the stack's registry doesn't exist; it was deleted outside the stack"
        raise WrongRunError([Problem("--stack", message, view.registry, fix=fix)])
    return Registry(arm, view.registry, str(body["properties"]["loginServer"]), _LONGER)
