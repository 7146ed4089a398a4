"""Workspaces of Azure Machine Learning: what they keep things in, their identity, their default datastores, and their keys.

A deleted workspace keeps its name in its group for two weeks, unless its delete says `forceToPurge`; the same request purges it
later, and a PUT with `allowRecoverSoftDeletedWorkspace` (2023-08-01-preview, azure-ai-ml 1.35.2) brings it back, with its models,
environments, code and datastores. One with encryption by a key of your own goes at once.
Sources: Azure Service Operator's session Test_MachineLearning_Workspaces_20240401_CRUD (2025-04-01) for statuses and what is
filled in; Microsoft Learn, machine-learning/concept-soft-delete; REST reference 2025-12-01, "Workspaces".
"""

import secrets
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from localazure.arm.errors import ArmError
from localazure.arm.kind import Answer, Call, Change, action, merged
from localazure.arm.store import Body, Resource
from localazure.blobs.errors import BlobError
from localazure.blobs.service import Blobs
from localazure.evidence import Refusal
from localazure.kinds import ml_datastores, ml_workspace_forms, ml_workspace_rules
from localazure.kinds.blob_containers import as_arm
from localazure.kinds.ml_kind import DELETED, MlKind
from localazure.kinds.ml_workspace_rules import ISOLATION, RECOVER
from localazure.services import Services

KEPT_DAYS = 14
_PATIENCE_SECONDS, _LOOK_SECONDS = 5.0, 0.1  # for what it depends on: the session's vault came after the workspace was accepted
_PURGE = "forcetopurge"


class MlWorkspaces(MlKind):
    """Created in the background, as at the service; the minutes that it takes aren't imitated."""

    azure_type = azure_types.ML_WORKSPACE

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    def read(self, body: Body) -> Body:
        return ml_workspace_forms.read(body)

    def facts(self, change: Change) -> Body:
        return ml_workspace_rules.facts(change)

    def refusal(self, row: Refusal, message: str, target: str, value: Any) -> ArmError:
        return ml_workspace_rules.refusal(row, message, target, value)

    def begun(self, change: Change) -> Body:
        workspace, services = change.stored, change.services
        _recover(workspace, services)
        made = (workspace.service.get("properties") or {}).get("workspaceId") or str(uuid.uuid4())
        workspace.private.setdefault("notebook_keys", [secrets.token_hex(32) for _ in range(2)])
        host = f"ml-{workspace.id.name[:18]}-{workspace.location}-{made}.{workspace.location}.notebooks.azure.local"
        properties: Body = {
            "discoveryUrl": f"{services.settings.url}/discovery/workspaces/{made}",
            "mlFlowTrackingUri": f"azureml://{workspace.location}.api.azureml.ms/mlflow/v1.0{workspace.id.text}",
            "notebookInfo": {"fqdn": host, "isPrivateLinkEnabled": False, "resourceId": uuid.UUID(made).hex},
            "sdkTelemetryAppInsightsKey": str(uuid.uuid5(uuid.UUID(made), "telemetry")),
            "workspaceId": made,
        }
        return merged(super().begun(change), {"properties": properties})

    async def provision(self, change: Change) -> Body:
        workspace, services = change.stored, change.services
        waited = 0.0
        while waited < _PATIENCE_SECONDS and ml_workspace_rules.still_comes(workspace, services):
            await services.clock.sleep(_LOOK_SECONDS)
            waited += _LOOK_SECONDS
        ml_workspace_rules.check_there(workspace, services)
        account = services.store.get(str(workspace.properties["storageAccount"]))
        made = workspace.service["properties"]["workspaceId"]
        try:
            await ml_datastores.make_defaults(workspace, account, made, self._blobs, services)
        except BlobError as error:
            raise as_arm(error) from error
        _add_access_policy(workspace, services)
        return {}

    def before_delete(self, resource_id: ArmId, query: Mapping[str, str], services: Services) -> None:
        if query.get(_PURGE, "").lower() != "true":
            return
        DELETED.forget(resource_id.key, services)
        workspace = services.store.get(resource_id.key)
        if workspace is not None:
            workspace.private["purge"] = True
            services.store.put(workspace)

    async def remove(self, resource: Resource, services: Services) -> None:
        encrypted = (resource.properties.get("encryption") or {}).get("status") == "Enabled"
        if encrypted or resource.private.get("purge"):
            DELETED.forget(resource.key, services)  # what lay below it was put there as it went
        else:
            DELETED.keep(resource.key, resource, KEPT_DAYS, services)

    def live(self, resource: Resource, services: Services) -> Body:
        account = services.store.get(str(resource.properties.get("storageAccount")))
        live: Body = {"storageHnsEnabled": bool(account and account.properties.get("isHnsEnabled"))}
        mode = resource.properties["managedNetwork"].get("isolationMode") or ISOLATION[0]
        network: Body = {"changeableIsolationModes": list(ISOLATION[max(ISOLATION.index(mode), 1) :])}
        if mode != ISOLATION[0]:  # it is made with the first machine, and no network is imitated
            network["status"] = {"status": "Inactive", "sparkReady": False}
        return {"properties": {**live, "managedNetwork": network}}

    @action("listKeys")
    async def list_keys(self, resource: Resource, call: Call) -> Answer:
        """The storage account's key where it has one to give, and that of Application Insights."""
        insights = call.services.store.get(str(resource.properties.get("applicationInsights")))
        key = insights.service["properties"]["InstrumentationKey"] if insights else None
        shown: Body = {
            **_storage_key(resource, call.services),
            "userStorageArmId": resource.properties["storageAccount"],  # its name at 2021-07-01
            "userStorageResourceId": resource.properties["storageAccount"],
            "appInsightsInstrumentationKey": key,
            "notebookAccessKeys": dict(
                zip(("primaryAccessKey", "secondaryAccessKey"), resource.private["notebook_keys"], strict=True)
            ),
        }
        registry = call.services.store.get(str(resource.properties.get("containerRegistry")))
        if registry is not None and registry.properties.get("adminUserEnabled"):
            passwords = [{"name": name, "value": value} for name, value in registry.private["passwords"].items()]
            shown["containerRegistryCredentials"] = {
                "location": registry.location,
                "username": registry.id.name,
                "passwords": passwords,
            }
        return Answer(body=shown)


