"""Requests below a resource: actions (POST) and reads of what isn't a resource (GET), as its kind offers them."""

from collections.abc import Mapping

from starlette.responses import Response

from azure_gpu.formats.arm_ids import ArmId
from localazure.arm import answers, checks, paths
from localazure.arm.as_of import request_date
from localazure.arm.caller import Caller
from localazure.arm.changes import Changes
from localazure.arm.errors import not_implemented
from localazure.arm.kind import Action, Answer, Call, Kind
from localazure.arm.locks import Locks
from localazure.arm.operations import Operations
from localazure.arm.store import Body, Resource
from localazure.nothing_runs import refused
from localazure.services import Services


class Calls:
    """An action waits for a change of the same resource and is refused while a long operation runs on it; a reading never is."""

    def __init__(self, services: Services, locks: Locks, changes: Changes, operations: Operations) -> None:
        self._services = services
        self._locks = locks
        self._changes = changes
        self._operations = operations

    @staticmethod
    def refuse_unknown(kind: Kind, method: str, tail: str) -> None:
        """ArmError 501 for what no kind answers, before anything else is validated: its versions aren't those of the resource."""
        offered = kind.below("reading") if method == "GET" else kind.below("question", "offer", "action")
        if method not in ("GET", "POST") or _matching(offered, tail)[0] is None:
            raise not_implemented(f"{method} of '{tail}' on '{kind.arm_type}'")

    async def read(self, kind: Kind, resource_id: ArmId, tail: str, query: Mapping[str, str], caller: Caller) -> Response:
        pattern, path = _matching(kind.below("reading"), tail)
        if pattern is None:
            raise not_implemented(f"GET of '{tail}' on '{kind.arm_type}'")
        resource = checks.stored(kind, resource_id, self._services.store)
        refused.check(kind.arm_type, pattern, self._services)
        return _response(await kind.below("reading")[pattern](resource, self._call(resource, {}, query, path, caller)))

    async def act(
        self, kind: Kind, resource_id: ArmId, tail: str, query: Mapping[str, str], body: Body, caller: Caller
    ) -> Response:
        question, path = _matching(kind.below("question"), tail)
        if question is not None:
            resource = checks.stored(kind, resource_id, self._services.store)
            refused.check(kind.arm_type, question, self._services)
            return _response(await kind.below("question")[question](resource, self._call(resource, body, query, path, caller)))
        offer, path = _matching(kind.below("offer"), tail)
        if offer is not None:
            group = checks.group_of(resource_id, self._services.store)
            checks.parent(kind, resource_id, group, self._services.store)
            resource = self._services.store.get(resource_id.key) or Resource(id=resource_id, body={})
            return _response(await kind.below("offer")[offer](resource, self._call(resource, body, query, path, caller)))
        pattern, path = _matching(kind.below("action"), tail)
        if pattern is None:
            raise not_implemented(f"the action '{tail}' on '{kind.arm_type}'")
        async with self._locks.of(kind, resource_id):
            resource = checks.stored(kind, resource_id, self._services.store)
            refused.check(kind.arm_type, pattern, self._services)
            running = self._services.store.operation_in_progress(resource.key)
            if running is not None and kind.preempts(pattern, running.kind):
                await self._operations.cancel(resource.key, f"The operation '{pattern}' has ended it.")
            self._changes.refuse_while_busy(kind, resource)
            call = self._call(resource, body, query, path, caller)
            answer = await kind.below("action")[pattern](resource, call)
            if answer.work is not None:
                operation = self._operations.act(resource, pattern, call.as_of, answer.work)
                answer.headers = {**self._operations.headers(operation, final="both"), **answer.headers}
            return _response(answer)

    def _call(self, resource: Resource, body: Body, query: Mapping[str, str], path: Mapping[str, str], caller: Caller) -> Call:
        group = checks.group_of(resource.id, self._services.store)
        as_of = request_date(None, resource, group, self._services.clock)
        return Call(services=self._services, as_of=as_of, body=body, query=query, path=path, caller=caller)


def _matching(offered: Mapping[str, Action], tail: str) -> tuple[str | None, dict[str, str]]:
    """The pattern that fits, and what its names stand for."""
    for pattern in offered:
        path = paths.match(pattern, tail)
        if path is not None:
            return pattern, path
    return None, {}


def _response(answer: Answer) -> Response:
    if answer.text is not None:
        return Response(answer.text, answer.status, answer.headers, media_type="text/plain")
    return answers.respond(answer.status, answer.body, answer.headers)
