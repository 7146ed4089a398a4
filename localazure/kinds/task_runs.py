"""Task runs of a registry: a Docker build that is asked for as a resource. A run that fails fails the resource, with the run's
message.

Built are Docker builds out of this server's own checkout. A PUT runs again where the request or `forceUpdateTag` differs from
before, or where the last run failed.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from formats import azure_types, image_reference
from formats.image_reference import ImageReference
from localazure.arm.errors import ArmError, not_implemented
from localazure.arm.kind import Action, Answer, Call, Change, Kind, merged
from localazure.arm.store import Body, Resource
from localazure.containers.build_log import BuildFailedError
from localazure.containers.images import Image
from localazure.kinds import build_sources, registry_runs
from localazure.kinds.registries import login_server
from localazure.services import Services

TIMEOUT_SECONDS = 3600  # the service's default; `timeout` changes it
RUN_ID = "{{.Run.ID}}"  # in an image's name, the run's id
_LEFT_OUT = ("agentPoolName", "logTemplate")


class TaskRuns(Kind):
    """PUT answers at once; the build runs on."""

    azure_type = azure_types.TASK_RUN
    parent_type = azure_types.REGISTRY.arm_type
    location = "none"
    long_running = True

    @property
    def actions(self) -> Mapping[str, Action]:
        return {"listDetails": self.list_details}

    def check(self, change: Change) -> None:
        # The service's own codes for a bad request aren't known: InvalidRunRequest and InvalidImageName are ours.
        request = change.properties.get("runRequest")
        if not request:
            raise ArmError(400, "InvalidRunRequest", "A task run needs a runRequest.", target="properties.runRequest")
        if request["type"] != "DockerBuildRequest":
            raise not_implemented(f"task runs of type '{request['type']}'; DockerBuildRequest is")
        if request["platform"]["os"] != "Linux" or request["platform"].get("architecture", "amd64") != "amd64":
            raise not_implemented("builds for a platform other than Linux on amd64")
        for name in _LEFT_OUT:
            if request.get(name):
                raise not_implemented(f"'{name}' of a run request")
        for name in ("noCache", "isArchiveEnabled"):
            if request.get(name):
                raise not_implemented(f"'{name}: true' of a run request")
        if (request.get("credentials") or {}).get("customRegistries"):
            raise not_implemented("credentials of other registries in a run request")
        if not request.get("sourceLocation"):
            raise ArmError(
                400,
                "InvalidRunRequest",
                "A Docker build needs a sourceLocation: a git URL with commit and folder, <url>#<commit>:<folder>.",
                target="properties.runRequest.sourceLocation",
            )
        for name in request.get("imageNames") or []:
            _reference(change.id.scope.rsplit("/", 1)[-1], name, "ca0")

    async def provision(self, change: Change) -> Body:
        previous = change.previous
        if previous is not None and previous.state == "Succeeded" and _asked(previous) == _asked_by(change.properties):
            return {}
        resource = change.resource
        if resource is None:
            raise ValueError("a change is provisioned with its stored record")
        resource.service.clear()  # of an earlier run: a message of it would stay beside the result of this one
        services = change.services
        registry = change.id.scope.rsplit("/", 1)[-1]
        record = registry_runs.begin(
            services.store, login_server(registry), services.settings.state / "logs", services.clock.stamp()
        )
        record["platform"] = dict(change.properties["runRequest"]["platform"])
        failure = await self._run(change, registry, record)
        record["finishTime"] = record["lastUpdatedTime"] = services.clock.stamp()
        record["provisioningState"] = record["status"] = "Failed" if failure else "Succeeded"
        if failure:
            record["runErrorMessage"] = failure
        registry_runs.keep(services.store, login_server(registry), record)
        result: Body = {"properties": {"runResult": registry_runs.document(change.id.scope, record)}}
        if failure:
            resource.service = merged(resource.service, result)
            # The service's own code isn't known; tools go by the state and the message.
            raise ArmError(400, "RunFailed", f"The run {record['runId']} of registry {registry} failed: {failure}")
        return result

    def view(self, resource: Resource, services: Services) -> Body:
        """Values of secret build arguments are shown by `listDetails` alone."""
        body = super().view(resource, services)
        request = dict(body["properties"]["runRequest"])
        if request.get("arguments"):
            request["arguments"] = [
                {key: value for key, value in argument.items() if key != "value" or not argument.get("isSecret")}
                for argument in request["arguments"]
            ]
        return {**body, "properties": {**body["properties"], "runRequest": request}}

    async def list_details(self, resource: Resource, call: Call) -> Answer:  # noqa: ARG002
        body = merged(resource.body, resource.service)
        properties = {"provisioningState": resource.state, **body["properties"]}
        return Answer(
            body={"id": resource.id.text, "name": resource.id.name, "type": self.arm_type, **body, "properties": properties}
        )

    async def _run(self, change: Change, registry: str, record: Body) -> str:
        """Builds, and notes the images that came out. Returns why it failed, or ""."""
        request = change.properties["runRequest"]
        pushed = request.get("isPushEnabled", True)
        names = request.get("imageNames") or []
        references = [_reference(registry, name, record["runId"]) for name in names] if pushed else []
        seconds = request.get("timeout", TIMEOUT_SECONDS)
        try:
            context = await asyncio.to_thread(build_sources.context_of, request["sourceLocation"], change.services.settings)
            async with asyncio.timeout(seconds):
                image = await change.services.images.build(
                    context,
                    request["dockerFilePath"],
                    {argument["name"]: argument["value"] for argument in request.get("arguments") or []},
                    [str(reference) for reference in references],
                    Path(record["log"]),
                    target=request.get("target", ""),
                )
        except BuildFailedError as error:
            return f"{error} (log: {record['log']})"
        except TimeoutError:
            return f"the build took longer than {seconds} seconds (log: {record['log']})"
        record["outputImages"] = [_output(reference, image) for reference in references]
        return ""


def _asked(resource: Resource) -> tuple[object, object]:
    return _asked_by(resource.properties)


def _asked_by(properties: Body) -> tuple[object, object]:
    return properties.get("runRequest"), properties.get("forceUpdateTag")


def _reference(registry: str, name: str, run: str) -> ImageReference:
    """An image's name in a run request means this registry. ArmError 400, with a code of ours, for one that is none."""
    login = login_server(registry)
    relative = name.replace(RUN_ID, run).removeprefix(f"{login}/")
    problems = image_reference.check(f"{login}/{relative}", "properties.runRequest.imageNames")
    parsed = image_reference.parse(f"{login}/{relative}")
    if parsed is None or parsed.digest:
        reason = problems[0].message if problems else "an image that is built has a tag, not a digest"
        raise ArmError(400, "InvalidImageName", f"'{name}' in imageNames: {reason}.", target="properties.runRequest.imageNames")
    return parsed


def _output(reference: ImageReference, image: Image) -> Body:
    return {
        "registry": reference.registry,
        "repository": reference.repository,
        "tag": reference.tag,
        "digest": image.digest,
    }
