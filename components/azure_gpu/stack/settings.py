"""Reads a stack file from the engine's configuration into the arguments of components.

Unknown keys and values of a wrong type become problems, and are omitted from the arguments.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pulumi

from azure_gpu.aks import login
from azure_gpu.aks.args import DEFAULT_ON_CLUSTER, DEFAULT_WORKLOAD_IDENTITY, GpuClusterSettings
from azure_gpu.batch.account.args import BatchAccountSettings
from azure_gpu.batch.pool.args import BatchPoolSettings, ContainersArgs
from azure_gpu.budget.args import BudgetSettings
from azure_gpu.catalog import regions
from azure_gpu.catalog.problems import Problem, Severity, errors
from azure_gpu.container_apps.environment.args import GpuModelName, JobEnvironmentSettings
from azure_gpu.container_apps.job.args import DEFAULT_GPU, ServerlessGpuJobSettings
from azure_gpu.container_instances import resolve as group_resolve
from azure_gpu.container_instances.args import ContainerGroupSettings
from azure_gpu.edge import resolve as edge_resolve
from azure_gpu.edge.args import EdgeSharingSettings
from azure_gpu.formats import stack_file
from azure_gpu.foundation.args import FoundationSettings, FoundationWiring
from azure_gpu.images.args import GalleryImageSettings
from azure_gpu.kubernetes.gpu_objects import resolve as gpu_objects_resolve
from azure_gpu.ml.endpoint.args import MlEndpointSettings
from azure_gpu.ml.workspace import assets as workspace_assets
from azure_gpu.ml.workspace.args import MlWorkspaceSettings
from azure_gpu.shared.context import StackArgs
from azure_gpu.shared.part import PartArgs
from azure_gpu.shared.provider_keys import SUBSCRIPTION_ID
from azure_gpu.shared.validation import check, is_map, key_hints, written
from azure_gpu.shared.workloads import Workload, WorkloadName
from azure_gpu.stack import common_file, entry_options, keep, other_stacks, secret_values, switches, taken_down
from azure_gpu.stack.entry_options import EntryOptions
from azure_gpu.stack.file import StackFile
from azure_gpu.stack.keys import PROJECT, config_key
from azure_gpu.stack.own_source import OwnSource, no_source
from azure_gpu.stack.secret_values import NOTHING_ENCRYPTED, Encrypted
from azure_gpu.vm.args import GpuVmSettings

_WRITE_BLOBS = ("batch_account", "jobs", "ml_workspace", "vms")  # sections for which the stack's identity reads and writes blobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """A stack file as arguments of components, without the invalid parts that `problems` lists."""

    stack: StackArgs
    foundation: FoundationWiring
    budget: BudgetSettings | None
    budget_in_azure: bool  # whether it is created in Azure
    container_groups: Mapping[str, ContainerGroupSettings]
    jobs: Mapping[str, ServerlessGpuJobSettings]
    job_environments: Mapping[str, JobEnvironmentSettings]  # by region
    batch_account: BatchAccountSettings | None
    gallery_images: Mapping[str, GalleryImageSettings]
    pools: Mapping[str, BatchPoolSettings]
    clusters: Mapping[str, GpuClusterSettings]
    edges: Mapping[str, EdgeSharingSettings]
    ml_workspace: MlWorkspaceSettings | None
    ml_endpoints: Mapping[str, MlEndpointSettings]
    vms: Mapping[str, GpuVmSettings]
    opts: Mapping[str, EntryOptions]  # of entries, by their paths
    own_source: OwnSource | None = None  # None: the file sets `image_source`, or no workload is built
    kept: frozenset[str] = frozenset()  # sections whose parts stay when the stack is destroyed
    off: tuple[str, ...] = ()  # paths of parts with `enabled: false`, which aren't in the fields above
    taken_down: Mapping[str, str] = field(
        default_factory=dict[str, str]
    )  # the same of parts that were taken down after their last day
    problems: list[Problem]
    warnings: list[Problem]  # of secrets, and of parts that were taken down

    def opts_of(self, section: str, name: str = "") -> pulumi.ResourceOptions | None:
        """Returns the engine's options of an entry, such as `pools`, `train`; without a name where the section is the entry."""
        return entry_options.of(self.opts.get(f"{section}.{name}" if name else section), section)

    def environment_of(self, job: str) -> str:
        """Returns the region of a job, which identifies its environment."""
        return _region_of(self.jobs[job], self.stack["location"])


