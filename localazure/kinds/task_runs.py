"""Task runs of a registry: a Docker build that is requested as a resource. A run that fails fails the resource, with the run's
message.

A PUT runs again where the request or `forceUpdateTag` differs from before, or where the last run failed. How a build runs and
what it may ask for is in `registry_builds`.
"""

from azure_gpu.formats import azure_types
from localazure.arm.errors import refused
from localazure.arm.kind import Answer, Call, Change, Kind, merged, reading
from localazure.arm.store import Body, Resource
from localazure.kinds import registry_builds, registry_runs
from localazure.weather import registry_limits


class TaskRuns(Kind):
    """PUT answers at once; the build runs on."""

    azure_type = azure_types.TASK_RUN

    def check(self, change: Change) -> None:
        super().check(change)
        request = change.properties["runRequest"]
        registry = change.id.scope.rsplit("/", 1)[-1]
        registry_limits.check_tasks(registry, change.id.subscription, change.services)
        registry_builds.check(request, registry, "properties.runRequest.")

    async def provision(self, change: Change) -> Body:
        previous = change.previous
        if previous is not None and previous.state == "Succeeded" and _asked(previous.properties) == _asked(change.properties):
            return {}
        resource = change.stored
        resource.service.clear()  # of an earlier run: a message of it would stay beside the result of this one
        services = change.services
        registry = change.id.scope.rsplit("/", 1)[-1]
        record = registry_runs.begin(registry, services)
        failure = await registry_builds.run(change.properties["runRequest"], registry, record, services)
        result: Body = {"properties": {"runResult": registry_runs.document(change.id.scope, record)}}
        if failure:
            resource.service = merged(resource.service, result)
            raise refused("run: failed", run=record["runId"], registry=registry, why=failure)  # tools go by state and message
        return result

    def hidden(self, body: Body) -> Body:
        """Values of secret build arguments are never shown."""
        properties = body.get("properties") or {}
        request = properties.get("runRequest") or {}
        if not request.get("arguments"):
            return body
        told = [
            {key: value for key, value in argument.items() if key != "value" or not argument.get("isSecret")}
            for argument in request["arguments"]
        ]
        return {**body, "properties": {**properties, "runRequest": {**request, "arguments": told}}}

    @reading("operationStatuses/{run}/operationStatuses/{again}")
    async def no_status(self, resource: Resource, call: Call) -> Answer:  # noqa: ARG002
        """What the broken address of rough weather answers: pulumi/pulumi-azure-native issue 1713."""
        return Answer(status=404, body={"status": "Creating"})


def _asked(properties: Body) -> tuple[object, object]:
    return properties.get("runRequest"), properties.get("forceUpdateTag")
