"""What Azure Machine Learning refuses of a workspace: what it depends on, what of it never changes, what isn't imitated.

That a workspace needs no Application Insights, and is accepted before its storage account is there: Azure Service Operator's
session Test_MachineLearning_Workspaces_20240401_CRUD (2025-04-01). What is asked of its identity is assumed.
"""

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from azure_gpu.formats.azure_types import AzureType
from localazure.arm import refusals
from localazure.arm.errors import ArmError
from localazure.arm.kind import Change
from localazure.arm.store import Body, Resource
from localazure.evidence import Refusal
from localazure.kinds import attached_identities
from localazure.kinds.ml_kind import DELETED, invalid
from localazure.services import Services

NEEDED: dict[str, AzureType] = {"storageAccount": azure_types.STORAGE_ACCOUNT, "keyVault": azure_types.KEY_VAULT}
OPTIONAL: dict[str, AzureType] = {
    "applicationInsights": azure_types.INSIGHTS_COMPONENT,
    "containerRegistry": azure_types.REGISTRY,
}
ISOLATION = ("Disabled", "AllowInternetOutbound", "AllowOnlyApprovedOutbound")  # from open to strict
RECOVER = "allowRecoverSoftDeletedWorkspace"


def facts(change: Change) -> Body:
    properties, before = change.properties, change.previous.properties if change.previous else {}
    was = str((before.get("managedNetwork") or {}).get("isolationMode") or ISOLATION[0])
    mode = str((properties.get("managedNetwork") or {}).get("isolationMode") or was)
    deleted = change.creating and properties.get(RECOVER) is not True and DELETED.find(change.id.key, change.services)
    identity = change.body.get("identity") or (change.previous.body.get("identity") if change.previous else None) or {}
    primary = properties.get("primaryUserAssignedIdentity")
    return {
        "identity": identity,
        "attached": not primary or attached_identities.is_attached({"identity": identity}, primary),
        "deleted": bool(deleted),
        "needed": all(properties.get(name) or before.get(name) for name in NEEDED),
        "was": was,
        "looser": mode in ISOLATION and was in ISOLATION and ISOLATION.index(mode) < ISOLATION.index(was),
    }


def refusal(row: Refusal, message: str, target: str, value: object) -> ArmError:
    """What it depends on is missing: told twice."""
    told = refusals.plain(row, message, target, value)
    if target == "workspace":
        return ArmError(told.status, told.code, message, target=target, details=[ArmError(400, "Invalid", message)])
    return told


def still_comes(workspace: Resource, services: Services) -> bool:
    """Whether something that it depends on isn't there or isn't ready, and may be yet."""
    named = (parse(str(workspace.properties.get(name) or "")) for name in NEEDED | OPTIONAL)
    found = [services.store.get(each.key) for each in named if each]
    return any(each is None or each.state == "Creating" for each in found)


def check_there(workspace: Resource, services: Services) -> None:
    """What a workspace depends on has to be there by the time that it is made. ArmError ends that as failed."""
    properties = workspace.properties
    for name, azure_type in (NEEDED | OPTIONAL).items():
        if properties.get(name):
            properties[name] = dependency(properties[name], azure_type, services).id.text
    account = dependency(properties["storageAccount"], azure_types.STORAGE_ACCOUNT, services)
    if str(account.body["sku"]["name"]).startswith("Premium"):
        raise invalid(f"The storage account '{account.id.text}' is a premium one.", target="properties.storageAccount")


def dependency(given: str, azure_type: AzureType, services: Services) -> Resource:
    """The resource that a workspace names. ArmError where it doesn't exist."""
    found = services.store.at(given, azure_type)
    if found is None:
        kind = azure_type.arm_type.rsplit("/", 1)[1]
        raise invalid(f"'{given}' wasn't found among {kind}.", target="workspace")
    return found
