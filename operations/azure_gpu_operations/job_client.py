"""Client of Container Apps jobs: reads jobs, and starts and stops their executions.

Uses Azure's management client; replicas and log tokens, which it lacks, are read through `Arm`.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.core.pipeline.policies import RetryPolicy
from azure.mgmt.appcontainers import ContainerAppsAPIClient

from azure_gpu.formats import arm_ids
from azure_gpu_operations.azure import Arm, management_client, refused_as
from azure_gpu_operations.job_bodies import API_VERSION, Execution, Job, execution_of, job_of

POLL_SECONDS = 2.0
# Built-in role whose actions are to start and stop executions; as assignments in public infrastructure code have it.
OPERATOR_ROLE = "Container Apps Jobs Operator"


class Jobs:
    """Jobs by their ARM ids."""

    def __init__(self, arm: Arm) -> None:
        self.arm = arm
        self._client: Any = management_client(ContainerAppsAPIClient, arm.login, arm.subscription_id, RetryPolicy())

    def get(self, job_id: str) -> Job | None:
        """None if the job doesn't exist."""
        try:
            return job_of(self._client.jobs.get(*_names(job_id)).as_dict())
        except ResourceNotFoundError:
            return None

    def profile_type(self, job: Job) -> str:
        """Type of the job's workload profile, "" if unknown."""
        name = str(job.properties.get("workloadProfileName") or "")
        environment = str(job.properties.get("environmentId") or "")
        try:
            body = self._client.managed_environments.get(*_names(environment)).as_dict()
        except (HttpResponseError, ValueError):
            return ""
        profiles = (body.get("properties") or {}).get("workloadProfiles") or []
        return next((str(each["workloadProfileType"]) for each in profiles if each.get("name") == name), "")

    def start(self, job: Job, template: Mapping[str, Any] | None) -> str:
        """Returns the new execution's name. AzureError on refusal, with the required role if it is missing."""
        with refused_as(_why, f"start the job {job.name}"):
            started = self._client.jobs.begin_start(*_names(job.id), template or {}, polling_interval=POLL_SECONDS).result()
        return str(started.name)

    def stop(self, job: Job, execution: str) -> None:
        """Stops the execution without waiting."""
        with refused_as(_why, f"stop the execution {execution}"):
            self._client.jobs.begin_stop_execution(*_names(job.id), execution, polling=False)

    def execution(self, job: Job, name: str) -> Execution | None:
        """None if it doesn't exist (any more)."""
        try:
            return execution_of(self._client.job_execution(*_names(job.id), name).as_dict())
        except ResourceNotFoundError:
            return None

    def executions(self, job: Job) -> list[Execution]:
        """The newest first."""
        found = [execution_of(each.as_dict()) for each in self._client.jobs_executions.list(*_names(job.id))]
        return sorted(found, key=lambda each: each.started.timestamp() if each.started else 0.0, reverse=True)

    def replicas(self, job: Job, execution: str) -> list[dict[str, Any]]:
        return list(self.arm.values(f"{job.id}/executions/{execution}/replicas", API_VERSION))

    def log_token(self, job: Job) -> str:
        """A token for the job's log stream, which rejects ARM tokens."""
        return self.arm.post(f"{job.id}/getAuthToken", API_VERSION)["properties"]["token"]

    def secrets(self, job: Job) -> list[dict[str, Any]]:
        """With their values."""
        return self._client.jobs.list_secrets(*_names(job.id)).as_dict().get("value") or []

    def set_secrets(self, job: Job, secrets: list[dict[str, Any]]) -> None:
        """Replaces the job's secrets. The rest of its configuration is sent unchanged, because an update replaces all of it."""
        configuration = {**job.configuration, "secrets": secrets}
        body = {"properties": {"configuration": configuration}}
        with refused_as(_why, f"give secrets to the job {job.name}"):
            self._client.jobs.begin_update(*_names(job.id), body, polling_interval=POLL_SECONDS).result()

    def wait_until_over(
        self, job: Job, execution: str, *, limit_seconds: float, sleep: Callable[[float], None] = time.sleep
    ) -> Execution | None:
        """The execution when it is over, or as it is at the limit."""
        deadline = time.monotonic() + limit_seconds
        while True:
            found = self.execution(job, execution)
            if found is None or found.is_over or time.monotonic() >= deadline:
                return found
            sleep(POLL_SECONDS)


def _names(resource_id: str) -> tuple[str, str]:
    """Resource group and name, as the management client expects them."""
    parsed = arm_ids.parse(resource_id)
    if parsed is None:
        raise ValueError(f"{resource_id!r} is not a resource id")
    return parsed.resource_group, parsed.name


def _why(error: HttpResponseError, what: str) -> str:
    if error.status_code == 403:
        return f"this login may not {what}; it needs the role {OPERATOR_ROLE} or Contributor on it ({_error_text(error)})"
    return f"Azure refused to {what}: {_error_text(error)}"


def _error_text(error: HttpResponseError) -> str:
    """ARM's code and message; other bodies are shortened."""
    known = error.error
    if known is not None and getattr(known, "code", None):
        return f"{known.code}: {known.message}"
    return str(error.message or error).strip().splitlines()[0][:500]
