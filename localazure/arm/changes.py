"""PUT, PATCH and DELETE of a resource: the checks in ARM's order, then the kind's own, then the store; and what is asked below a
resource: actions (POST) and reads of what isn't a resource (GET), as its kind offers them.

A type with `long_running` is stored as Creating or Updating and provisioned in the background. Any other is provisioned inside
the request and stored once: a client that got an answer finds what it was told, and one that got none may send it again.
"""

from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from azure_gpu.formats.arm_ids import RESOURCE_GROUP_TYPE, ArmId, parse
from localazure.arm import answers, checks, management_locks, paths, requested_version
from localazure.arm.as_of import request_date
from localazure.arm.caller import Caller
from localazure.arm.errors import ArmError, not_implemented
from localazure.arm.kind import Answer, Below, Call, Change, Kind, merged
from localazure.arm.operations import Operations
from localazure.arm.store import Body, Operation, Resource
from localazure.kinds import attached_identities
from localazure.nothing_runs import refused
from localazure.services import Services
from localazure.weather import conflicts, policies

_OFFERED: Mapping[str, tuple[Below, ...]] = {"GET": ("reading",), "POST": ("question", "offer", "action")}


class Changes:
    """One change at a time for one resource. An action waits for it, and is refused while a long operation runs on the resource;
    a reading never is."""

    def __init__(self, services: Services, operations: Operations) -> None:
        self._services = services
        self._store = services.store
        self._operations = operations

    def refuse_while_busy(self, kind: Kind, resource: Resource) -> None:
        """One long operation at a time for one resource. ArmError in the service's words."""
        running = self._store.operation_in_progress(resource.key)
        if resource.state == "Deleting" or running is not None:
            raise kind.busy(resource, running.kind if running else "delete")

    async def put(self, kind: Kind, resource_id: ArmId, body: Body, caller: Caller) -> Response:
        async with self._operations.lock(kind, resource_id):
            return await self._put(kind, resource_id, body, caller)

    async def patch(self, kind: Kind, resource_id: ArmId, body: Body, caller: Caller) -> Response:
        """As the kind merges it; tags are replaced as a whole, as Azure documents for resource groups."""
        if not kind.patchable:
            raise ArmError(405, "MethodNotAllowed", f"The resource type '{kind.arm_type}' has no PATCH.")
        async with self._operations.lock(kind, resource_id):
            previous = checks.stored(kind, resource_id, self._store)
            if kind.patches_tags_alone:
                return self._patch_tags(kind, previous, body)
            whole = kind.patched(previous.body, checks.known(kind, body))
            if "tags" in body:
                whole["tags"] = body["tags"]
            requested_version.forget()  # what is there may be of other versions
            return await self._put(kind, resource_id, whole, caller, patched=True)

    def _patch_tags(self, kind: Kind, resource: Resource, body: Body) -> Response:
        """The service takes a whole resource and reads its tags. What else would change is refused explicitly."""
        self.refuse_while_busy(kind, resource)
        given = {name: value for name, value in body.items() if name not in ("tags", "id", "name", "type")}
        changed = sorted(name for name, value in given.items() if value != resource.body.get(name))
        if changed:
            raise not_implemented(f"PATCH of '{changed[0]}' on '{kind.arm_type}'; it changes only tags")
        checks.tags(body)
        checks.body_shape(kind, {"tags": body.get("tags", {})}, creating=False)
        if "tags" in body:
            resource.body["tags"] = body["tags"]
            resource.changed_at = self._services.clock.stamp()
            self._store.put(resource)
        return answers.respond(200, answers.document(kind, resource, self._services))

    def prepared(self, kind: Kind, resource_id: ArmId, body: Body, caller: Caller, *, patched: bool = False) -> Change:
        """A PUT or PATCH that has been checked, and of which nothing is written or begun. ArmError refuses it."""
        previous = self._store.get(resource_id.key)
        group = checks.group_of(resource_id, self._store)
        if previous is None:
            checks.name(kind, resource_id)
            resource_id = self._canonical(kind, resource_id, group)
            if kind.globally_unique is not None and self._store.named(kind.arm_type, resource_id.name):
                status, code, message = kind.globally_unique
                raise ArmError(status, code, message.format(name=resource_id.name), target="name")
        else:
            resource_id = previous.id
        checks.parent(kind, resource_id, group, self._store)
        body = _without_nulls(body)
        checks.location(kind, body, resource_id, previous)
        checks.tags(body)
        body = policies.apply(resource_id, body, self._services, taggable=kind.location != "none")
        body = checks.body_shape(kind, body)
        change = Change(
            id=resource_id,
            body=body,
            previous=previous,
            as_of=request_date(body, previous, group, self._services.clock),
            services=self._services,
            caller=caller,
            patched=patched,
        )
        if "has_identity" in kind.row:
            attached_identities.check(change)
        kind.check(change)
        change.body = merged(kind.defaults(change), change.body)  # which `check` may have added to
        return change

    async def _put(self, kind: Kind, resource_id: ArmId, body: Body, caller: Caller, *, patched: bool = False) -> Response:
        previous = self._store.get(resource_id.key)
        if previous is not None:
            checks.group_of(resource_id, self._store)
            self.refuse_while_busy(kind, previous)
        management_locks.check("write", resource_id, self._store)
        conflicts.check(resource_id, body, self._services)
        change = self.prepared(kind, resource_id, body, caller, patched=patched)
        record = change.resource = self._record(change)
        status = kind.created_status if previous is None else (kind.patched_status if patched else None) or kind.updated_status
        if kind.long_running if previous is None or kind.long_running_update is None else kind.long_running_update:
            record.state = "Creating" if previous is None else "Updating"
            record.service = merged(record.service, _begun(kind, change))
            operation = self._operations.provision(kind, change)
            told = (
                (kind.patched_headers if patched else None)
                or (kind.updated_headers if previous else None)
                or kind.created_headers
            )
            return self._shown(kind, record, status, self._operations.headers(operation, final=told))
        for made in (_begun(kind, change), await kind.provision(change)):
            record.service = merged(record.service, made)
        group = checks.group_of(change.id, self._store)
        checks.parent(kind, change.id, group, self._store)  # it may have gone meanwhile
        self._store.put(record)
        located = kind.created_location and previous is None
        return self._shown(kind, record, status, {"Location": self._services.settings.url + record.id.text} if located else {})

    def _shown(self, kind: Kind, record: Resource, status: int, headers: dict[str, str]) -> Response:
        """The answer to a PUT or PATCH; what is accepted isn't shown by most types."""
        hidden = status == HTTPStatus.ACCEPTED and not kind.accepted_shows_resource
        shown = None if hidden else answers.document(kind, record, self._services)
        return answers.respond(status, shown, headers)

    async def delete(self, kind: Kind, resource_id: ArmId) -> Response:
        """A resource's group that is missing is 404, as ARM answers; its own absence is as its type has it, often 204."""
        async with self._operations.lock(kind, resource_id):
            if checks.extended_gone_group(kind, resource_id, self._store):
                return answers.respond(kind.absent_status)
            refusal = partial(checks.without_group, kind.delete_without_group, "delete", kind, resource_id)
            group = checks.group_of(resource_id, self._store, refusal)
            resource = self._store.get(resource_id.key)
            if resource is None:
                checks.above_of_deleted(kind, resource_id, self._store)
                if kind.absent_status == HTTPStatus.NOT_FOUND:
                    checks.exists(None, kind, resource_id)
                return answers.respond(kind.absent_status)
            running = self._store.operation_in_progress(resource.key)
            if running is not None and running.kind == "delete":
                return self._accepted(kind, resource, running)
            management_locks.check("delete", resource.id, self._store)
            kind.check_removal(resource, self._services)
            conflicts.check(resource.id, None, self._services)
            await self._operations.cancel(resource.key)
            if kind.long_running_delete:
                as_of = request_date(None, resource, group, self._services.clock)
                return self._accepted(kind, resource, self._operations.remove(resource, as_of))
            shown = answers.document(kind, resource, self._services) if kind.delete_shows_resource else None
            await self._operations.take_away(resource)
            return answers.respond(kind.deleted_status, shown)

    def _accepted(self, kind: Kind, resource: Resource, operation: Operation) -> Response:
        shown = answers.document(kind, resource, self._services) if kind.delete_shows_resource else None
        return answers.respond(202, shown, self._operations.headers(operation, final=kind.deleted_headers))

    def _canonical(self, kind: Kind, resource_id: ArmId, group: Resource | None) -> ArmId:
        """The id as ARM answers it: what lies above in its stored spelling, type names in their own, the name as given."""
        subscription = f"/subscriptions/{resource_id.subscription}"
        if kind.arm_type == RESOURCE_GROUP_TYPE:
            text = f"{subscription}/resourceGroups/{resource_id.name}"
        elif kind.parent_type is not None:
            parent = kind.parent_id(resource_id)
            above = self._store.get(parent)
            text = f"{above.id.text if above else parent}{kind.between}/{kind.arm_type.rsplit('/', 1)[1]}/{resource_id.name}"
        else:
            above = self._store.get(resource_id.scope) or group
            scope = subscription if above is None else above.id.text
            text = f"{scope}/providers/{kind.arm_type}/{resource_id.name}"
        canonical = parse(text)
        if canonical is None or canonical.key != resource_id.key:
            return resource_id  # a scope that doesn't exist; the kind's check refuses it
        return canonical

    def _record(self, change: Change) -> Resource:
        now = self._services.clock.stamp()
        previous = change.previous
        return Resource(
            id=change.id,
            body=change.body,
            service=previous.service if previous else {},
            private=previous.private if previous else {},
            created_at=previous.created_at if previous else now,
            changed_at=now,
            answering=True,
        )

    async def call(
        self, kind: Kind, resource_id: ArmId, method: str, tail: str, query: Mapping[str, str], body: Body, caller: Caller
    ) -> Response:
        what, pattern, path = found(kind, method, tail)
        if what == "action":
            async with self._operations.lock(kind, resource_id):
                resource = self._there(kind, resource_id, pattern)
                return _response(await self._act(kind, resource, pattern, self._call(resource, body, query, path, caller)))
        if what == "offer":
            group = checks.group_of(resource_id, self._store)
            checks.parent(kind, resource_id, group, self._store)
            resource = self._store.get(resource_id.key) or Resource(id=resource_id, body={})
        else:
            resource = self._there(kind, resource_id, pattern)
        return _response(await kind.below(what)[pattern](resource, self._call(resource, body, query, path, caller)))

    def _there(self, kind: Kind, resource_id: ArmId, pattern: str) -> Resource:
        resource = checks.stored(kind, resource_id, self._store)
        refused.check(kind.arm_type, pattern, self._services)
        return resource

    async def _act(self, kind: Kind, resource: Resource, pattern: str, call: Call) -> Answer:
        running = self._store.operation_in_progress(resource.key)
        if running is not None and kind.preempts(pattern, running.kind):
            await self._operations.cancel(resource.key, f"The operation '{pattern}' has ended it.")
        self.refuse_while_busy(kind, resource)
        answer = await kind.below("action")[pattern](resource, call)
        if answer.work is not None:
            operation = self._operations.act(resource, pattern, call.as_of, answer.work)
            answer.headers = {**self._operations.headers(operation, final="both"), **answer.headers}
        return answer

    def _call(self, resource: Resource, body: Body, query: Mapping[str, str], path: Mapping[str, str], caller: Caller) -> Call:
        group = checks.group_of(resource.id, self._store)
        as_of = request_date(None, resource, group, self._services.clock)
        return Call(services=self._services, as_of=as_of, body=body, query=query, path=path, caller=caller)


