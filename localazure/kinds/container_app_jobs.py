"""Jobs of Azure Container Apps: what is to run, when, and its executions, whose replicas are processes of this machine.

`job_rules` says what is refused, `job_images` what can be pulled, `localazure/apps` how executions run, and `job_views` what is
answered about them. A job is created in the background; the minutes until a GPU is found aren't imitated.
Statuses, headers, states and what is filled in: Azure Service Operator's session Test_App_Job_20250101_CRUD (2025-08-18).
"""

import asyncio

from starlette.routing import BaseRoute

from azure_gpu.formats import azure_types
from localazure import shapes
from localazure.apps import capacity, identity_endpoint, log_stream, schedule
from localazure.apps.executions import RUNNING, Executions, Work, new_record
from localazure.arm.errors import refused, resource_not_found
from localazure.arm.kind import Answer, Call, Change, Kind, action, merged, reading
from localazure.arm.store import Body, Resource
from localazure.containers.container_spec import ContainerSpec
from localazure.containers.images import Image
from localazure.kinds import (
    container_app_job_images as job_images,
    container_app_job_rules as job_rules,
    container_app_job_views as job_views,
    images,
)
from localazure.kinds.managed_environments import EVENTS, shown_location
from localazure.services import Services
from localazure.shapes import ObjectShape
from localazure.weather import granted_quotas

# As many as a job of West US 2 shows (Test_App_v1api20250101_CreationAndDeletion, 2026-04-02), of those kept for documentation
# (RFC 5737): nothing comes from them.
OUTBOUND = tuple(f"192.0.2.{number}" for number in range(1, 64))


