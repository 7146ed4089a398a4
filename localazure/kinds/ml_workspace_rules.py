"""What Azure Machine Learning refuses of a workspace: what it depends on, what of it never changes, what isn't imitated.

Codes and sentences of the service were read in
  - Missing dependent resources: Azure/azure-rest-api-specs issue 15878
  - Soft-deleted workspace exists: Azure/ResourceModules issue 3596
  - that a workspace needs no Application Insights, and is accepted before its storage account is there: Azure Service Operator's
    session Test_MachineLearning_Workspaces_20240401_CRUD (2025-04-01)
All others here are assumed.
"""

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from azure_gpu.formats.azure_types import AzureType
from localazure.arm.errors import ArmError, not_implemented
from localazure.arm.kind import Change
from localazure.arm.store import Body, Resource
from localazure.kinds import attached_identities
from localazure.kinds.ml_kind import DELETED, bad_request, invalid
from localazure.services import Services

NEEDED: dict[str, AzureType] = {"storageAccount": azure_types.STORAGE_ACCOUNT, "keyVault": azure_types.KEY_VAULT}
OPTIONAL: dict[str, AzureType] = {
    "applicationInsights": azure_types.INSIGHTS_COMPONENT,
    "containerRegistry": azure_types.REGISTRY,
}
# pulumi-azure-native 3.29, WorkspaceArgs: "cannot be changed once the workspace has been created"; the last: "encryption"
FIXED = ("storageAccount", "keyVault", "hbiWorkspace", "encryption", "enableDataIsolation")
ISOLATION = ("Disabled", "AllowInternetOutbound", "AllowOnlyApprovedOutbound")  # from open to strict
_LEFT_OUT = (
    "hubResourceId",
    "workspaceHubConfig",
)
DEFAULT_KIND = "Default"
RECOVER = "allowRecoverSoftDeletedWorkspace"


def check(change: Change) -> None:
    body, properties = change.body, change.properties
    if str(body.get("kind") or DEFAULT_KIND).lower() != DEFAULT_KIND.lower():
        raise not_implemented(f"a workspace of the kind '{body['kind']}'")
    for name in _LEFT_OUT:
        if properties.get(name):
            raise not_implemented(f"'properties.{name}' of a workspace")
    recovers = properties.get(RECOVER) is True
    if change.creating and not recovers and DELETED.find(change.id.key, change.services):
        raise bad_request("Soft-deleted workspace exists. Please purge or recover it. https://aka.ms/wsoftdelete")
    _check_dependencies(change)
    _check_identity(change)
    if change.previous is not None:
        _check_unchanged(change.previous.properties, properties)
        _check_isolation(change.previous.properties, properties)


def _check_dependencies(change: Change) -> None:
    properties = change.properties
    before = change.previous.properties if change.previous else {}
    if any(not (properties.get(name) or before.get(name)) for name in NEEDED):
        message = "Missing dependent resources in workspace json"
        raise ArmError(400, "ValidationError", message, target="workspace", details=[ArmError(400, "Invalid", message)])


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
    parsed = parse(given)
    found = services.store.get(parsed.key) if parsed is not None and parsed.is_type(azure_type.arm_type) else None
    if found is None:
        kind = azure_type.arm_type.rsplit("/", 1)[1]
        raise invalid(f"'{given}' wasn't found among {kind}.", target="workspace")
    return found


def _check_identity(change: Change) -> None:
    attached_identities.check(change)
    identity = change.body.get("identity") or (change.previous.body.get("identity") if change.previous else None) or {}
    kind = str(identity.get("type") or "None")
    if kind == "None":
        raise invalid("A workspace requires a managed identity.", target="identity")
    primary = change.properties.get("primaryUserAssignedIdentity")
    if kind == "UserAssigned" and not primary:
        message = "A workspace without a system-assigned identity requires primaryUserAssignedIdentity."
        raise invalid(message, target="properties.primaryUserAssignedIdentity")
    if primary and not attached_identities.is_attached({"identity": identity}, primary):
        message = f"The identity '{primary}' isn't attached to the workspace."
        raise invalid(message, target="properties.primaryUserAssignedIdentity")


def _check_unchanged(before: Body, properties: Body) -> None:
    for name in FIXED:
        given, kept = properties.get(name), before.get(name)
        if given is not None and _lower(given) != _lower(kept):
            raise bad_request(f"'{name}' of a workspace can't be changed once it is created.", target=f"properties.{name}")


def _check_isolation(before: Body, properties: Body) -> None:
    """Microsoft Learn, machine-learning/how-to-managed-network: never disabled again, and never less strict."""
    was = str((before.get("managedNetwork") or {}).get("isolationMode") or ISOLATION[0])
    mode = str((properties.get("managedNetwork") or {}).get("isolationMode") or was)
    if mode in ISOLATION and was in ISOLATION and ISOLATION.index(mode) < ISOLATION.index(was):
        message = f"The isolation mode of a managed network can't go from {was} to {mode}."
        raise bad_request(message, target="properties.managedNetwork.isolationMode")


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value
