"""Application Insights components: an id and a key that telemetry is sent with. No telemetry is taken, and no query served.

Defaults of the service: Microsoft Learn, REST reference of Microsoft.Insights/components 2020-02-02, "Create Or Update".
"""

import uuid
from datetime import date

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body, Resource
from localazure.kinds import private_link_scopes
from localazure.services import Services
from localazure.weather import own_acts

RETENTION_DAYS = 90
# The day after the last recording of a component without a workspace: Test_Insights_v1api20240101preview_CreationAndDeletion.
_WORKSPACE_BASED = date(2025, 2, 5)
_GROUPS, _WORKSPACES = "2024-03-01", "2023-09-01"


class InsightsComponents(Kind):
    """Created at once. For one that names no workspace of logs one is made, in a separate group that goes with it.

    What is shown: Test_Insights_Component_v20200202_CRUD (2025-07-14).
    """

    azure_type = azure_types.INSIGHTS_COMPONENT

    async def provision(self, change: Change) -> Body:
        days = change.properties.get("RetentionInDays")
        kept: Body = {"Ver": "v2"} if days in (None, RETENTION_DAYS) else {"Ver": "v2", "Retention": f"P{days}D"}
        if change.previous is not None:
            return {"properties": kept}
        own_acts.after_component(change.id.text, change.services)
        application, key = str(uuid.uuid4()), str(uuid.uuid4())
        region = change.body["location"]
        if not change.properties.get("WorkspaceResourceId"):
            if change.as_of < _WORKSPACE_BASED:
                kept["IngestionMode"] = "ApplicationInsights"
            else:
                kept["WorkspaceResourceId"] = await self._make_workspace(change, application)
        return {
            "properties": {
                "AppId": application,
                "ApplicationId": change.id.name,
                "ConnectionString": f"InstrumentationKey={key};IngestionEndpoint=https://{region}-0.in.applicationinsights.azure.com/"
                f";LiveEndpoint=https://{region}.livediagnostics.monitor.azure.com/;ApplicationId={application}",
                "CreationDate": change.services.clock.stamp(),
                "InstrumentationKey": key,
                **kept,
                "Name": change.id.name,
                "TenantId": change.services.settings.tenant_id,
            }
        }

    def live(self, resource: Resource, services: Services) -> Body:
        scopes = [{"ResourceId": text, "ScopeId": scope} for text, scope in private_link_scopes.scopes_of(resource, services)]
        return {"properties": {"PrivateLinkScopedResources": scopes}} if scopes else {}

    async def _make_workspace(self, change: Change, application: str) -> str:
        services, caller = change.services, change.caller
        if caller is None:
            raise ValueError("a component is made by a request")
        name = change.id.name
        short = name[:42]  # a group's name has 90 characters at the most; that it is cut is assumed
        group = f"/subscriptions/{change.id.subscription}/resourceGroups/ai_{short}_{application}_managed"
        place = {"location": change.body["location"]}
        await services.arm.put(group, _GROUPS, place, caller)
        workspace = f"{group}/providers/{azure_types.LOG_WORKSPACE.arm_type}/managed-{name}-ws"
        await services.arm.put(workspace, _WORKSPACES, place, caller)
        return workspace

    async def remove(self, resource: Resource, services: Services) -> None:
        made = (resource.service.get("properties") or {}).get("WorkspaceResourceId")
        workspace = parse(made) if made else None
        if workspace is not None and services.store.get(workspace.scope) is not None:
            await services.arm.delete(workspace.scope, wait=False)