def found(kind: Kind, method: str, tail: str) -> tuple[Below, str, dict[str, str]]:
    """What answers, the pattern that fits, and what its names stand for. ArmError 501 where no kind does.

    It comes before anything else is validated: the versions of what isn't known aren't those of the resource.
    """
    for what in _OFFERED.get(method, ()):
        for pattern in kind.below(what):
            path = paths.match(pattern, tail)
            if path is not None:
                return what, pattern, path
    raise not_implemented(f"{method} of '{tail}' on '{kind.arm_type}'")


def _response(answer: Answer) -> Response:
    if answer.text is not None:
        return Response(answer.text, answer.status, answer.headers, media_type="text/plain")
    return answers.respond(answer.status, answer.body, answer.headers)


def _begun(kind: Kind, change: Change) -> Body:
    own = attached_identities.own(change.stored, change.services) if "has_identity" in kind.row else {}
    return merged(own, kind.begun(change))


def _without_nulls(value: Body) -> Body:
    """`null` means "not given" in a PUT, in the objects of a list too."""
    return {key: _cleaned(each) for key, each in value.items() if each is not None}


def _cleaned(value: Any) -> Any:
    if isinstance(value, list):
        return [_cleaned(each) for each in value]
    return _without_nulls(value) if isinstance(value, dict) else value
