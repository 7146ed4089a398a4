"""Deployments over HTTP: PUT, GET, DELETE, lists, validate, what-if, and the operations of each.

One deployment of a name at a time in a group. Deployments to a subscription are validated and compared; none is carried out.
"""

import re
import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from azure_gpu.formats.arm_ids import RESOURCE_GROUP_TYPE, ArmId, parse
from azure_gpu.formats.arm_template import Expanded, Nested, Scope, TemplateResource
from azure_gpu.formats.document import Document
from localazure.arm import answers, checks, filters
from localazure.arm.as_of import request_date
from localazure.arm.caller import Caller
from localazure.arm.errors import ArmError, arm_error, not_implemented
from localazure.arm.in_process import InProcessArm
from localazure.arm.operations import Operations
from localazure.arm.requests import content_of
from localazure.arm.store import Body, Resource
from localazure.deployments import checking, request, view, what_if
from localazure.deployments.running import Run, end
from localazure.deployments.view import ACTIVE, TYPE, Deployments
from localazure.entra.endpoints import CLOUD_NAME
from localazure.services import Services

# REST reference of Microsoft.Resources 2025-04-01, "Deployments - Create Or Update": pattern and length.
_NAME = re.compile(r"[-\w._()]{1,64}", re.ASCII)
_WRITTEN = "%m/%d/%Y %I:%M:%S %p"


class Path(NamedTuple):
    """A path below `…/deployments`. `name` is "" for the list; `tail` what follows the name."""

    subscription: str
    group: str  # "" for the subscription's own deployments
    name: str
    tail: tuple[str, ...]


def path_of(segments: list[str]) -> Path | None:
    """The deployment that a path is about; None for any other path. Operations are requested without the provider too."""
    lower = [segment.lower() for segment in segments]
    in_group = lower[2:3] == ["resourcegroups"] and len(segments) > 4
    below, group = (lower[4:], segments[3]) if in_group else (lower[2:], "")
    if below[:3] == ["providers", "microsoft.resources", "deployments"]:
        rest = segments[-(len(below) - 3) :] if len(below) > 3 else []
    elif in_group and below[:1] == ["deployments"] and len(below) > 2:
        rest = segments[5:]
    else:
        return None
    return Path(segments[1], group, rest[0] if rest else "", tuple(segment.lower() for segment in rest[1:]))


