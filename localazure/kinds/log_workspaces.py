"""Log Analytics workspaces: an id and keys that container groups send their logs with. Queries over logs are not served."""

import base64
import secrets
import uuid
from collections.abc import Mapping
from datetime import timedelta

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from localazure.arm.kind import Answer, Call, Change, Kind, action, merged
from localazure.arm.store import Body, Resource
from localazure.kinds import private_link_scopes
from localazure.services import Services
from localazure.weather import deleted_logs

KEY_BYTES = 64
SKU = "PerGB2018"
_OLD_SKUS = ("Standalone",)  # given in the session below, and answered as the one above


class LogWorkspaces(Kind):
    azure_type = azure_types.LOG_WORKSPACE

    def before_delete(self, resource_id: ArmId, query: Mapping[str, str], services: Services) -> None:
        deleted_logs.before_delete(resource_id, query, services)

    async def remove(self, resource: Resource, services: Services) -> None:
        deleted_logs.keep(resource, services)

    def check(self, change: Change) -> None:
        deleted_logs.check(change)
        super().check(change)

    def begun(self, change: Change) -> Body:
        now = change.services.clock.stamp()
        if change.previous is not None or change.resource is None:
            return {"properties": {"modifiedDate": now}}
        back = deleted_logs.recovered(change.resource, change.services)
        if back is not None:
            return merged(back, {"properties": {"modifiedDate": now}})
        change.resource.private["keys"] = {
            name: base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode("ascii")
            for name in ("primarySharedKey", "secondarySharedKey")
        }
        next_reset = (change.services.clock.now() + timedelta(days=1)).strftime("%Y-%m-%dT%H:00:00Z")
        return {
            "properties": {
                "createdDate": now,
                "customerId": str(uuid.uuid4()),
                "modifiedDate": now,
                "sku": {"lastSkuUpdate": now},
                "workspaceCapping": {"dataIngestionStatus": "RespectQuota", "quotaNextResetTime": next_reset},
            }
        }

    def view(self, resource: Resource, services: Services) -> Body:
        body = super().view(resource, services)
        name = body["properties"]["sku"]["name"]
        sku = {**body["properties"]["sku"], "name": SKU if name in _OLD_SKUS else name}
        scopes = [{"resourceId": text, "scopeId": scope} for text, scope in private_link_scopes.scopes_of(resource, services)]
        linked = {"privateLinkScopedResources": scopes} if scopes else {}
        return {**body, "properties": {**body["properties"], "sku": sku, **linked}}

    @action("sharedKeys", "listKeys")
    async def shared_keys(self, resource: Resource, call: Call) -> Answer:  # noqa: ARG002
        return Answer(body=dict(resource.private["keys"]))