def read(
    configuration: Mapping[str, str],
    today: str,
    encrypted: Encrypted = NOTHING_ENCRYPTED,
    project: str = PROJECT,
    folder: Path = Path(),
    outputs_of: other_stacks.Reader = other_stacks.unavailable,
    own_source: Callable[[], str] = no_source,
    ended_of: taken_down.Reader = taken_down.unavailable,
) -> Settings:
    """Reads the settings of `project` from the engine's configuration, whose keys are `namespace:key`, with the file that they
    extend. `today`: the date of the run, YYYY-MM-DD; `encrypted`: which of the values are secrets; `folder`: where paths begin;
    `outputs_of` reads other stacks; `own_source` finds the workloads' sources, where the file doesn't set them; `ended_of` finds
    past parts that were taken down."""
    given: dict[str, object] = {}
    whole = common_file.extended(configuration, project, folder)
    for key, text in whole.configuration.items():
        namespace, _, name = key.partition(":")
        if namespace == project:
            given[name] = _decoded(text, key_hints(StackFile).get(name, str))
    given, of_stacks = other_stacks.resolved(given, outputs_of)
    checked = check(given, StackFile, "")
    # Missing required keys have a problem already; an empty value allows validating the rest.
    entries, opts = _without_options({"team": "", "location": "", **(checked.value or {})})
    ended_parts = ended_of(taken_down.past(entries, today))
    left = switches.without_off(taken_down.without(entries, ended_parts), StackFile)
    sections, kept, of_kept = keep.taken_out(left.sections)
    file = cast(StackFile, sections)
    of_secrets = secret_values.problems(encrypted, given)
    problems = [*whole.problems, *of_stacks, *errors(of_secrets), *checked.problems, *_of_another_project(configuration, project)]
    for path, options in opts.items():
        problems += entry_options.problems(options, path.partition(".")[0], f"{path}.opts")
    problems += [*switches.problems(left, ended_parts), *of_kept]
    warnings = [each for each in of_secrets if each.severity is Severity.WARNING]
    warnings += [*secret_values.likely(given, encrypted), *taken_down.warnings(ended_parts)]
    found = _arguments(file, opts, configuration, today, problems, warnings)
    off = tuple(path for path in left.off if path not in ended_parts)
    return replace(_with_sources(found, own_source), off=off, taken_down=ended_parts, kept=kept)


def _with_sources(settings: Settings, own_source: Callable[[], str]) -> Settings:
    """Sets `image_source` to this installation's sources, where workloads are built and the file doesn't set it."""
    workloads = settings.foundation.get("workloads")
    if not workloads or "image_source" in settings.foundation or not (address := own_source()):
        return settings
    foundation = settings.foundation.copy()
    foundation["image_source"] = address
    return replace(settings, foundation=foundation, own_source=OwnSource(address, tuple(map(str, workloads))))


def _of_another_project(configuration: Mapping[str, str], project: str) -> list[Problem]:
    """Rejects keys in this project's default namespace where the project has another name, as they would be ignored."""
    return [
        Problem(
            path=key,
            message="this key is in the namespace of another project, so it would be ignored",
            allowed=f"keys of the project {project}, as Pulumi.yaml names it",
            fix=f"write {config_key(key.removeprefix(config_key('')), project)}",
        )
        for key in configuration
        if project != PROJECT and key.startswith(config_key(""))
    ]


def _decoded(text: str, wanted: Any) -> object:
    """Decodes a value of the engine: a string, with JSON for other types. Invalid JSON stays a string, which validation
    rejects."""
    return text if wanted is str else stack_file.decoded(text)


def _without_options(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, EntryOptions]]:
    """Splits the options of entries, by their paths, from the sections."""
    found: dict[str, EntryOptions] = {}

    def rest(entry: Mapping[str, Any], path: str) -> dict[str, Any]:
        if "opts" in entry:
            found[path] = entry["opts"]
        return {key: value for key, value in entry.items() if key != "opts"}

    kept = dict(given)
    for section in given.keys() & entry_options.SECTIONS:
        by_name = is_map(key_hints(StackFile)[section])
        kept[section] = (
            {name: rest(each, f"{section}.{name}") for name, each in given[section].items()}
            if by_name
            else rest(given[section], section)
        )
    return kept, found


