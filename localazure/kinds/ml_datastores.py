"""Datastores of a workspace: names for containers and shares of storage accounts. A workspace has four of its own from the start.

In blob storage of the subscription a container has to be there. What jobs and deployments read, they read by an identity's roles;
a key or signature that a datastore holds is kept, used by nothing, and never answered.
"""

from collections.abc import Mapping

from azure_gpu.formats import azure_types
from localazure.arm.errors import ArmError
from localazure.arm.kind import Answer, Call, Change, action
from localazure.arm.store import Body, Resource
from localazure.blobs.service import Blobs
from localazure.kinds.ml_kind import MlKind, keep_with_workspace, user_error
from localazure.services import Services
from localazure.subscriptions import SUBSCRIPTION

BLOB_STORE = "workspaceblobstore"  # the default one
ARTIFACTS = "workspaceartifactstore"
ARTIFACTS_CONTAINER = "azureml"  # what jobs write
_FILE_STORE, _WORKING = "workspacefilestore", "workspaceworkingdirectory"
_SHARE = "code-391ff5ac-6576-460f-ba4d-7e03433c68b6"  # the same in every workspace
_CLOUD = "core.windows.net"
_OURS = (BLOB_STORE, ARTIFACTS, _FILE_STORE, _WORKING)
_SECRETS = {"AccountKey": "key", "Sas": "sasToken"}


class MlDatastores(MlKind):
    """Created at once."""

    azure_type = azure_types.ML_DATASTORE

    def chosen(self, listed: list[Resource], query: Mapping[str, str]) -> list[Resource]:
        requested = query.get("isdefault", "").lower()
        names = [name.lower() for name in query.get("names", "").split(",") if name]
        return [
            each
            for each in listed
            if requested in ("", str(each.id.name.lower() == BLOB_STORE).lower()) and (not names or each.id.name.lower() in names)
        ]

    def facts(self, change: Change) -> Body:
        account = account_named(str(change.properties.get("accountName")), change.services)
        container = str(change.properties.get("containerName"))
        key = f"{account.key}/blobservices/default/containers/{container}".lower() if account else ""
        return {"no_container": account is not None and change.services.store.get(key) is None}

    def check_removal(self, resource: Resource, services: Services) -> None:  # noqa: ARG002
        if resource.id.name.lower() in _OURS:
            raise user_error(f"The datastore '{resource.id.name}' is the workspace's own and can't be deleted.")

    async def remove(self, resource: Resource, services: Services) -> None:
        keep_with_workspace(resource, services)

    def live(self, resource: Resource, services: Services) -> Body:  # noqa: ARG002
        return {"properties": {"isDefault": resource.id.name.lower() == BLOB_STORE}}

    @action("listSecrets")
    async def list_secrets(self, resource: Resource, call: Call) -> Answer:
        credentials = resource.properties.get("credentials") or {}
        kind = str(credentials.get("credentialsType") or "None")
        if resource.id.name.lower() in _OURS and kind == "AccountKey":
            account = account_named(str(resource.properties["accountName"]), call.services)
            key = account.private["keys"]["key1"]["value"] if account else None
            return Answer(body={"secretsType": "AccountKey", "key": key})
        if kind not in _SECRETS:
            raise user_error(f"The datastore '{resource.id.name}' has no credentials.")
        secret = (credentials.get("secrets") or {}).get(_SECRETS[kind])
        return Answer(body={"secretsType": kind, _SECRETS[kind]: secret})


async def make_defaults(
    workspace: Resource, account: Resource | None, workspace_id: str, blobs: Blobs, services: Services
) -> None:
    """The four datastores that a workspace has, and their containers. BlobError where blob storage doesn't answer."""
    if account is None:
        raise ArmError(404, "ResourceNotFound", f"The storage account '{workspace.properties['storageAccount']}' was not found.")
    own = workspace.private.setdefault("blob_container", f"azureml-blobstore-{workspace_id}")
    for container in (own, ARTIFACTS_CONTAINER):
        await blobs.ensure_container(account.id.name.lower(), container)
    by_key = workspace.properties["systemDatastoresAuthMode"] == "AccessKey"
    credentials = {"credentialsType": "AccountKey" if by_key else "None"}
    common: Body = {
        "accountName": account.id.name,
        "credentials": credentials,
        "endpoint": _CLOUD,
        "protocol": "https",
        "resourceGroup": account.id.resource_group,
        "serviceDataAccessAuthIdentity": "None" if by_key else "WorkspaceSystemAssignedIdentity",
        "subscriptionId": SUBSCRIPTION,
        "tags": {},
        "properties": {},
    }
    for name, container in ((BLOB_STORE, own), (ARTIFACTS, ARTIFACTS_CONTAINER)):
        _put(workspace, name, {**common, "datastoreType": "AzureBlob", "containerName": container}, services)
    for name in (_FILE_STORE, _WORKING):
        _put(workspace, name, {**common, "datastoreType": "AzureFile", "fileShareName": _SHARE}, services)


def _put(workspace: Resource, name: str, properties: Body, services: Services) -> None:
    now = services.clock.stamp()
    store = services.store.made(f"{workspace.id.text}/datastores/{name}", {}, now)
    store.body, store.service, store.private, store.state, store.changed_at = {"properties": properties}, {}, {}, "Succeeded", now
    services.store.put(store)


def account_named(name: str, services: Services) -> Resource | None:
    found = services.store.named(azure_types.STORAGE_ACCOUNT.arm_type, name)
    return found[0] if found else None
