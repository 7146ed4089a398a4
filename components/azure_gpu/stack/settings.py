"""What a stack file says, read into the arguments of components.

In: the engine's configuration, every value as text. Out: `Settings`, with a problem for each key that isn't known and each value
of a wrong type; what is wrong is left out of the arguments.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from azure_gpu.aks.args import GpuClusterSettings
from azure_gpu.batch.account.args import BatchAccountSettings
from azure_gpu.batch.pool.args import BatchPoolSettings
from azure_gpu.catalog import regions
from azure_gpu.catalog.problems import Problem
from azure_gpu.container_apps.environment.args import JobEnvironmentSettings
from azure_gpu.container_apps.job.args import DEFAULT_GPU, ServerlessGpuJobSettings
from azure_gpu.container_instances import resolve as group_resolve
from azure_gpu.container_instances.args import ContainerGroupSettings
from azure_gpu.edge import resolve as edge_resolve
from azure_gpu.edge.args import EdgeSharingSettings
from azure_gpu.foundation.args import FoundationArgs
from azure_gpu.images.args import GalleryImageSettings
from azure_gpu.kubernetes.gpu_objects import resolve as gpu_objects_resolve
from azure_gpu.ml.endpoint.args import MlEndpointSettings
from azure_gpu.ml.workspace import assets as workspace_assets
from azure_gpu.ml.workspace.args import MlWorkspaceSettings
from azure_gpu.shared.context import StackArgs
from azure_gpu.shared.part import PartArgs
from azure_gpu.shared.validation import check, key_hints
from azure_gpu.shared.workloads import Workload
from azure_gpu.stack import connection
from azure_gpu.stack.file import StackFile
from azure_gpu.stack.keys import PROJECT, SUBSCRIPTION_ID
from azure_gpu.vm.args import GpuVmSettings

_WRITE_BLOBS = ("batch_account", "ml_workspace", "vms")  # what has the stack's identity read and write blobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """A stack file as arguments. `problems` says what isn't in them and why."""

    stack: StackArgs
    foundation: FoundationArgs
    container_groups: dict[str, ContainerGroupSettings]
    jobs: dict[str, ServerlessGpuJobSettings]
    job_environments: dict[str, JobEnvironmentSettings]  # by region
    batch_account: BatchAccountSettings | None
    gallery_images: dict[str, GalleryImageSettings]
    pools: dict[str, BatchPoolSettings]
    clusters: dict[str, GpuClusterSettings]
    edges: dict[str, EdgeSharingSettings]
    ml_workspace: MlWorkspaceSettings | None
    ml_endpoints: dict[str, MlEndpointSettings]
    vms: dict[str, GpuVmSettings]
    problems: list[Problem]

    def environment_of(self, job: str) -> str:
        """The region, and so the environment, that a job runs in."""
        return _region_of(self.jobs[job], self.stack["location"])


def read(configuration: Mapping[str, str], today: str) -> Settings:
    """The settings in the engine's configuration, whose keys are `namespace:key`. `today` is the day of the run, YYYY-MM-DD."""
    given: dict[str, object] = {}
    for key, text in configuration.items():
        if key.startswith(f"{PROJECT}:"):
            name = key.removeprefix(f"{PROJECT}:")
            given[name] = _decoded(text, key_hints(StackFile).get(name, str))
    checked = check(given, StackFile, "")
    # What is needed and missing has its problem; left empty, it doesn't keep the rest from being judged.
    file = cast(StackFile, {"team": "", "location": "", **(checked.value or {})})
    return _arguments(file, configuration, today, checked.problems)


def _decoded(text: str, wanted: Any) -> object:
    """The engine gives every value as text, with JSON in it for what isn't text. Anything else stays text, and is refused."""
    if wanted is str:
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # no JSON, a number of thousands of digits, or lists in lists without end
        return text


def _arguments(file: StackFile, configuration: Mapping[str, str], today: str, problems: list[Problem]) -> Settings:
    groups = file.get("container_groups", {})
    subscription_id = configuration.get(SUBSCRIPTION_ID, "")
    stack = StackArgs(subscription_id=subscription_id, team=file["team"], location=file["location"], today=today)
    if "tags" in file:
        stack["tags"] = file["tags"]
    if "as_of" in file:
        stack["as_of"] = file["as_of"]
    jobs = file.get("jobs", {})
    foundation = FoundationArgs(
        **file.get("foundation", {}),
        stack=stack,
        workloads=_workloads(file),
        read_log_key=bool(groups),
        write_blobs=any(key in file for key in _WRITE_BLOBS) or _fetch_models(file.get("clusters", {})),
    )
    if "image_source" in file:
        foundation["image_source"] = file["image_source"]
    if "assign_roles" in file:
        foundation["assign_roles"] = file["assign_roles"]
    return Settings(
        stack=stack,
        foundation=foundation,
        container_groups=groups,
        jobs=jobs,
        job_environments=_job_environments(jobs, file),
        batch_account=file.get("batch_account"),
        gallery_images=file.get("gallery_images", {}),
        pools=file.get("pools", {}),
        clusters=connection.with_login(file.get("clusters", {}), configuration),
        edges=file.get("edges", {}),
        ml_workspace=file.get("ml_workspace"),
        ml_endpoints=file.get("ml_endpoints", {}),
        vms=file.get("vms", {}),
        problems=problems,
    )


def _workloads(file: StackFile) -> list[Workload]:
    """The workloads that the registry builds, whatever runs them."""
    of_groups = {each for group in file.get("container_groups", {}).values() for each in group_resolve.workloads(group)}
    of_jobs = {job["workload"] for job in file.get("jobs", {}).values() if "workload" in job}
    of_pools = {each for pool in file.get("pools", {}).values() for each in pool.get("containers", {}).get("workloads", [])}
    of_clusters = {each for cluster in file.get("clusters", {}).values() for each in gpu_objects_resolve.workloads(cluster)}
    of_edges = {each for edge in file.get("edges", {}).values() for each in edge_resolve.workloads(edge)}
    of_ml = workspace_assets.workloads(file["ml_workspace"]) if "ml_workspace" in file else set[Workload]()
    return sorted(of_groups | of_jobs | of_pools | of_clusters | of_edges | of_ml)


def _job_environments(jobs: Mapping[str, ServerlessGpuJobSettings], file: StackFile) -> dict[str, JobEnvironmentSettings]:
    """One environment for the jobs of each region, with the GPUs that they use."""
    found: dict[str, JobEnvironmentSettings] = {}
    for job in jobs.values():
        region = _region_of(job, file["location"])
        new = JobEnvironmentSettings(**file.get("job_environment", PartArgs(create=True)), location=region, gpus=[])
        found.setdefault(region, new)["gpus"].append(job.get("gpu", DEFAULT_GPU))
    return found


def _region_of(job: ServerlessGpuJobSettings, stacks: str) -> str:
    return regions.normalise(job.get("location", stacks))


def _fetch_models(clusters: Mapping[str, GpuClusterSettings]) -> bool:
    """Whether a service's pods read a model from the stack's storage, as the stack's identity."""
    return any("model" in service for cluster in clusters.values() for service in cluster.get("services", {}).values())
