"""Reading what a company already has, which is never changed and never deleted: it doesn't even enter the stack's state.

In: the id that the settings name, checked by its spelling alone. Out: what Azure answers for it, or one clear problem where it
isn't there. Each read is one lookup through the provider, made while the program runs, so that preview finds what is missing.
"""

import re
from collections.abc import Callable
from typing import TypeVar

import pulumi

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.shared.look_up import AskedBy

T = TypeVar("T")
LookUp = Callable[[str, str, pulumi.InvokeOptions], T]
"""What Azure answers for a resource group, a name and options of the call."""
_NOUNS = {
    azure_types.RESOURCE_GROUP: "resource group",
    azure_types.USER_ASSIGNED_IDENTITY: "user-assigned identity",
    azure_types.REGISTRY: "container registry",
    azure_types.LOG_WORKSPACE: "log workspace",
    azure_types.STORAGE_ACCOUNT: "storage account",
    azure_types.MANAGED_ENVIRONMENT: "Container Apps environment",
    azure_types.BATCH_ACCOUNT: "Batch account",
    azure_types.BATCH_APPLICATION: "Batch application",
    azure_types.MANAGED_CLUSTER: "AKS cluster",
    azure_types.ML_WORKSPACE: "Azure Machine Learning workspace",
    azure_types.ML_ONLINE_ENDPOINT: "online endpoint",
    azure_types.KEY_VAULT: "key vault",
    azure_types.INSIGHTS_COMPONENT: "Application Insights component",
}
_MISSING = re.compile(r"not ?found|no resource|\b404\b", re.IGNORECASE)  # how lookups say that Azure answered 404


def parts(given: pulumi.Input[str]) -> pulumi.Output[ArmId]:
    """What an id is made of, which may be an output; all of it empty where it is no id."""
    return pulumi.Output.from_input(given).apply(lambda text: arm_ids.parse(text) or ArmId(text, "", "", "", "", ""))


def check_id(text: str, wanted: AzureType, path: str, subscription_id: str = "") -> list[Problem]:
    """The problem of a text that is no id, or one of another type."""
    example = wanted.path.replace("{subscriptionId}", subscription_id or "<subscription>").replace("{", "<").replace("}", ">")
    found = arm_ids.parse(text)
    if found is None:
        return [Problem(path=path, message="this is no Azure resource id", value=text, allowed=example, fix="copy the id whole")]
    if not found.is_type(wanted.arm_type):
        message = f"this id is of type {found.type}, {wanted.arm_type} is wanted"
        return [Problem(path=path, message=message, value=text, allowed=example, fix=f"give the id of a {_NOUNS[wanted]}")]
    return []


def resolve_id(text: str, wanted: AzureType, subscription_id: str, path: str) -> tuple[ArmId | None, list[Problem]]:
    """The id that `text` spells; None with a problem where it isn't one or is of another type. `subscription_id`: for the example
    of one."""
    problems = check_id(text, wanted, path, subscription_id)
    return (None if problems else arm_ids.parse(text)), problems


def reason_of(error: Exception) -> str:
    """Why a look-up failed: the last line of what the SDK says."""
    return (str(error).strip().splitlines() or [type(error).__name__])[-1]


def read(
    lookup: LookUp[T],
    wanted: AzureType,
    resource_id: ArmId,
    path: str,
    asked_by: AskedBy,
    own: str,
) -> tuple[T | None, list[Problem]]:
    """What `lookup` answers for a resource group and a name, or None with one problem where it answers nothing. `own`: the
    subscription of the component that asks."""
    problems = asked_by.unreachable(resource_id, own, path)
    if problems:
        return None, problems
    try:
        return lookup(resource_id.resource_group, resource_id.name, asked_by.at(resource_id, own)), []
    except Exception as error:  # noqa: BLE001  the SDK raises nothing narrower for a failed lookup
        reason = reason_of(error)
        missing = _MISSING.search(reason) is not None
    return None, [
        Problem(
            path=path,
            message=f"there is no such {_NOUNS[wanted]}" if missing else f"this {_NOUNS[wanted]} can't be read: {reason}",
            value=resource_id.text,
            allowed=f"the id of a {_NOUNS[wanted]} that exists and that you may read",
            fix=f"`az resource show --ids {resource_id.text}` says whether it is there; or write `create` instead",
            code=Code.NOT_FOUND if missing else Code.INVALID,
        )
    ]


def find(
    lookup: Callable[[pulumi.InvokeOptions], T], wanted: AzureType, name: str, path: str, asked_by: AskedBy
) -> tuple[T | None, list[Problem]]:
    """What `lookup` answers for what the stack itself creates, None where it isn't there yet. Where it can't be read, the stack
    goes on as if it weren't there, with a warning."""
    try:
        return lookup(asked_by.opts), []
    except Exception as error:  # noqa: BLE001  the SDK raises nothing narrower for a failed lookup
        reason = reason_of(error)
    if _MISSING.search(reason):
        return None, []
    return None, [
        Problem(
            path=path,
            message=f"whether this {_NOUNS[wanted]} is there already can't be read: {reason}",
            value=name,
            allowed=f"the right to read the {_NOUNS[wanted]}s of the stack's resource group",
            code=Code.UNKNOWN,
            severity=Severity.WARNING,
        )
    ]
