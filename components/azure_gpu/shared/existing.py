"""Reads existing resources, which are never changed or deleted and don't enter the stack's state.

Each read is one look-up through the provider while the program runs, so that a preview finds what is missing.
"""

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

import pulumi

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.shared.look_up import AskedBy

T = TypeVar("T")
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
    azure_types.VIRTUAL_NETWORK: "virtual network",
    azure_types.SUBNET: "subnet",
    azure_types.ML_WORKSPACE: "Azure Machine Learning workspace",
    azure_types.ML_ONLINE_ENDPOINT: "online endpoint",
    azure_types.KEY_VAULT: "key vault",
    azure_types.KEY_VAULT_KEY: "key of a vault",
    azure_types.INSIGHTS_COMPONENT: "Application Insights component",
    azure_types.PRIVATE_LINK_SCOPE: "private link scope",
}
_MISSING = re.compile(r"not ?found|no resource|\b404\b", re.IGNORECASE)  # the look-up's error text where Azure returned 404


def _one(azure_type: AzureType) -> str:
    noun = _NOUNS[azure_type]
    return f"{'an' if noun[0] in 'AaOo' else 'a'} {noun}"


def parts(given: pulumi.Input[str]) -> pulumi.Output[ArmId]:
    """Parses an id, which may be an output; all parts are empty where it isn't valid."""
    return pulumi.Output.from_input(given).apply(lambda text: arm_ids.parse(text) or ArmId(text, "", "", "", "", ""))


def check_id(text: str, azure_type: AzureType, path: str, subscription_id: str = "") -> list[Problem]:
    """Checks that a text is an ARM id of the expected type, in a resource group and below no other resource."""
    example = azure_type.path.replace("{subscriptionId}", subscription_id or "<subscription>").replace("{", "<").replace("}", ">")
    found = arm_ids.parse(text)
    if found is not None and not found.is_type(azure_type.arm_type):
        words = {"expected": azure_type.arm_type, "given": found.type, "one": _one(azure_type)}
        return [refused("existing.other_type", path, text, allowed=example, **words)]
    if found is None or found.text.count("/") != azure_type.path.count("/"):
        return [refused("existing.not_an_id", path, text, allowed=example)]
    return []


def resolve_id(text: str, azure_type: AzureType, subscription_id: str, path: str) -> tuple[ArmId | None, list[Problem]]:
    """Parses an ARM id; None with a problem where it isn't valid or of another type. `subscription_id`: for the example in the
    problem."""
    problems = check_id(text, azure_type, path, subscription_id)
    return (None if problems else arm_ids.parse(text)), problems


def reason_of(error: Exception) -> str:
    """Returns the reason of a failed look-up: the last line of the SDK's message."""
    return (str(error).strip().splitlines() or [type(error).__name__])[-1]


def get(
    function: Callable[..., T], azure_type: AzureType, resource_id: ArmId, path: str, asked_by: AskedBy, own: str
) -> tuple[T | None, list[Problem]]:
    """Looks up an existing resource by a function of the SDK; None with one problem where it doesn't exist or can't be read.
    `own`: the subscription of the component."""
    problems = asked_by.unreachable(resource_id, own, path)
    if problems:
        return None, problems
    steps = zip(azure_type.path.split("/"), resource_id.text.split("/"), strict=True)
    names = {name[1:-1]: value for name, value in steps if name.startswith("{") and name != "{subscriptionId}"}
    try:
        return function(**arguments(names), opts=asked_by.at(resource_id, own)), []
    except Exception as error:  # noqa: BLE001  the SDK raises nothing narrower for a failed lookup
        reason = reason_of(error)
    why = "existing.not_found" if _MISSING.search(reason) else "existing.unreadable"
    return None, [refused(why, path, resource_id.text, noun=_NOUNS[azure_type], one=_one(azure_type), reason=reason)]


def arguments(names: Mapping[str, str]) -> dict[str, str]:
    """Returns the names in an id, by wire names, as arguments of the SDK's functions."""
    return {re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", name): value for name, value in names.items()}


def find(
    lookup: Callable[[pulumi.InvokeOptions], T], azure_type: AzureType, name: str, path: str, asked_by: AskedBy
) -> tuple[T | None, list[Problem]]:
    """Looks up a resource that the stack itself creates; None where it doesn't exist yet. Where it can't be read, the result is
    None with a warning."""
    try:
        return lookup(asked_by.opts), []
    except Exception as error:  # noqa: BLE001  the SDK raises nothing narrower for a failed lookup
        reason = reason_of(error)
    if _MISSING.search(reason):
        return None, []
    return None, [refused("existing.unread", path, name, noun=_NOUNS[azure_type], reason=reason)]
