"""Long operations: work that continues after its request was answered, polled by the client, and resumed after a restart.

Polling headers and status documents as in Azure/azure-resource-manager-rpc, v1.0/async-api-reference.md.
"""

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from datetime import date
from typing import Any
from weakref import WeakValueDictionary

from azure_gpu.formats.arm_ids import ArmId, parse
from localazure import activity_log
from localazure.arm.errors import ArmError, arm_error
from localazure.arm.kind import Change, Kind, Polling, merged
from localazure.arm.store import Body, Operation, Resource
from localazure.services import Services
from localazure.weather import slow_operations
from localazure.weather.task_runs import is_task_run, twice

RETRY_AFTER_SECONDS = 1  # the smallest that clients honour: 0 counts as none, and then they wait 30 s
API_VERSION = "2024-03-01"  # in the polling addresses; any is taken

# What the operation that a request begins fails with: a fault sets it, and the operation's task has a copy of its context.
FAILS_LATER: ContextVar[ArmError | None] = ContextVar("FAILS_LATER", default=None)
log = logging.getLogger(__name__)
Work = Callable[[], Awaitable[Body | None]]


class Operations:
    """The operations of this server. One task for each that is in progress."""

    def __init__(self, services: Services, kinds: Mapping[str, Kind]) -> None:
        self._services = services
        self._kinds = kinds
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def lock(self, kind: Kind, resource_id: ArmId) -> asyncio.Lock:
        """Held by a request for as long as it works on the resource, and by a cascade for each resource that it takes away. What
        holds the lock of a parent may take that of a child, never the other way round.

        A name that is unique in all of Azure is locked as such, so that two groups can't both take it.
        """
        key = f"{kind.arm_type}/{resource_id.name}".lower() if kind.globally_unique else resource_id.key
        return self._locks.setdefault(key, asyncio.Lock())

    # Beginning

    def provision(self, kind: Kind, change: Change) -> Operation:
        """Stores `change.resource` and provisions it in the background."""
        operation = self._new(change.stored, "put", change.as_of)
        with self._services.store.together():
            self._services.store.put(change.stored)
            self._services.store.put_operation(operation)
        self._start(operation, lambda: self._provision(kind, change, resumed=False))
        return operation

    def remove(self, resource: Resource, as_of: date) -> Operation:
        """Marks the resource as being deleted and removes it, with all below it, in the background."""
        resource.state = "Deleting"
        operation = self._new(resource, "delete", as_of)
        with self._services.store.together():
            self._services.store.put(resource)
            self._services.store.put_operation(operation)
        self._start(operation, lambda: self._remove(resource))
        return operation

    def act(self, resource: Resource, action: str, as_of: date, work: Work) -> Operation:
        """Runs the work of an action in the background."""
        operation = self._new(resource, action, as_of)
        self._services.store.put_operation(operation)
        self._start(operation, work)
        return operation

    async def cancel(self, resource_key: str, reason: str = "The resource was deleted meanwhile.") -> None:
        """Ends what is in progress for a resource, before it is deleted."""
        operation = self._services.store.operation_in_progress(resource_key)
        if operation is None:
            return
        task = self._tasks.get(operation.id)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
        self._end(operation, "Canceled", ArmError(409, "OperationPreempted", reason).content())

    async def take_away(self, resource: Resource) -> None:
        """Removes what lies below, the deepest first, then the resource: a group's resources, role assignments on any of them.

        Requests that are at work on something below are waited for: one that restarts containers would start them again
        afterwards. ArmError from a kind leaves what is not removed yet as it is.
        """
        store = self._services.store
        # Asked again each time: a request that was accepted before may have added something.
        while below := store.below(resource.key):
            for each in sorted(below, key=lambda one: one.key.count("/"), reverse=True):
                async with self.lock(self._kinds[each.id.type.lower()], each.id):
                    await self.cancel(each.key)
                    if not store.below(each.key):  # else next time, behind what its creation has added meanwhile
                        await self._remove_one(each)
                await asyncio.sleep(0)  # a group may hold a thousand; others are answered in between
        await self._remove_one(resource)

    async def _remove_one(self, resource: Resource) -> None:
        await self._kinds[resource.id.type.lower()].remove(resource, self._services)
        self._services.store.delete(resource.key)

    async def settled(self, resource_key: str) -> Operation | None:
        """Waits for what is in progress for a resource; its operation as it ended, None where nothing was."""
        operation = self._services.store.operation_in_progress(resource_key)
        if operation is None:
            return None
        task = self._tasks.get(operation.id)
        if task is not None:
            await asyncio.wait([task])
        return self.find(operation.id)

    # Over a restart

    async def resume(self) -> None:
        """Resumes every operation that the last server left in progress."""
        for operation in self._services.store.operations_in_progress():
            resource = self._services.store.get(operation.resource_key)
            if resource is None:
                self._end(operation, "Succeeded" if operation.kind == "delete" else "Failed")
                continue
            self._start(operation, self._work_again(operation, resource))

    async def stop(self) -> None:
        """Ends the tasks and leaves their operations in progress, for the next server."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _work_again(self, operation: Operation, resource: Resource) -> Work:
        kind = self._kinds[resource.id.type.lower()]
        if operation.kind == "delete":
            return lambda: self._remove(resource)
        if operation.kind != "put":
            return lambda: kind.resume_action(operation.kind, resource, self._services)
        change = Change(
            id=resource.id,
            body=resource.body,
            previous=None,
            as_of=date.fromisoformat(operation.as_of),
            services=self._services,
            resource=resource,
        )
        return lambda: self._provision(kind, change, resumed=True)

    # Polling

    def headers(self, operation: Operation, *, final: Polling = "async") -> dict[str, str]:
        """What tells a client where to poll: the status document, the result, both or neither."""
        if final == "none":
            return {}
        resource = operation.resource_id.split("/")
        namespace = resource[6] if len(resource) > 6 else "Microsoft.Resources"
        base = f"{self._services.settings.url}/subscriptions/{resource[2]}/providers/{namespace}"
        place, named = self._named(operation)
        statuses = f"{base}/{place}{named}Statuses/{operation.id}?api-version={API_VERSION}"
        if self._services.weather.holds("task-run-address") and is_task_run(operation.resource_id):
            statuses = f"{self._services.settings.url}{operation.resource_id}{twice(operation.id)}"
        results = f"{base}/{place}{named}Results/{operation.id}?api-version={API_VERSION}"
        chosen = {"async": {"Azure-AsyncOperation": statuses}, "location": {"Location": results}}
        both = {"Azure-AsyncOperation": statuses, "Location": results}
        return {**chosen.get(final, both), "Retry-After": str(RETRY_AFTER_SECONDS)}

    def _named(self, operation: Operation) -> tuple[str, str]:
        """Where an operation's addresses stand below the provider, and how they begin."""
        resource_id = parse(operation.resource_id)
        kind = self._kinds.get(resource_id.type.lower()) if resource_id else None
        resource = self._services.store.get(operation.resource_key)
        if kind is None or resource is None or not kind.operations_named:
            return "", "operation"
        return f"locations/{resource.location}/", f"{kind.operations_named}Operation"

    def find(self, operation_id: str) -> Operation:
        operation = self._services.store.get_operation(operation_id)
        if operation is None:
            raise ArmError(404, "OperationNotFound", f"The operation '{operation_id}' was not found.")
        return operation

    # Running

    def _new(self, resource: Resource, kind: str, as_of: date) -> Operation:
        return Operation(
            id=str(uuid.uuid4()),
            resource_key=resource.key,
            resource_id=resource.id.text,
            kind=kind,
            status="InProgress",
            started_at=self._services.clock.stamp(),
            as_of=as_of.isoformat(),
        )

    def _start(self, operation: Operation, work: Work) -> None:
        task = asyncio.create_task(self._run(operation, work), name=operation.id)
        self._tasks[operation.id] = task
        task.add_done_callback(lambda _: self._tasks.pop(operation.id, None))

    async def _run(self, operation: Operation, work: Work) -> None:
        try:
            operation.result = await work()
        except ArmError as error:
            self._end(operation, "Failed", error.content())
        except Exception:
            log.exception("operation %s on %s failed", operation.id, operation.resource_id)
            self._end(operation, "Failed", arm_error("InternalServerError").content())
        else:
            self._end(operation, "Succeeded")

    async def _provision(self, kind: Kind, change: Change, *, resumed: bool) -> None:
        resource = change.stored
        ended = "Failed"  # unless the next lines return
        try:
            await slow_operations.begin(kind.arm_type, self._services)
            resource.service = merged(resource.service, await (kind.resume if resumed else kind.provision)(change))
            _fail_if_asked()
            ended = "Succeeded"
        finally:
            resource.state = ended
            if not _cancelling():
                resource.changed_at = self._services.clock.stamp()
                self._services.store.put(resource)

    async def _remove(self, resource: Resource) -> None:
        try:
            await slow_operations.begin(resource.id.type, self._services)
            _fail_if_asked()
            await self.take_away(resource)
        except Exception:  # and not where the server is asked to end: the next one continues
            resource.state = "Failed"
            self._services.store.put(resource)
            raise

    def _end(self, operation: Operation, status: str, error: dict[str, Any] | None = None) -> None:
        operation.status = status
        operation.error = error
        operation.ended_at = self._services.clock.stamp()
        self._services.store.put_operation(operation)
        if status == "Failed":
            activity_log.failed(operation, self._services)


def status_document(operation: Operation, address: str) -> dict[str, Any]:
    """What polling `Azure-AsyncOperation` answers."""
    document: dict[str, Any] = {
        "id": address,
        "name": operation.id,
        "resourceId": operation.resource_id,
        "status": operation.status,
        "startTime": operation.started_at,
    }
    if operation.ended_at:
        document["endTime"] = operation.ended_at
        document["percentComplete"] = 100.0
    if operation.error is not None:
        document["error"] = operation.error
    if operation.result is not None:
        document["properties"] = {"output": operation.result}  # as Microsoft.Compute tells it
    return document


def _fail_if_asked() -> None:
    """ArmError where a fault lets this operation fail."""
    if error := FAILS_LATER.get():
        raise error


def _cancelling() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