class DeploymentRoutes:
    """The deployments of this server. Made by the router, which hands over what changes resources."""

    def __init__(self, services: Services, operations: Operations) -> None:
        self.kind = Deployments(self._resume)
        self._services = services
        self._store = services.store
        self._operations = operations
        self._arm: InProcessArm

    def open(self, arm: InProcessArm) -> None:
        """The way to the resources, which exists once all kinds are known."""
        self._arm = arm

    async def answer(self, path: Path, sent: Request, query: Mapping[str, str], caller: Caller) -> Response:
        """`query` by lower-case name."""
        checks.api_version(self.kind, query.get("api-version", ""))
        group = self._group(path.subscription, path.group) if path.group else None
        above = group.id.text if group else f"/subscriptions/{path.subscription}"
        deployment_id = f"{above}/providers/{TYPE}/{path.name}"
        if group is not None:
            self._services.deviations.check_change(sent.method, TYPE, above, caller)
        if path.name and sent.method == "POST" and path.tail in (("validate",), ("whatif",)):
            told = self._validate if path.tail == ("validate",) else self._what_if
            return told(group, deployment_id, await content_of(sent), caller)
        if group is None:
            raise not_implemented("deployments to a subscription except validate and what-if")
        if not path.name:
            if sent.method != "GET":
                raise not_implemented(f"{sent.method} on 'deployments'")
            return self._list(group, query)
        stored = self._store.get(deployment_id)
        match (sent.method, *path.tail):
            case ("PUT",):
                return await self._put(group, deployment_id, await content_of(sent), caller)
            case ("GET",):
                return answers.respond(200, self._document(_there(stored, path.name)))
            case ("HEAD",):
                return answers.respond(204 if stored else 404)
            case ("DELETE",):
                return self._delete(stored)
            case ("GET", "operations"):
                record = _there(stored, path.name)
                return answers.listed(view.operation(record, step) for step in _steps(record))
            case ("GET", "operations", operation_id):
                record = _there(stored, path.name)
                found = [step for step in _steps(record) if step["id"].lower() == operation_id]
                if not found:
                    raise arm_error("DeploymentOperationNotFound", id=operation_id)
                return answers.respond(200, view.operation(record, found[0]))
            case _:
                raise not_implemented(f"{sent.method} on '{'/'.join(['deployments', *path.tail])}'")

    # Reading

    def _list(self, group: Resource, query: Mapping[str, str]) -> Response:
        deployments = [each for each in self._store.of_type(TYPE, group.id.text) if each.id.scope.lower() == group.key]
        state = filters.parse(query.get("$filter", ""), ("provisioningState",)).get("provisioningstate", "").lower()
        deployments = [each for each in deployments if not state or each.state.lower() == state]
        newest = sorted(deployments, key=lambda each: each.created_at, reverse=True)
        return answers.listed(self._document(each) for each in newest[: filters.top(query.get("$top", ""))])

    def _document(self, record: Resource) -> Body:
        return answers.document(self.kind, record, self._services)

    def _validate(self, group: Resource | None, deployment_id: str, content: bytes, caller: Caller) -> Response:
        _check_name(deployment_id)
        requested = request.read(content)
        expanded = self._checked(group, deployment_id, requested, caller)
        now = self._services.clock.stamp()
        properties = {
            **view.described(expanded, requested.template, requested.mode),
            "provisioningState": "Succeeded",
            "timestamp": now,
            "duration": "PT0S",
            "validatedResources": [{"id": each.id} for each in expanded.everything()],
        }
        name = deployment_id.rsplit("/", 1)[1]
        return answers.respond(200, {"id": deployment_id, "name": name, "type": TYPE, "properties": properties})

    def _what_if(self, group: Resource | None, deployment_id: str, content: bytes, caller: Caller) -> Response:
        _check_name(deployment_id)
        try:
            requested = request.read(content)
            expanded = self._checked(group, deployment_id, requested, caller)
            groups = [group.id.text] if group else sorted(_groups_in(expanded))
            with self._store.supposing(self._made_groups(expanded)):
                found = what_if.changes(expanded, groups, self._arm, caller, only_ids=requested.only_ids)
        except ArmError as error:
            # Also with status 200: what-if itself went well, the error is the template's (azure-cli 2.91, resource/custom.py).
            return answers.respond(200, {"status": "Failed", "error": error.content()})
        return answers.respond(200, {"status": "Succeeded", "properties": {"correlationId": "", "changes": found}})

    def _checked(
        self, group: Resource | None, deployment_id: str, requested: request.DeploymentRequest, caller: Caller
    ) -> Expanded:
        """`group`: where a deployment goes; None of one to the subscription itself."""
        checks.tags({"tags": requested.tags})
        name, subscription = deployment_id.rsplit("/", 1)[1], deployment_id.split("/")[2]
        if group is not None:
            scope = partial(self._scope, subscription)
            expanded = checking.evaluated(requested, scope(group.id.name, name), scope)
            checking.check(expanded, name, self._arm, caller)
            return expanded
        if not requested.location:
            # MicrosoftDocs/azure-docs issue 69681 (2021-01-29); with this address: AzureCosmosDB/AgentMemoryToolkit issue 17
            # (2026-06-01), of a validation.
            raise arm_error("InvalidDeployment", name=name)
        whole = self._bare(subscription)._replace(deployment=name, of_subscription=True)
        expanded = checking.evaluated(requested, whole, partial(self._there_or_made, subscription))
        made = self._made_groups(expanded)
        with self._store.supposing(made):
            for group_id in sorted(_groups_in(expanded)):
                parsed = _parsed(group_id)
                found = self._store.group(parsed.subscription, parsed.name)
                checks.exists(found, self._arm.target(group_id)[0], parsed)
            checking.check(expanded, name, self._arm, caller)
        return expanded

    def _made_groups(self, expanded: Expanded) -> list[Resource]:
        """The resource groups of a template, as they would be; those that are there already, as they are."""
        groups = [each for each in expanded.everything() if each.type.lower() == RESOURCE_GROUP_TYPE.lower()]
        made = [Resource(id=_parsed(each.id), body=checking.sent(each.body)) for each in groups]
        return [each for each in made if self._store.get(each.key) is None]

    # Changing

    async def _put(self, group: Resource, deployment_id: str, content: bytes, caller: Caller) -> Response:
        previous = self._store.get(deployment_id)
        if previous is None:
            _check_name(deployment_id)
        elif previous.state in ACTIVE:
            raise _active(previous)
        if group.state == "Deleting":
            checks.parent(self.kind, _parsed(deployment_id), group, self._store)
        requested = request.read(content)
        expanded = self._checked(group, deployment_id, requested, caller)
        record = self._record(deployment_id, requested.template, requested.mode, requested.tags, expanded)
        record.private |= {
            "parameters": dict(expanded.parameters),
            "caller": [caller.object_id, caller.app_id],
            "body": {"properties": {"template": requested.template, "mode": requested.mode}},
            "lines": dict(requested.document.lines),
        }
        with self._store.together():
            self._store.put(record)
            as_of = request_date(None, None, group, self._services.clock)
            operation = self._operations.act(record, "deploy", as_of, lambda: self._carry_out(record, expanded, caller))
        status = 201 if previous is None else 200
        return answers.respond(status, self._document(record), self._operations.headers(operation))

    def _begin_nested(self, resource: TemplateResource, nested: Nested, expanded: Expanded, above: Resource) -> Resource:
        """The record of a deployment in another one. What the last server left unfinished continues."""
        parsed = _parsed(resource.id)
        self._group(parsed.subscription, parsed.resource_group)
        previous = self._store.get(resource.id)
        mode = request.MODES.get(nested.mode.lower(), "")
        if mode != "Incremental":
            raise not_implemented(f"the mode '{nested.mode}' of a nested deployment")
        record = self._record(resource.id, nested.template, mode, {}, expanded)
        record.private["top"] = above.private.get("top", above.key)
        ours = previous is not None and previous.private.get("top") == record.private["top"]
        if previous is not None and not ours and previous.state in ACTIVE:
            raise _active(previous)
        if previous is not None and ours:
            record.private["steps"] = previous.private["steps"]
        self._store.put(record)
        return record

    def _record(self, deployment_id: str, template: Any, mode: str, tags: dict[str, str], expanded: Expanded) -> Resource:
        now = self._services.clock.stamp()
        properties = {
            **view.described(expanded, template, mode),
            "timestamp": now,
            "duration": "PT0S",
            "correlationId": str(uuid.uuid4()),
        }
        return Resource(
            id=_parsed(deployment_id),
            body={"properties": {"template": template, "mode": mode}, **({"tags": tags} if tags else {})},
            service={"properties": properties},
            private={"steps": {}},
            state="Accepted",
            created_at=now,
            changed_at=now,
        )

    async def _carry_out(self, record: Resource, expanded: Expanded, caller: Caller) -> None:
        scope = partial(self._scope, record.id.subscription)
        run = Run(self._services, self._arm, record, expanded, caller, self._begin_nested, scope)
        await run.whole()

    async def _resume(self, record: Resource) -> None:
        """Goes on with a deployment that the last server left."""
        if record.state not in ACTIVE:  # a kill came between its end and that of its operation
            if error := record.service["properties"].get("error"):
                raise ArmError(409, str(error["code"]), str(error["message"]))
            return
        private = record.private
        document = Document("template", private["body"], private["lines"])
        try:
            requested = request.of_document(document)._replace(parameters=private["parameters"])
            scope = partial(self._scope, record.id.subscription)
            expanded = checking.evaluated(requested, scope(record.id.resource_group, record.id.name), scope)
        except ArmError as error:  # what the template asks of its group has changed
            end(record, "Failed", self._services, error)
            raise
        object_id, app_id = private["caller"]
        await self._carry_out(record, expanded, Caller(object_id, app_id))

    def _delete(self, stored: Resource | None) -> Response:
        """The record goes; what it deployed stays."""
        if stored is not None:
            if stored.state in ACTIVE:
                raise _active(stored)
            self._store.delete(stored.key)
        return answers.respond(204)

    # Around

    def _group(self, subscription: str, name: str) -> Resource:
        group_id = _parsed(f"/subscriptions/{subscription}/resourceGroups/{name}")
        return checks.exists(self._store.get(group_id.key), self._arm.target(group_id.text)[0], group_id)

    def _scope(self, subscription: str, group: str, deployment: str | None = None) -> Scope:
        stored = self._group(subscription, group)
        return self._bare(subscription)._replace(
            resource_group=stored.id.name, location=stored.location, deployment=deployment, tags=stored.tags
        )

    def _there_or_made(self, subscription: str, group: str) -> Scope:
        """Of a group that a template may make before it deploys into it."""
        stored = self._store.get(f"/subscriptions/{subscription}/resourceGroups/{group}")
        bare = self._bare(subscription)._replace(resource_group=group)
        return bare if stored is None else bare._replace(location=stored.location, tags=stored.tags)

    def _bare(self, subscription: str) -> Scope:
        url, tenant = self._services.settings.url, self._services.settings.tenant_id
        signing_in = {"loginEndpoint": url, "audiences": [url], "tenant": tenant, "identityProvider": "AAD"}
        environment = {"name": CLOUD_NAME, "resourceManager": url, "authentication": signing_in}
        return Scope(subscription_id=subscription, tenant_id=tenant, environment=environment)


