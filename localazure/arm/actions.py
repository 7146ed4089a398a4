"""Requests below a resource: actions (POST) and reads of what isn't a resource (GET), as its kind offers them."""

from collections.abc import Mapping

from starlette.responses import Response

from azure_gpu.formats.arm_ids import ArmId
from localazure.arm import answers, checks, paths
from localazure.arm.as_of import request_date
from localazure.arm.caller import Caller
from localazure.arm.changes import Changes
from localazure.arm.errors import not_implemented
from localazure.arm.kind import Answer, Below, Call, Kind
from localazure.arm.locks import Locks
from localazure.arm.operations import Operations
from localazure.arm.store import Body, Resource
from localazure.nothing_runs import refused
from localazure.services import Services

_OFFERED: Mapping[str, tuple[Below, ...]] = {"GET": ("reading",), "POST": ("question", "offer", "action")}


class Calls:
    """An action waits for a change of the same resource and is refused while a long operation runs on it; a reading never is."""

    def __init__(self, services: Services, locks: Locks, changes: Changes, operations: Operations) -> None:
        self._services = services
        self._locks = locks
        self._changes = changes
        self._operations = operations

    async def answer(
        self, kind: Kind, resource_id: ArmId, method: str, tail: str, query: Mapping[str, str], body: Body, caller: Caller
    ) -> Response:
        what, pattern, path = found(kind, method, tail)
        if what == "action":
            async with self._locks.of(kind, resource_id):
                resource = self._there(kind, resource_id, pattern)
                return _response(await self._act(kind, resource, pattern, self._call(resource, body, query, path, caller)))
        if what == "offer":
            group = checks.group_of(resource_id, self._services.store)
            checks.parent(kind, resource_id, group, self._services.store)
            resource = self._services.store.get(resource_id.key) or Resource(id=resource_id, body={})
        else:
            resource = self._there(kind, resource_id, pattern)
        return _response(await kind.below(what)[pattern](resource, self._call(resource, body, query, path, caller)))

    def _there(self, kind: Kind, resource_id: ArmId, pattern: str) -> Resource:
        resource = checks.stored(kind, resource_id, self._services.store)
        refused.check(kind.arm_type, pattern, self._services)
        return resource

    async def _act(self, kind: Kind, resource: Resource, pattern: str, call: Call) -> Answer:
        running = self._services.store.operation_in_progress(resource.key)
        if running is not None and kind.preempts(pattern, running.kind):
            await self._operations.cancel(resource.key, f"The operation '{pattern}' has ended it.")
        self._changes.refuse_while_busy(kind, resource)
        answer = await kind.below("action")[pattern](resource, call)
        if answer.work is not None:
            operation = self._operations.act(resource, pattern, call.as_of, answer.work)
            answer.headers = {**self._operations.headers(operation, final="both"), **answer.headers}
        return answer

    def _call(self, resource: Resource, body: Body, query: Mapping[str, str], path: Mapping[str, str], caller: Caller) -> Call:
        group = checks.group_of(resource.id, self._services.store)
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