class Jobs(Kind):
    azure_type = azure_types.JOB

    def __init__(self, executions: Executions) -> None:
        self._executions = executions
        self._clock: asyncio.Task[None] | None = None  # starts what is scheduled, for as long as the server runs

    def routes(self, services: Services) -> list[BaseRoute]:
        return [*log_stream.routes(f"/{EVENTS}", self._executions, services), *identity_endpoint.routes(self.arm_type, services)]

    def read(self, body: Body) -> Body:
        """A trigger in any letter case: Azure CLI's session test_containerapp_manualjob_withsecret_crudoperations_e2e."""
        match body:
            case {"properties": {"configuration": {"triggerType": str(given)}}}:
                own = next((name for name in job_rules.TRIGGERS if name.lower() == given.lower()), given)
                return merged(body, {"properties": {"configuration": {"triggerType": own}}})
        return body

    def check(self, change: Change) -> None:
        job_rules.check(change, self.arm_type)
        job_images.check(change.body, _all_containers(change.properties["template"]), change.previous, change.services)

    def defaults(self, change: Change) -> Body:
        trigger = job_rules.TRIGGERS[change.properties["configuration"]["triggerType"]]
        amounts = {trigger: {"parallelism": 1, "replicaCompletionCount": 1}}
        return merged(super().defaults(change), {"properties": {"configuration": amounts}})

    def begun(self, change: Change) -> Body:
        scope = f"/subscriptions/{change.id.subscription}/resourceGroups/{change.id.resource_group}"
        stream = f"{change.services.settings.url}/{EVENTS}{scope}/jobs/{change.id.name}/eventstream"
        own = {"eventStreamEndpoint": stream, "outboundIpAddresses": list(OUTBOUND)}
        return merged(super().begun(change), {"properties": own})

    async def remove(self, resource: Resource, services: Services) -> None:
        await self._executions.forget(resource.key)
        log_stream.forget_tokens(services.store, resource.key)

    async def started(self, services: Services) -> None:
        jobs = services.store.of_type(self.arm_type)
        await self._executions.adopt({job.key: _work(job.key, self._executions, services) for job in jobs})
        if not services.settings.nothing_runs:
            self._clock = asyncio.create_task(schedule.keep(services, self._begin))

    async def stopping(self, services: Services) -> None:  # noqa: ARG002
        if self._clock is not None:
            self._clock.cancel()
        await self._executions.close()

    def view(self, resource: Resource, services: Services) -> Body:
        return {**super().view(resource, services), "location": shown_location(resource)}

    # Executions

    @action("start")
    async def start(self, resource: Resource, call: Call) -> Answer:
        """Starts an execution: of the job's template, or of the one in the body, which stands in its place."""
        template = _template(resource, call)
        job_images.check(resource.body, _all_containers(template), resource, call.services)
        record = self._begin(resource, template, call.services)
        return Answer(body={"id": f"{resource.id.text}/executions/{record['name']}", "name": record["name"]})

    @action("stop")
    async def stop(self, resource: Resource, call: Call) -> Answer:  # noqa: ARG002
        """Ends every execution that runs, and answers them."""
        running = [one for one in self._executions.all_of(resource.key) if one["status"] == RUNNING]
        await asyncio.gather(*(self._executions.stop(resource.key, one["name"]) for one in running))
        return Answer(body={"value": [job_views.execution(resource, one, self._executions) for one in running]})

    @action("executions/{execution}/stop", "stop/{execution}")  # the Azure CLI asks here
    async def stop_execution(self, resource: Resource, call: Call) -> Answer:
        record = self._record(resource, call)
        await self._executions.stop(resource.key, record["name"])
        return Answer(status=200)

    @reading("executions")
    async def list_executions(self, resource: Resource, call: Call) -> Answer:
        if call.query.get("$filter"):
            raise refused("job: filter")
        found = self._executions.all_of(resource.key)
        return Answer(body={"value": [job_views.execution(resource, record, self._executions) for record in found]})

    @reading("executions/{execution}")
    async def show_execution(self, resource: Resource, call: Call) -> Answer:
        return Answer(body=job_views.execution(resource, self._record(resource, call), self._executions))

    @reading("executions/{execution}/replicas")
    async def list_replicas(self, resource: Resource, call: Call) -> Answer:
        record = self._record(resource, call)
        return Answer(
            body={
                "value": [job_views.replica(resource, record, one, self._executions, call.services) for one in record["replicas"]]
            }
        )

    # Secrets and tokens

    @action("listSecrets")
    async def list_secrets(self, resource: Resource, call: Call) -> Answer:  # noqa: ARG002
        return Answer(body={"value": resource.properties["configuration"].get("secrets") or []})

    @action("getAuthToken")
    async def auth_token(self, resource: Resource, call: Call) -> Answer:
        """A token that opens the logs of this job's replicas, and nothing else, for a short while."""
        token, expires = log_stream.issue_token(call.services, resource.key)
        return Answer(
            body={
                "id": resource.id.text,
                "name": resource.id.name,
                "type": self.arm_type,
                "location": resource.location,
                "properties": {"token": token, "expires": expires},
            }
        )

    def _begin(self, job: Resource, template: Body | None, services: Services) -> Body:
        """A new execution, of the job's own template where none is given."""
        configuration = job.properties["configuration"]
        amounts = configuration.get(job_rules.TRIGGERS[configuration["triggerType"]]) or {}
        limits = {
            "parallelism": amounts.get("parallelism", 1),
            "completions": amounts.get("replicaCompletionCount", 1),
            "retries": configuration.get("replicaRetryLimit", 0),
            "timeout": configuration["replicaTimeout"],
        }
        chosen = template or _without_nothing(job.properties["template"])
        profile = job_rules.profile_type_of(job.body, services)
        taken = {
            "gpus": capacity.gpus_of(profile, chosen["containers"]),
            "profile": profile,
            "location": job.location,
        }
        record = new_record(job.id.name, chosen, {**limits, **taken}, services.clock.stamp())
        self._executions.begin(job.key, record, _work(job.key, self._executions, services))
        return record

    def _record(self, resource: Resource, call: Call) -> Body:
        """The execution that the path names."""
        name = call.path["execution"]
        record = self._executions.find(resource.key, name)
        if record is None:
            raise resource_not_found("Microsoft.App/jobs/executions", f"{resource.id.name}/{name}", resource.id.resource_group)
        return record


def _template(resource: Resource, call: Call) -> Body:
    """The template of a new execution, checked. A container that says nothing of its resources has those of the job's."""
    if not call.body:
        return _without_nothing(resource.properties["template"])
    problems = shapes.body_problems(_template_shape(), call.body, creating=True)
    if problems:
        details = [refused("job: template, one", problem=each.message, path=each.path) for each in problems]
        told = "; ".join(each.message for each in problems)
        raise refused("job: template", problems=told, path=problems[0].path, details=details)
    sizes = {one["name"]: one.get("resources") for one in _all_containers(resource.properties["template"])}
    template = {
        kind: [
            {
                **one,
                "resources": one.get("resources") or sizes.get(one.get("name")) or dict(job_rules.DEFAULT_RESOURCES),
            }
            for one in call.body[kind] or []
        ]
        for kind in ("containers", "initContainers")
        if kind in call.body
    }
    job_rules.check_template(template, resource.body, job_rules.profile_type_of(resource.body, call.services), call.as_of)
    return template


