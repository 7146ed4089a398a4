"""What a stack file can say, and how it becomes the arguments of components.

In: the engine's configuration, every value as text. Out: `Settings`, with a problem for each key that isn't known and each value
of a wrong type; what is wrong is left out of the arguments. From here `make docs` writes the JSON Schema for editors and the
reference for people.
"""

import argparse
import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast, get_type_hints

from azure_gpu.aks import resolve as cluster_resolve
from azure_gpu.aks.args import GpuClusterSettings
from azure_gpu.batch.account import existing as account_existing
from azure_gpu.batch.account.args import BatchAccountSettings
from azure_gpu.batch.pool.args import BatchPoolSettings
from azure_gpu.catalog import regions
from azure_gpu.catalog.problems import Problem
from azure_gpu.container_apps.environment import existing as environment_existing, spec as environment_spec
from azure_gpu.container_apps.environment.args import JobEnvironmentSettings
from azure_gpu.container_apps.job import resolve as job_resolve
from azure_gpu.container_apps.job.args import DEFAULT_GPU, ServerlessGpuJobSettings
from azure_gpu.container_apps.job.rules import identity_problems
from azure_gpu.container_instances import resolve as group_resolve
from azure_gpu.container_instances.args import ContainerGroupSettings
from azure_gpu.edge.args import EdgeSharingSettings
from azure_gpu.foundation import existing as foundation_existing, spec as foundation_spec
from azure_gpu.foundation.args import FoundationArgs
from azure_gpu.images import spec as image_spec
from azure_gpu.images.args import GalleryImageSettings
from azure_gpu.ml.endpoint.args import MlEndpointSettings
from azure_gpu.ml.workspace import existing as workspace_existing
from azure_gpu.ml.workspace.args import MlWorkspaceSettings
from azure_gpu.shared.context import Context, StackArgs, resolve_stack
from azure_gpu.shared.part import PartArgs
from azure_gpu.shared.validation import check, schema
from azure_gpu.shared.workloads import Workload
from azure_gpu.stack import settings_batch, settings_clusters, settings_ml
from azure_gpu.stack.file import StackFile
from azure_gpu.stack.settings_batch import BatchParts, LookUp
from azure_gpu.stack.settings_ml import MlParts
from azure_gpu.stack.settings_reference import reference
from azure_gpu.vm.args import GpuVmSettings

PROJECT = "azure-gpu"  # the namespace of the keys, as in Pulumi.yaml
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

    def batch_parts(self, context: Context, look_up: LookUp = settings_batch.without_looking) -> BatchParts:
        """Account, gallery images and pools, resolved together."""
        foundation, _ = foundation_spec.resolve(self.foundation, context)
        return settings_batch.resolve(self.batch_account, self.gallery_images, self.pools, context, foundation, look_up)

    def ml_parts(self, context: Context, look_up: settings_ml.LookUp = settings_ml.without_looking) -> MlParts:
        """Workspace, endpoints and virtual machines, resolved together."""
        foundation, _ = foundation_spec.resolve(self.foundation, context)
        clusters = {name: cluster_resolve.resolve(name, each, context)[0] for name, each in self.clusters.items()}
        images = {name: image_spec.resolve(name, each, context)[0] for name, each in self.gallery_images.items()}
        return settings_ml.resolve(
            self.ml_workspace,
            self.ml_endpoints,
            self.vms,
            context,
            foundation,
            clusters=clusters,
            images={name: image_spec.of_pool(each) for name, each in images.items()},
            look_up=look_up,
        )


def read(configuration: Mapping[str, str], today: str) -> Settings:
    """The settings in the engine's configuration, whose keys are `namespace:key`. `today` is the day of the run, YYYY-MM-DD."""
    given: dict[str, object] = {}
    for key, text in configuration.items():
        if key.startswith(f"{PROJECT}:"):
            name = key.removeprefix(f"{PROJECT}:")
            given[name] = _decoded(text, get_type_hints(StackFile).get(name, str))
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
    subscription_id = configuration.get("azure-native:subscriptionId", "")
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
        write_blobs=any(key in file for key in _WRITE_BLOBS) or settings_clusters.fetch_models(file.get("clusters", {})),
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
        clusters=settings_clusters.with_login(file.get("clusters", {}), configuration),
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
    on_clusters = settings_clusters.workloads(file.get("clusters", {}), file.get("edges", {}))
    return sorted(of_groups | of_jobs | of_pools | on_clusters | settings_ml.workloads(file.get("ml_workspace")))


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


def all_problems(settings: Settings, project: str, stack: str) -> list[Problem]:
    """The problems of the settings and of all components, so that nothing is declared before all of it can be had.

    Two kinds are left out because an earlier one explains them: at the same place, and about something missing where a key was
    misspelt or of a wrong type.
    """
    return _problems(
        settings,
        project,
        stack,
        foundation_existing.check,
        environment_existing.check,
        account_existing.look_up,
        settings_clusters.problems,
        workspace_existing.look_up,
    )


def pure_problems(settings: Settings, project: str, stack: str) -> list[Problem]:
    """The same without those that show only when Azure or the workloads' folders are read."""
    return _problems(
        settings,
        project,
        stack,
        lambda args, context: foundation_spec.resolve(args, context)[1],
        lambda args, context: environment_spec.resolve(args, context)[1],
        settings_batch.without_looking,
        functools.partial(
            settings_clusters.problems,
            of_existing=settings_clusters.without_looking,
            of_edge=settings_clusters.without_asking,
        ),
        settings_ml.without_looking,
    )


