"""ARM requests from inside the server, without HTTP, such as those of a template deployment.

They pass the same checks and get the same answers as a client's requests; the activity log has those that were refused.
"""

import json
from collections.abc import Mapping
from typing import Any

from azure_gpu.formats import arm_ids
from azure_gpu.formats.arm_ids import ArmId
from localazure import activity_log
from localazure.arm import answers, checks, paths, requested_version
from localazure.arm.caller import Caller
from localazure.arm.changes import Changes
from localazure.arm.errors import ArmError, arm_error, not_implemented
from localazure.arm.kind import Change, Kind
from localazure.arm.operations import Operations
from localazure.arm.store import Body, Operation, Resource
from localazure.services import Services
from localazure.subscriptions import SUBSCRIPTIONS
from localazure.weather import policies


class InProcessArm:
    """ARM requests from inside the server, without HTTP."""

    def __init__(self, services: Services, kinds: Mapping[str, Kind], changes: Changes, operations: Operations) -> None:
        self._services = services
        self._kinds = kinds
        self._changes = changes
        self._operations = operations

    def target(self, resource_id: str) -> tuple[Kind, ArmId]:
        """The kind that serves an id. ArmError 501 where none does."""
        target = paths.target_of(paths.segments_of(resource_id), self._kinds)
        if target.id is None or target.tail:
            parsed = arm_ids.parse(resource_id)
            raise not_implemented(f"the resource type '{parsed.type if parsed else resource_id}'")
        if target.id.subscription.lower() not in SUBSCRIPTIONS:
            raise arm_error("SubscriptionNotFound", subscription=target.id.subscription)
        return target.kind, target.id

    def _requested(self, resource_id: str, version: str) -> tuple[Kind, ArmId]:
        kind, parsed = self.target(resource_id)
        checks.api_version(kind, version)
        requested_version.remember(version)
        return kind, parsed

    def prepared(self, resource_id: str, version: str, body: Body, caller: Caller) -> Change:
        """A PUT that isn't done: ArmError where it would be refused now."""
        kind, parsed = self._requested(resource_id, version)
        self._services.deviations.check_change("PUT", kind.arm_type, parsed.scope, caller)
        return self._changes.prepared(kind, parsed, body, caller)

    def outline(self, resource_id: str, version: str, body: Body, *, known: bool) -> None:
        """What can be validated of a PUT before what it depends on is there: version, name, policies, and the shape of a body
        without open expressions, `known`."""
        kind, parsed = self._requested(resource_id, version)
        checks.name(kind, parsed)
        body = dict(body)
        if known:
            checks.location(kind, body, parsed, self._services.store.get(parsed.key))
        body = policies.apply(parsed, body, self._services, taggable=kind.location != "none")
        if known:
            checks.body_shape(kind, body)

    async def put(self, resource_id: str, version: str, body: Body, caller: Caller) -> int:
        """Creates or changes a resource and waits until that has ended. The status that was answered; ArmError as it failed."""
        try:
            kind, parsed = self._requested(resource_id, version)
            self._services.deviations.check_change("PUT", kind.arm_type, parsed.scope, caller)
            status = (await self._changes.put(kind, parsed, body, caller)).status_code
        except ArmError as error:
            activity_log.refused("PUT", paths.segments_of(resource_id), caller, error, "", self._services)
            raise
        await self.settled(resource_id)
        return status

    async def settled(self, resource_id: str) -> None:
        """Waits for what is in progress for a resource. ArmError where it failed."""
        operation = await self._operations.settled(resource_id.lower())
        if operation is not None and operation.status != "Succeeded":
            raise _failure(operation)

    async def delete(self, resource_id: str, *, wait: bool = True) -> None:
        """Deletes a resource and waits until it is gone, or until that has begun."""
        kind, parsed = self.target(resource_id)
        await self._changes.delete(kind, parsed)
        if wait:
            await self.settled(resource_id)

    async def act(self, resource_id: str, action: str, version: str, body: Body, caller: Caller) -> Any:
        """What an action answers."""
        response = await self._changes.call(*self._requested(resource_id, version), "POST", action, {}, body, caller)
        return json.loads(bytes(response.body) or b"{}")

    def document(self, resource_id: str, version: str) -> Body:
        """What GET answers."""
        kind, parsed = self._requested(resource_id, version)
        return answers.document(kind, checks.stored(kind, parsed, self._services.store), self._services)

    def listed_in(self, group_id: str) -> list[Resource]:
        """What a group's list of resources holds."""
        return [each for each in self._services.store.below(group_id) if self._kinds[each.id.type.lower()].listed_as_resource]


def _failure(operation: Operation) -> ArmError:
    error = operation.error or {}
    details = [ArmError(409, str(each.get("code")), str(each.get("message"))) for each in error.get("details", [])]
    code, message = str(error.get("code", "Conflict")), str(error.get("message", f"The operation ended as {operation.status}."))
    return ArmError(409, code, message, details=details)