def _template_shape() -> ObjectShape:
    """Of an execution's template: a job's, without volumes."""
    properties = shapes.arm_shape(azure_types.JOB).properties["properties"].shape
    if not isinstance(properties, ObjectShape) or not isinstance(
        template := properties.properties["template"].shape, ObjectShape
    ):
        raise TypeError("the SDK's class of a job has no template")
    kept = {name: each for name, each in template.properties.items() if name in ("containers", "initContainers")}
    return ObjectShape("app:JobExecutionTemplate", kept)


def _all_containers(template: Body) -> list[Body]:
    return [*(template.get("initContainers") or []), *(template.get("containers") or [])]


def _without_nothing(template: Body) -> Body:
    return {kind: template[kind] for kind in ("containers", "initContainers") if template.get(kind)}


def _without_quota(job_key: str, record: Body, executions: Executions, services: Services) -> str:
    """Why the job's environment has no GPU for a further replica, or ""."""
    job = services.store.get(job_key)
    environment = granted_quotas.environment_of(job, services) if job is not None else None
    if environment is None:
        return ""
    jobs = [each.key for each in granted_quotas.jobs_of(environment, services)]
    used = executions.gpus(record["profile"], record["location"], jobs)
    return granted_quotas.shortage(environment, record["profile"], record["gpus"], used, services)


def _work(job_key: str, executions: Executions, services: Services) -> Work:
    """What makes a replica's containers, from what the job is when the replica begins."""

    async def make(record: Body, replica: Body) -> tuple[list[ContainerSpec], list[ContainerSpec]]:
        job = services.store.get(job_key)
        if job is None:
            raise refused("job: deleted")
        template = record["template"]
        job_images.check(job.body, _all_containers(template), job, services)
        found: list[list[ContainerSpec]] = []
        identity = identity_endpoint.variables(job, services)
        for kind in ("initContainers", "containers"):
            pulled = [await images.pull(one["image"], services) for one in template.get(kind) or []]
            found.append(
                [
                    _spec(job, record, replica, one, image, identity)
                    for one, image in zip(template.get(kind) or [], pulled, strict=True)
                ]
            )
        return found[0], found[1]

    def waits_for(record: Body) -> str:
        return capacity.shortage(record, executions, services) or _without_quota(job_key, record, executions, services)

    return Work(make, waits_for)


def _spec(job: Resource, record: Body, replica: Body, container: Body, image: Image, identity: dict[str, str]) -> ContainerSpec:
    secret_values = {one["name"]: one.get("value", "") for one in job.properties["configuration"].get("secrets") or []}
    # Microsoft Learn, container-apps/environment-variables: what a job's containers are told.
    told = {
        "CONTAINER_APP_JOB_NAME": job.id.name,
        "CONTAINER_APP_JOB_EXECUTION_NAME": record["name"],
        "CONTAINER_APP_REPLICA_NAME": replica["name"],
    }
    amounts = {**job_rules.DEFAULT_RESOURCES, **(container.get("resources") or {})}
    given = {
        one["name"]: secret_values.get(one["secretRef"], "") if one.get("secretRef") else one.get("value") or ""
        for one in container.get("env") or []
    }
    return ContainerSpec(
        name=container["name"],
        image=image,
        command=_command(container, image),
        env={**told, **given},
        machines_env=identity,
        restart_policy="Never",
        gpu_count=int(amounts.get("gpu") or 0),
        run=replica["name"],
        memory_bytes=int(job_rules.memory_gib(amounts["memory"]) * 1024**3),
    )


def _command(container: Body, image: Image) -> tuple[str, ...]:
    """As Kubernetes has it: `command` stands for ENTRYPOINT and CMD, `args` alone for CMD. Empty: the image's own."""
    command, arguments = container.get("command") or [], container.get("args") or []
    if command:
        return (*command, *arguments)
    return (*image.entrypoint, *arguments) if arguments else ()