def _arguments(
    file: StackFile,
    opts: Mapping[str, EntryOptions],
    configuration: Mapping[str, str],
    today: str,
    problems: list[Problem],
    warnings: list[Problem],
) -> Settings:
    groups = file.get("container_groups", {})
    subscription_id = configuration.get(SUBSCRIPTION_ID, "")
    stack = StackArgs(subscription_id=subscription_id, team=file["team"], location=file["location"], today=today)
    if "tags" in file:
        stack["tags"] = file["tags"]
    if "as_of" in file:
        stack["as_of"] = file["as_of"]
    if "protect_data" in file:
        stack["protect_data"] = file["protect_data"]
    jobs = file.get("jobs", {})
    clusters, workspace, endpoints = _of_library(file)
    foundation = FoundationWiring(
        **cast(FoundationSettings, file.get("foundation", {})),
        stack=stack,
        workloads=_workloads(file),
        write_blobs=any(key in file for key in _WRITE_BLOBS) or _pods_have_an_identity(file, clusters),
    )
    if "image_source" in file:
        foundation["image_source"] = file["image_source"]
    if "assign_roles" in file:
        foundation["assign_roles"] = file["assign_roles"]
    budget, in_azure = _budget(file)
    return Settings(
        stack=stack,
        foundation=foundation,
        budget=budget,
        budget_in_azure=in_azure,
        container_groups=groups,
        jobs=jobs,
        job_environments=_job_environments(jobs, file),
        batch_account=file.get("batch_account"),
        gallery_images=file.get("gallery_images", {}),
        pools=file.get("pools", {}),
        clusters={name: login.with_login(cluster, configuration) for name, cluster in clusters.items()},
        edges=file.get("edges", {}),
        ml_workspace=workspace,
        ml_endpoints=endpoints,
        vms=file.get("vms", {}),
        opts=opts,
        problems=problems,
        warnings=warnings,
    )


def _budget(file: StackFile) -> tuple[BudgetSettings | None, bool]:
    """Returns the arguments of the budget's component, and whether it is created in Azure."""
    if "budget" not in file:
        return None, False
    budget: dict[str, Any] = dict(file["budget"])
    in_azure = bool(budget.pop("in_azure", True))
    return cast(BudgetSettings, budget), in_azure


def _of_library(
    file: StackFile,
) -> tuple[Mapping[str, GpuClusterSettings], MlWorkspaceSettings | None, Mapping[str, MlEndpointSettings]]:
    """Casts clusters, workspace and endpoints to the arguments of their components: the switches of their parts are removed,
    which a type checker can't see."""
    return cast(Any, (file.get("clusters", {}), file.get("ml_workspace"), file.get("ml_endpoints", {})))


def _workloads(file: StackFile) -> list[WorkloadName]:
    """Returns the workloads that the registry builds for all parts."""
    of_groups = {each for group in file.get("container_groups", {}).values() for each in group_resolve.workloads(group)}
    of_jobs = {Workload(job["workload"]) for job in file.get("jobs", {}).values() if "workload" in job}
    in_pools = [
        each
        for pool in file.get("pools", {}).values()
        for each in written(pool.get("containers", ContainersArgs())).get("workloads", [])
    ]
    of_pools = {Workload(each) for each in in_pools}
    clusters, workspace, _ = _of_library(file)
    of_clusters = {each for cluster in clusters.values() for each in gpu_objects_resolve.workloads(cluster)}
    of_edges = {each for edge in file.get("edges", {}).values() for each in edge_resolve.workloads(edge)}
    of_ml = workspace_assets.workloads(workspace) if workspace is not None else set[Workload]()
    return sorted(of_groups | of_jobs | of_pools | of_clusters | of_edges | of_ml)


def _job_environments(jobs: Mapping[str, ServerlessGpuJobSettings], file: StackFile) -> dict[str, JobEnvironmentSettings]:
    """Returns one environment per region of the jobs, with their GPUs and those that the file adds."""
    gpus: dict[str, list[GpuModelName]] = {}
    for job in jobs.values():
        gpus.setdefault(_region_of(job, file["location"]), []).append(job.get("gpu", DEFAULT_GPU))
    environment = dict(file.get("job_environment", PartArgs()))
    more = cast(Sequence[GpuModelName], environment.pop("gpus", ()))
    given = cast(PartArgs, environment if "existing" in environment else {"create": True, **environment})  # and its overrides
    return {
        region: JobEnvironmentSettings(**given, location=region, gpus=[*of_region, *more]) for region, of_region in gpus.items()
    }


def _region_of(job: ServerlessGpuJobSettings, stacks: str) -> str:
    return regions.normalise(job.get("location", stacks))


def _pods_have_an_identity(file: StackFile, clusters: Mapping[str, GpuClusterSettings]) -> bool:
    """Whether pods may run as the stack's identity, by which they transfer files of runs and fetch models of services."""
    identity: PartArgs = written(cast(FoundationSettings, file.get("foundation", {})).get("identity", PartArgs()))
    return "existing" not in identity and any(
        "existing" not in cluster
        and cluster.get("on_cluster", DEFAULT_ON_CLUSTER)
        and cluster.get("workload_identity", DEFAULT_WORKLOAD_IDENTITY)
        for cluster in clusters.values()
    )
