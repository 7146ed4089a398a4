"""Container registries: a login server, admin credentials where they are enabled, and the runs that built images into it.

The login server is `<name>.azurecr.local`, which no name server knows: images are pulled inside the embedded Azure only. Pushing
from outside isn't served. Defaults of the service: Microsoft Learn, REST reference of Microsoft.ContainerRegistry
2023-01-01-preview, "Create".
"""

import asyncio
import hmac
import logging
import secrets

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from azure_gpu.catalog import roles
from azure_gpu.formats import azure_types
from localazure import shapes
from localazure.arm import filters, requested_version
from localazure.arm.errors import not_implemented, refused
from localazure.arm.kind import Answer, Call, Change, Kind, action, reading
from localazure.arm.store import Body, Resource
from localazure.kinds import build_sources, registry_builds, registry_runs, vault_keys
from localazure.kinds.registry_runs import login_server
from localazure.services import Services
from localazure.shapes import ObjectShape
from localazure.weather import registry_limits

log = logging.getLogger(__name__)
PASSWORD_BYTES = 39  # 52 characters, as long as the service's
CALLER_SINCE = "2025-03-01-preview"  # whose rights a build has is told from then on; kept out, as builds need none here
_PASSWORDS = ("password", "password2")


class Registries(Kind):
    azure_type = azure_types.REGISTRY

    def __init__(self) -> None:
        self._builds: dict[str, asyncio.Task[None]] = {}  # of `scheduleRun`, by login server and run

    def routes(self, services: Services) -> list[BaseRoute]:
        async def run_log(request: Request) -> Response:
            login, run = request.path_params["login"], request.path_params["run"]
            record = registry_runs.find(login, run, services)
            given = request.query_params.get("sig", "")
            if record is None or not hmac.compare_digest(record["signature"].encode(), given.encode()):
                return PlainTextResponse("The log was not found, or its address is incomplete.", 404)
            return registry_runs.log(request, record)

        return [Route("/registry-logs/{login}/{run}", run_log), *build_sources.routes(services)]

    def facts(self, change: Change) -> Body:
        given = (change.properties.get("encryption") or {}).get("keyVaultProperties") or {}
        key, identity = str(given.get("keyIdentifier") or ""), str(given.get("identity") or "")
        identities = (change.body.get("identity") or {}).get("userAssignedIdentities") or {}
        usable = vault_keys.is_usable(key, identities, identity, change.services)
        return {"key": key, "key_identity": identity, "key_usable": usable}

    async def provision(self, change: Change) -> Body:
        if change.creating:
            change.stored.private["passwords"] = {name: secrets.token_urlsafe(PASSWORD_BYTES) for name in _PASSWORDS}
        return {}

    def view(self, resource: Resource, services: Services) -> Body:
        shown = super().view(resource, services)
        mode = roles.REGISTRY_MODE
        properties = {name: value for name, value in shown.get("properties", {}).items() if name != mode}
        if requested_version.current() >= roles.REGISTRY_MODE_API:
            properties[mode] = registry_limits.mode_of(resource, services)
        return {**shown, "properties": properties}

    async def remove(self, resource: Resource, services: Services) -> None:
        await self._stop([task for key, task in self._builds.items() if key.startswith(f"{login_server(resource.id.name)}/")])
        build_sources.forget(resource.id.name, services)
        services.images.forget(login_server(resource.id.name))
        registry_runs.forget(resource.id.name, services)

    @action("listCredentials")
    async def list_credentials(self, resource: Resource, call: Call) -> Answer:  # noqa: ARG002
        if not resource.properties.get("adminUserEnabled"):
            raise refused("registry: no admin", id=resource.id.text)
        passwords = [{"name": name, "value": value} for name, value in resource.private["passwords"].items()]
        return Answer(body={"username": resource.id.name, "passwords": passwords})

    async def started(self, services: Services) -> None:
        """A build doesn't outlive the server that ran it."""
        for registry in services.store.of_type(self.arm_type):
            for record in registry_runs.all_of(registry.id.name, services):
                if record["status"] == "Running":
                    message = "The embedded Azure was ended while it built."
                    registry_runs.end(registry.id.name, record, "Failed", message, services)

    async def stopping(self, services: Services) -> None:  # noqa: ARG002
        await self._stop(list(self._builds.values()))

    async def _stop(self, builds: list[asyncio.Task[None]]) -> None:
        for build in builds:
            build.cancel()
        if builds:
            await asyncio.wait(builds)

    @action("listBuildSourceUploadUrl")
    async def upload_address(self, resource: Resource, call: Call) -> Answer:
        return Answer(body=build_sources.offer(resource.id.name, call.services))

    @action("scheduleRun")
    async def schedule_run(self, resource: Resource, call: Call) -> Answer:
        """Begins a build and answers its run; the build continues in the background."""
        request = {name: value for name, value in call.body.items() if value is not None}
        if requested_version.current() >= CALLER_SINCE:
            request = _without_caller(request)
        problems = shapes.body_problems(_request_shape(), {"runRequest": request}, creating=True)
        if problems:
            told = "; ".join(each.message for each in problems)
            raise refused("run: request", problems=told, path=problems[0].path.removeprefix("runRequest."))
        registry_limits.check_tasks(resource.id.name, resource.id.subscription, call.services)
        registry_builds.check(request, resource.id.name, "")
        services = call.services
        record = registry_runs.begin(resource.id.name, services)
        record["platform"] = dict(request["platform"])
        registry_runs.keep(resource.id.name, record, services)
        key = f"{login_server(resource.id.name)}/{record['runId']}"
        self._builds[key] = asyncio.create_task(_build(request, resource.id.name, record, services), name=key)
        self._builds[key].add_done_callback(lambda _: self._builds.pop(key, None))
        return Answer(body=registry_runs.document(resource.id.text, record))

    @action("runs/{run}/cancel")
    async def cancel_run(self, resource: Resource, call: Call) -> Answer:
        record = self._run(resource, call)
        task = self._builds.get(f"{login_server(resource.id.name)}/{record['runId']}")
        if task is not None:
            await self._stop([task])
            registry_runs.end(resource.id.name, record, "Canceled", "The run was canceled.", call.services)
        return Answer(status=200)

    @reading("runs")
    async def list_runs(self, resource: Resource, call: Call) -> Answer:
        if call.query.get("$filter"):
            raise not_implemented("$filter on the runs of a registry")
        records = registry_runs.all_of(resource.id.name, call.services)
        chosen = records[: filters.top(call.query.get("$top", ""))]
        return Answer(body={"value": [registry_runs.document(resource.id.text, record) for record in chosen]})

    @reading("runs/{run}")
    async def show_run(self, resource: Resource, call: Call) -> Answer:
        return Answer(body=registry_runs.document(resource.id.text, self._run(resource, call)))

    @action("runs/{run}/listLogSasUrl")
    async def log_address(self, resource: Resource, call: Call) -> Answer:
        """Where a run's log can be read: an address that carries its own permission, as the service's does."""
        record = self._run(resource, call)
        address = f"{call.services.settings.url}/registry-logs/{login_server(resource.id.name)}/{record['runId']}"
        return Answer(body={"logLink": f"{address}?sig={record['signature']}"})

    def _run(self, resource: Resource, call: Call) -> Body:
        record = registry_runs.find(login_server(resource.id.name), call.path["run"], call.services)
        if record is None:
            raise refused("run: none", registry=resource.id.name, run=call.path["run"])
        return record


async def _build(request: Body, registry: str, record: Body, services: Services) -> None:
    """A build in the background. Nobody waits for it, so that an error of our own has to end its run too."""
    try:
        await registry_builds.run(request, registry, record, services)
    except Exception:
        log.exception("run %s of registry %s failed", record["runId"], registry)
        message = "The embedded Azure failed with an internal error; see its log."
        registry_runs.end(registry, record, "Error", message, services)


def _without_caller(request: Body) -> Body:
    credentials = request.get("credentials") or {}
    source = {name: value for name, value in (credentials.get("sourceRegistry") or {}).items() if name != "identity"}
    return {**request, "credentials": {**credentials, "sourceRegistry": source}} if credentials else request


def _request_shape() -> ObjectShape:
    """Of the request of a run, as a task run holds it."""
    properties = shapes.arm_shape(azure_types.TASK_RUN).properties["properties"].shape
    if not isinstance(properties, ObjectShape):
        raise TypeError("the SDK's class of a task run has no properties")
    return ObjectShape("containerregistry:ScheduleRun", {"runRequest": properties.properties["runRequest"]})
