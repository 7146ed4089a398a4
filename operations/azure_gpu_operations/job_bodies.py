"""Container Apps jobs and their executions, parsed from the service's responses. Pure; `job_client` fetches them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, NamedTuple

from azure_gpu.formats.dates import instant
from azure_gpu_operations.observed.bodies import read

API_VERSION = "2025-01-01"  # of the requests that no management client has a method for: replicas and the log's token
MANUAL = "Manual"
WAITING, RUNNING = "Waiting", "Running"  # of a container
FAILED = 1  # exit code of a failed execution without one from the service

# JobExecutionRunningState of azure-mgmt-appcontainers 5.1.0 has Running, Processing, Stopped, Degraded, Failed, Unknown and
# Succeeded; an execution that is Degraded has an end time, as public code that lists executions has it.
ENDED = frozenset({"Succeeded", "Failed", "Stopped", "Degraded"})


class ContainerStatus(NamedTuple):
    """How one container of a replica is, from `detailedStatus`."""

    replica: str
    name: Annotated[str, "name"]
    status: Annotated[str, "status"]
    code: Annotated[int | None, "code"]
    information: Annotated[str, "additionalInformation"]


class Execution(NamedTuple):
    """One execution of a job."""

    name: Annotated[str, "name"]
    status: str
    started: Annotated[datetime | None, "properties.startTime"] = None
    ended: Annotated[datetime | None, "properties.endTime"] = None
    containers: tuple[ContainerStatus, ...] = ()
    reason: Annotated[str, "properties.reason"] = ""
    message: Annotated[str, "properties.message"] = ""
    images: Mapping[str, str] = {}  # what each container ran, by its name

    @property
    def is_over(self) -> bool:
        return self.status in ENDED

    @property
    def last_containers(self) -> tuple[ContainerStatus, ...]:
        """Those of the last replica."""
        return tuple(each for each in self.containers if each.replica == self.containers[-1].replica)

    @property
    def described(self) -> str:
        """Its state, with that of its containers where the service runs and bills it and no program does."""
        last = self.last_containers
        if self.is_over or not last:
            return self.status
        if all(each.status == WAITING for each in last):
            return f"{self.status}, its container waits"
        return f"{self.status}, its program has ended" if all(each.code is not None for each in last) else self.status

    @property
    def exit_code(self) -> int | None:
        """First nonzero code of the last replica. None if the service reports none and the execution didn't succeed."""
        if not self.is_over:
            return None
        codes = [each.code for each in self.last_containers if each.code is not None]
        failed = [code for code in codes if code != 0]
        if failed:
            return failed[0]
        return 0 if self.status == "Succeeded" else None

    def seconds(self, now: datetime) -> float | None:
        """From its start to its end, or to now. None where it has no start."""
        if self.started is None:
            return None
        return max(0.0, ((self.ended or now) - self.started).total_seconds())


class Job(NamedTuple):
    """One job: `body` is what the service answered."""

    id: str
    name: str
    location: str
    body: Mapping[str, Any]

    @property
    def properties(self) -> Mapping[str, Any]:
        return self.body.get("properties") or {}

    @property
    def configuration(self) -> Mapping[str, Any]:
        return self.properties.get("configuration") or {}

    @property
    def containers(self) -> list[Mapping[str, Any]]:
        return (self.properties.get("template") or {}).get("containers") or []

    @property
    def changed(self) -> datetime | None:
        """When it was changed last."""
        return instant((self.body.get("systemData") or {}).get("lastModifiedAt"))

    @property
    def is_manual(self) -> bool:
        return self.configuration.get("triggerType") == MANUAL

    @property
    def parallelism(self) -> int:
        return int((self.configuration.get("manualTriggerConfig") or {}).get("parallelism") or 1)

    @property
    def timeout_seconds(self) -> int:
        return int(self.configuration.get("replicaTimeout") or 0)

    @property
    def registry_servers(self) -> frozenset[str]:
        """The registries that it has credentials for."""
        return frozenset(str(each.get("server", "")).lower() for each in self.configuration.get("registries") or [])


def job_of(body: Mapping[str, Any]) -> Job:
    return Job(body["id"], body["name"], body.get("location", ""), body)


def execution_of(body: Mapping[str, Any]) -> Execution:
    properties = body.get("properties") or {}
    detail = properties.get("detailedStatus") or {}
    containers = [
        read(ContainerStatus, container, replica=str(replica.get("name", "")))
        for replica in detail.get("replicas") or []
        for container in replica.get("containers") or []
    ]
    images = {
        str(each.get("name", "")): str(each["image"])
        for each in (properties.get("template") or {}).get("containers") or []
        if each.get("image")
    }
    return read(Execution, body, status=properties.get("status") or "Unknown", containers=tuple(containers), images=images)


def start_template(
    job: Job, *, image: str, arguments: list[str], environment: Mapping[str, str], secret_refs: Mapping[str, str]
) -> dict[str, Any] | None:
    """Template of an execution that overrides the job's; None if nothing is overridden. `secret_refs`: secrets by variable.

    The service replaces the job's template by the execution's (Microsoft Learn, container-apps/jobs: start a job with another
    configuration), so everything that stays is repeated. A job's command and arguments belong to its image and are dropped with
    it.
    """
    if not (image or arguments or environment or secret_refs):
        return None
    template = job.properties.get("template") or {}
    kept = [_kept(container) for container in job.containers]
    first: dict[str, Any] = kept[0]
    others = kept[1:]
    if image:
        first = {key: value for key, value in first.items() if key not in ("command", "args")} | {"image": image}
    if arguments:
        first["args"] = arguments
    changed = {*environment, *secret_refs}
    first["env"] = [
        *(each for each in first.get("env") or [] if each.get("name") not in changed),
        *({"name": name, "value": value} for name, value in environment.items()),
        *({"name": name, "secretRef": reference} for name, reference in secret_refs.items()),
    ]
    result: dict[str, Any] = {"containers": [first, *others]}
    if template.get("initContainers"):
        result["initContainers"] = [_kept(container) for container in template["initContainers"]]
    return result


def _kept(container: Mapping[str, Any]) -> dict[str, Any]:
    """The properties of a job's container that an execution may set. The service sets the disk size."""
    kept = {key: container[key] for key in ("name", "image", "command", "args", "env") if container.get(key) is not None}
    resources = {key: value for key, value in (container.get("resources") or {}).items() if key != "ephemeralStorage"}
    return {**kept, **({"resources": resources} if resources else {})}
