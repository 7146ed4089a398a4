"""Deploys a template: each resource as soon as its dependencies exist, the others at the same time.

Failures are an ArmError DeploymentFailed. Steps are stored as they begin and end, so that the next server continues where
this one was killed.
"""

import asyncio
import contextlib
import json
import uuid
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Any

from azure_gpu.formats.arm_template import (
    DEFERRED,
    Ask,
    Expanded,
    Nested,
    RefusedError,
    ScopeOf,
    TemplateResource,
    expand_nested,
    finish,
    finish_outputs,
)
from localazure.activity_log import phrase
from localazure.arm import answers
from localazure.arm.caller import Caller
from localazure.arm.errors import ArmError, arm_error
from localazure.arm.in_process import InProcessArm
from localazure.arm.store import Body, Resource
from localazure.deployments import refusals, view
from localazure.deployments.checking import sent
from localazure.deployments.view import TYPE
from localazure.services import Services

# Begins the record of a nested deployment: its resource, its template, what that says, and the record of the one around it.
BeginNested = Callable[[TemplateResource, Nested, Expanded, Resource], Resource]
OUTPUTS = "EvaluateDeploymentOutput"


class Run:
    """One deployment under way. `record.private` holds its steps by key."""

    def __init__(
        self,
        services: Services,
        arm: InProcessArm,
        record: Resource,
        expanded: Expanded,
        caller: Caller,
        begin: BeginNested,
        scope_of: ScopeOf,
    ) -> None:
        self._services = services
        self._store = services.store
        self._arm = arm
        self._record = record
        self._expanded = expanded
        self._caller = caller
        self._begin = begin
        self._scope_of = scope_of
        self._ended = {resource.key: asyncio.Event() for resource in expanded.resources}
        self._failed: set[str] = set()
        self._errors: list[ArmError] = []
        self.made: list[str] = []  # ids of the resources that the template names, those of nested deployments included

    async def run(self) -> None:
        """Everything, to the end. ArmError where something failed; what doesn't depend on it is carried out nevertheless."""
        tasks = [asyncio.create_task(self._one(resource)) for resource in self._expanded.resources]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)
        if self._errors:
            raise arm_error("DeploymentFailed", target=self._record.id.text, details=self._errors)
        await self._outputs()

    async def _one(self, resource: TemplateResource) -> None:
        """One resource, when its turn has come. What depends on a failed one is left out, as in ARM."""
        for key in resource.depends_on:
            await self._ended[key].wait()
        if resource.nested is None:
            self.made.append(resource.id)
        if not self._failed.isdisjoint(resource.depends_on):
            self._failed.add(resource.key)
        elif (error := await self._step(resource.key, resource.id, "Create", lambda: self._deploy(resource))) is not None:
            self._failed.add(resource.key)
            self._errors.append(error)
        if resource.nested is not None:
            self.made += self._made_by(resource.id)
        self._ended[resource.key].set()

    def _made_by(self, nested_id: str) -> list[str]:
        """What a nested deployment has made, here or before a restart."""
        record = self._store.get(nested_id)
        made = record.service["properties"].get("outputResources", []) if record else []
        return [each["id"] for each in made]

    async def _step(self, key: str, resource_id: str, what: str, work: Callable[[], Awaitable[int]]) -> ArmError | None:
        """One operation of the deployment, with its record. What the last server has ended already isn't done again."""
        steps: dict[str, Body] = self._record.private["steps"]
        if steps.get(key, {}).get("state") == "Succeeded":
            return None
        now, number = self._now(), uuid.uuid4().hex[:16].upper()
        step: Body = {"id": number, "what": what, "resource": resource_id, "state": "Running", "started": now, "timestamp": now}
        steps[key] = step
        self._save()
        failure = None
        try:
            status = await work()
        except ArmError as error:
            failure = error
            step |= {"state": "Failed", "status_code": phrase(error.status), "error": error.content()}
        else:
            step |= {"state": "Succeeded", "status_code": phrase(status)}
        ended = self._now()
        step |= {"timestamp": ended, "duration": duration(step["started"], ended)}
        self._save()
        return failure

    async def _deploy(self, resource: TemplateResource) -> int:
        finished = await self._evaluated(partial(finish, resource), resource.id)
        if finished.nested is not None:
            return await self._deploy_nested(resource, finished.nested)
        with contextlib.suppress(ArmError):  # what the last server began for it; a failure of that is tried again
            await self._arm.settled(resource.id)
        return await self._arm.put(resource.id, str(finished.body["apiVersion"]), sent(finished.body), self._caller)

    async def _deploy_nested(self, resource: TemplateResource, nested: Nested) -> int:
        """A deployment in this one: its record, and everything in its template."""
        scope = self._scope_of(nested.resource_group or self._record.id.resource_group)
        expanded = expand_nested(resource, nested, scope._replace(deployment=resource.name))
        if expanded.problems:
            raise refusals.invalid_template(expanded.problems)
        record = self._begin(resource, nested, expanded, self._record)
        inner = Run(self._services, self._arm, record, expanded, self._caller, self._begin, self._scope_of)
        await inner.whole()
        return HTTPStatus.OK

    async def whole(self) -> None:
        """The deployment from its record's first state to its last."""
        self._record.state = "Running"
        self._save()
        try:
            await self.run()
        except ArmError as error:
            self._end("Failed", error)
            raise
        except Exception:  # of our own: without an end nobody could deploy under this name again
            self._end("Failed", ArmError(500, "InternalServerError", "The embedded Azure failed with an internal error."))
            raise
        self._end("Succeeded")

    def _end(self, state: str, error: ArmError | None = None) -> None:
        self._record.service["properties"]["outputResources"] = [{"id": resource_id} for resource_id in self.made]
        end(self._record, state, self._services, error)

    async def _outputs(self) -> None:
        if not self._expanded.outputs:
            return
        error = await self._step("outputs", "", OUTPUTS, self._evaluate_outputs)
        if error is not None:
            raise arm_error("DeploymentFailed", target=self._record.id.text, details=[error])

    async def _evaluate_outputs(self) -> int:
        finished = await self._evaluated(partial(finish_outputs, self._expanded), self._record.id.text)
        self._record.service["properties"]["outputs"] = view.outputs(finished.outputs)
        return HTTPStatus.OK

    async def _evaluated(self, evaluate: Callable[[Callable[[Ask], Any]], Any], where: str) -> Any:
        """Expressions with everything in them that others answer: `reference` and `list…`, resources as GET shows them, and their
        actions. An action takes a while, so its answer comes with the next evaluation."""
        known: dict[str, Any] = {}
        while True:
            missing: dict[str, Ask] = {}
            finished = evaluate(partial(self._answer, known=known, missing=missing))
            if finished.problems:
                raise refusals.unprocessed(finished.problems, where)
            if not missing:
                return finished
            for key, ask in missing.items():
                body = ask.body if isinstance(ask.body, dict) else {}
                known[key] = await self._arm.act(ask.resource, ask.function, ask.version, body, self._caller)

    def _answer(self, ask: Ask, *, known: dict[str, Any], missing: dict[str, Ask]) -> Any:
        """RefusedError or ArmError where there is no answer."""
        if not ask.resource.startswith("/"):
            raise RefusedError(f"{ask.function}: the template has no resource '{ask.resource}'", "write its resourceId")
        if ask.function == "reference":
            return self._reference(ask)
        key = json.dumps(ask)
        if key not in known:
            missing[key] = ask
            return DEFERRED
        return known[key]

    def _reference(self, ask: Ask) -> Any:
        kind, parsed = self._arm.target(ask.resource)
        if kind.arm_type == TYPE:
            stored = self._store.get(parsed.key)
            if stored is None:
                raise RefusedError(f"reference: there is no deployment '{parsed.name}'")
            whole = answers.document(kind, stored, self._services)
        else:
            if not ask.version:
                raise RefusedError(
                    f"reference: '{ask.resource}' is not of this template, so it needs an api-version",
                    "give it as second argument",
                )
            whole = self._arm.document(ask.resource, ask.version)
        if not ask.full:
            return whole.get("properties", {})
        return {
            "apiVersion": ask.version,
            "subscriptionId": parsed.subscription,
            "resourceGroupName": parsed.resource_group,
            "scope": "",
            "resourceId": ask.resource,
            "referenceApiVersion": ask.version,
            **{name: value for name, value in whole.items() if name not in ("id", "name", "type")},
        }

    def _save(self) -> None:
        self._record.changed_at = self._now()
        self._store.put(self._record)

    def _now(self) -> str:
        return self._services.clock.stamp()


def end(record: Resource, state: str, services: Services, error: ArmError | None = None) -> None:
    """Writes the end into a deployment's record, which keeps nothing that was secret."""
    properties = record.service["properties"]
    now = services.clock.stamp()
    properties |= {"timestamp": now, "duration": duration(record.created_at, now)}
    if error is not None:
        properties["error"] = error.content()
    record.state = state
    record.private = {"steps": record.private["steps"]}
    record.changed_at = now
    services.store.put(record)


def duration(start: str, end: str) -> str:
    """The time between two instants, as ISO 8601 has it."""
    seconds = (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    return f"PT{max(seconds, 0):.7g}S"