def _problems(
    settings: Settings,
    project: str,
    stack: str,
    of_foundation: Callable[[FoundationArgs, Context], list[Problem]],
    of_environment: Callable[[JobEnvironmentSettings, Context], list[Problem]],
    look_up_account: LookUp,
    of_clusters: Callable[..., list[Problem]],
    look_up_workspace: settings_ml.LookUp,
) -> list[Problem]:
    context, found = resolve_stack(settings.stack, project, stack)
    found += of_foundation(settings.foundation, context)
    named: list[tuple[str, str]] = []
    for name, group in settings.container_groups.items():
        spec, more = group_resolve.resolve(name, group, context)
        named.append((f"container_groups.{name}.group_name", spec.group_name))
        found += more
    for name, job in settings.jobs.items():
        existing = "existing" in settings.job_environments[settings.environment_of(name)]
        spec, more = job_resolve.resolve(name, job, context, in_existing_environment=existing)
        named.append((f"jobs.{name}.job_name", spec.job_name))
        found += more
    parts = settings.batch_parts(context, look_up_account)
    named += [(f"pools.{name}.pool_name", spec.base_name) for name, spec in parts.pools.items()]
    foundation, _ = foundation_spec.resolve(settings.foundation, context)
    found += [*parts.problems, *of_clusters(settings.clusters, settings.edges, context, foundation)]
    of_ml = settings.ml_parts(context, look_up_workspace)
    named += [(f"ml_endpoints.{name}.endpoint_name", spec.name) for name, spec in of_ml.endpoints.items()]
    named += [(f"vms.{name}.vm_name", spec.name) for name, spec in of_ml.vms.items()]
    found += [problem for problem in of_ml.problems if problem not in found]
    found += _names_taken_twice(named)
    for environment in settings.job_environments.values():
        found += [problem for problem in of_environment(environment, context) if problem not in found]
    found += _problems_between_components(settings)
    said = {problem.path for problem in settings.problems}
    unclear = {_component(path) for path in said}
    explained = [
        problem for problem in found if problem.path in said or (problem.value is None and _component(problem.path) in unclear)
    ]
    return [*settings.problems, *(problem for problem in found if problem not in explained)]


def _names_taken_twice(named: Sequence[tuple[str, str]]) -> Iterator[Problem]:
    """Two groups, or two jobs, of one name in Azure would be one there. `named`: each name behind where it is written."""
    first: dict[tuple[str, str], str] = {}
    for path, name in named:
        taken = first.setdefault((path.split(".")[0], name.lower()), path)
        if taken != path:
            yield Problem(
                path=path,
                message=f"{taken} has this name in Azure too",
                value=name,
                allowed="a name that nothing else of its kind has in the stack",
                fix="rename one of the two",
            )


def _problems_between_components(settings: Settings) -> list[Problem]:
    problems: list[Problem] = []
    taken: dict[str, str] = {}
    kinds = (
        ("container_groups", "a container group"),
        ("jobs", "a job"),
        ("pools", "a pool"),
        ("clusters", "a cluster"),
        ("edges", "an edge"),
        ("ml_endpoints", "an endpoint"),
        ("vms", "a virtual machine"),
    )
    # A compute of the workspace has a cost and an end of its own where it has machines of its own.
    workspace = settings.ml_workspace or MlWorkspaceSettings()
    machines = {name: said for name, said in workspace.get("computes", {}).items() if "size" in said}
    named: list[tuple[str, str, Mapping[str, object]]] = [(key, what, getattr(settings, key)) for key, what in kinds]
    for key, what, names in [*named, ("ml_workspace.computes", "a compute", machines)]:
        problems += [_named_like(f"{key}.{name}", taken[name]) for name in names if name in taken]
        taken |= dict.fromkeys((name for name in names if name not in taken), what)
    if "identity" not in settings.foundation:
        problems += [problem for name, job in settings.jobs.items() for problem in identity_problems(name, job)]
    return problems


def _named_like(path: str, other: str) -> Problem:
    return Problem(
        path=path,
        message=f"{other} has this name too, and outputs and commands go by it",
        allowed=f"a name that no {other.split(' ', 1)[1]} has",
        fix="rename one of the two",
    )


# Keys below which names of the user's own stand.
_BY_NAME = ("container_groups", "jobs", "gallery_images", "pools", "clusters", "edges", "ml_endpoints", "vms")


def _component(path: str) -> str:
    """`container_groups.train` of `container_groups.train.gpu.count`, `foundation` of `foundation.registry`."""
    parts = path.split(".")
    return ".".join(parts[:2]) if parts[0] in _BY_NAME else parts[0]


def editor_schema() -> dict[str, Any]:
    """The JSON Schema of a whole stack file, `Pulumi.<stack>.yaml`; keys of other namespaces are left to their owners."""
    program = schema(StackFile)
    keys = {f"{PROJECT}:{key}": value for key, value in program["properties"].items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Stack files of {PROJECT}",
        "type": "object",
        "properties": {
            "config": {
                "type": "object",
                "properties": keys,
                "propertyNames": {"anyOf": [{"enum": list(keys)}, {"not": {"pattern": f"^{PROJECT}:"}}]},
                "required": [f"{PROJECT}:{key}" for key in program["required"]],
            }
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m azure_gpu.stack.settings", description="Prints what a stack file can say.")
    parser.add_argument("form", nargs="?", choices=("schema", "reference"), default="schema", help="default: schema")
    if parser.parse_args().form == "schema":
        print(json.dumps(editor_schema(), indent=2, ensure_ascii=False))
    else:
        print(reference(schema(StackFile)), end="")


if __name__ == "__main__":
    main()
