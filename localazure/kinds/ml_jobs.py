"""Jobs of a workspace: commands that `JobRunner` runs on the workspace's clusters.

A job never changes: a PUT of the same name takes tags, display name and description. Sweeps, pipelines and others aren't
imitated.
Form: REST reference 2025-12-01, "Jobs".
"""

from collections.abc import Mapping

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from azure_gpu.formats.azure_types import AzureType
from localazure.arm.kind import Answer, Call, Change, action, merged
from localazure.arm.store import Body, Resource
from localazure.kinds.ml_kind import MlKind, bad_request, user_error, workspace_of
from localazure.machines.ml_jobs import JobRunner
from localazure.services import Services

_ENDED = ("Completed", "Failed", "Canceled")
_IDS: Mapping[str, AzureType] = {
    "computeId": azure_types.ML_COMPUTE,
    "environmentId": azure_types.ML_ENVIRONMENT_VERSION,
    "codeId": azure_types.ML_CODE_VERSION,
}


class MlJobs(MlKind):
    """Made at once; it runs on its own."""

    azure_type = azure_types.ML_JOB

    def __init__(self, jobs: JobRunner) -> None:
        self._jobs = jobs

    def check(self, change: Change) -> None:
        properties = change.properties
        if change.previous is not None:
            self._check_unchanged(change.previous.properties, properties)
            return
        super().check(change)
        for name, azure_type in _IDS.items():
            found = change.services.store.at(str(properties.get(name) or "").removeprefix("azureml:"), azure_type)
            if found is not None:
                properties[name] = found.id.text
        self._jobs.check(change)

    def facts(self, change: Change) -> Body:
        workspace = workspace_of(change.id.text, change.services)
        compute = parse(str(change.properties.get("computeId") or ""))
        return {"workspace": workspace.id.name, "in_workspace": compute is not None and compute.scope.lower() == workspace.key}

    def _check_unchanged(self, before: Body, properties: Body) -> None:
        for name, value in properties.items():
            same = value == before.get(name) or str(value).lower() == str(before.get(name)).lower()
            if not same and name not in self.row["changeable"]:
                raise bad_request(f"'{name}' of a job can't be changed.", target=f"properties.{name}")

    async def provision(self, change: Change) -> Body:
        if change.previous is None and change.resource is not None:
            change.services.store.put(change.resource)
            await self._jobs.start(change.resource)
        return {}

    def check_removal(self, resource: Resource, services: Services) -> None:  # noqa: ARG002
        status = self._jobs.job_view(resource.key).get("status")
        if status not in _ENDED:
            raise user_error(f"The job '{resource.id.name}' is {status}; cancel it first.", status=409)

    async def remove(self, resource: Resource, services: Services) -> None:  # noqa: ARG002
        await self._jobs.remove(resource)

    def view(self, resource: Resource, services: Services) -> Body:
        return merged(super().view(resource, services), {"properties": self._jobs.job_view(resource.key)})

    @action("cancel")
    async def cancel(self, resource: Resource, call: Call) -> Answer:  # noqa: ARG002
        if self._jobs.job_view(resource.key).get("status") in _ENDED:
            raise user_error(f"The job '{resource.id.name}' has ended.")
        await self._jobs.cancel(resource)
        return Answer(status=200)