def _there(record: Resource | None, name: str) -> Resource:
    if record is None:
        raise arm_error("DeploymentNotFound", name=name)
    return record


def _steps(record: Resource) -> list[Body]:
    """The operations of a deployment, the latest first."""
    return sorted(record.private.get("steps", {}).values(), key=lambda step: step["timestamp"], reverse=True)


def _parsed(resource_id: str) -> ArmId:
    parsed = parse(resource_id)
    if parsed is None:
        raise arm_error("InvalidRequestUri", path=resource_id)
    return parsed


def _groups_in(expanded: Expanded) -> set[str]:
    """The ids of the groups that a template's resources lie in."""
    ids = [parse(each.id) for each in expanded.everything()]
    inside = [each for each in ids if each is not None and each.resource_group and not each.is_type(RESOURCE_GROUP_TYPE)]
    return {f"/subscriptions/{each.subscription}/resourceGroups/{each.resource_group}" for each in inside}


def _check_name(deployment_id: str) -> None:
    name = deployment_id.rsplit("/", 1)[1]
    if not _NAME.fullmatch(name):
        raise arm_error("InvalidDeploymentName", target="deploymentName", name=name)


def _active(record: Resource) -> ArmError:
    started = datetime.fromisoformat(record.created_at)
    expires = f"{started + timedelta(days=7):{_WRITTEN}}"
    return arm_error("DeploymentActive", name=record.id.name, started=f"{started:{_WRITTEN}}", expires=expires)