def _recover(workspace: Resource, services: Services) -> None:
    """A workspace of this name that was deleted comes back as the one that is made, if the request lets it."""
    recovers = workspace.body["properties"].pop(RECOVER, False)
    remains = DELETED.find(workspace.key, services) if recovers else None
    if remains is not None:
        workspace.service, workspace.private = remains.service, remains.private
        with services.store.together():
            services.store.put(replace(workspace, state="Creating"))
            DELETED.restore_parts(workspace.key, services)
            DELETED.forget(workspace.key, services)


def _add_access_policy(workspace: Resource, services: Services) -> None:
    """Its principal gets into a vault that has policies: Test_MachineLearning_Workspaces_20240401_CRUD (2025-04-01)."""
    vault = services.store.get(str(workspace.properties["keyVault"]))
    principal = (workspace.service.get("identity") or {}).get("principalId")
    if vault is None or principal is None or vault.properties.get("enableRbacAuthorization"):
        return
    policies = vault.properties.get("accessPolicies") or []
    if any(each.get("objectId") == principal for each in policies):
        return
    all_of = {"keys": ["all"], "secrets": ["all"], "certificates": ["all"], "storage": []}
    own = {"tenantId": services.settings.tenant_id, "objectId": principal, "permissions": all_of}
    vault.body["properties"]["accessPolicies"] = [*policies, own]
    services.store.put(vault)


def _storage_key(workspace: Resource, services: Services) -> Body:
    """Of the account that a workspace keeps its files in. ArmError where it has gone."""
    given = str(workspace.properties["storageAccount"])
    account = services.store.get(given)
    if account is None:
        raise ArmError(404, "ResourceNotFound", f"The storage account '{given}' was not found.")
    if account.properties.get("allowSharedKeyAccess") is False or workspace.properties["systemDatastoresAuthMode"] == "Identity":
        return {"userStorageKey": None}
    return {"userStorageKey": account.private["keys"]["key1"]["value"]}
