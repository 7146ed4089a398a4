"""Every reason to refuse that shows only between the parts of a stack file."""

from collections.abc import Mapping, Sequence

from azure_gpu.aks.args import GpuClusterSettings, Monitoring
from azure_gpu.aks.existing import ClusterFacts
from azure_gpu.aks.spec import GpuClusterSpec, pods_can_use_identity
from azure_gpu.batch.account import spec as account_spec
from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.container_apps.job.rules import identity_problems
from azure_gpu.foundation.spec import FoundationSpec
from azure_gpu.kubernetes.gpu_objects import declare as gpu_objects_declare
from azure_gpu.ml.endpoint.args import EndpointIdentity
from azure_gpu.ml.endpoint.spec import MlEndpointSpec
from azure_gpu.ml.workspace import spec as workspace_spec
from azure_gpu.ml.workspace.args import MlWorkspaceSettings
from azure_gpu.shared.part import Part
from azure_gpu.stack.settings import Settings


def names_taken_twice(named: Mapping[str, Mapping[str, str]]) -> list[Problem]:
    """Two groups, or two jobs, of one name in Azure would be one there. `named`: for each kind, by the path at which such a name
    is written, the names in Azure by those in the stack file."""
    problems: list[Problem] = []
    for path, names in named.items():
        first: dict[str, str] = {}
        for key, name in names.items():
            taken = first.setdefault(name.lower(), path.format(key))
            if taken != path.format(key):
                problems.append(
                    Problem(
                        path=path.format(key),
                        message=f"{taken} has this name in Azure too",
                        value=name,
                        allowed="a name that nothing else of its kind has in the stack",
                        fix="rename one of the two",
                    )
                )
    return problems


def between_parts(settings: Settings) -> list[Problem]:
    """Names that two parts have, and what jobs need of the foundation."""
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
        problems += [problem for name, job in settings.jobs.items() for problem in identity_problems(f"jobs.{name}", job)]
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


def speaks_as(foundation: FoundationSpec) -> Part | None:
    """The identity of what answers requests; None: the stack has none."""
    return foundation.serving_identity or foundation.identity


def nothing_serves(
    foundation: FoundationSpec,
    clusters: Mapping[str, tuple[GpuClusterSpec, ClusterFacts]],
    endpoints: Mapping[str, MlEndpointSpec],
) -> list[Problem]:
    """The warning of an identity that nothing would speak as."""
    fetching = any(service.has_model for cluster, _ in clusters.values() for service in cluster.objects.services.values())
    speaking = any(endpoint.identity is not EndpointIdentity.SYSTEM for endpoint in endpoints.values())
    if foundation.serving_identity is None or fetching or speaking:
        return []
    return [
        Problem(
            path="foundation.serving_identity",
            message="nothing of the stack answers requests as this identity",
            allowed="with an endpoint that has no identity of its own, or a service with a `model` on a cluster",
            fix="remove it, or add what serves",
            severity=Severity.WARNING,
        )
    ]


def _missing_for_services(spec: GpuClusterSpec, foundation: FoundationSpec) -> list[Problem]:
    identity = speaks_as(foundation)
    own = identity is not None and identity.existing is None
    return gpu_objects_declare.missing_of_services(
        spec.objects,
        identity=own and pods_can_use_identity(spec),
        storage=foundation.storage is not None,
        serving=foundation.serving_identity is not None,
    )


def _missing_for_settings(name: str, cluster: GpuClusterSettings, foundation: FoundationSpec) -> list[Problem]:
    """What the cluster asks of the foundation and doesn't find there."""
    missing: list[Problem] = []
    if cluster.get("monitoring") == Monitoring.LOGS and foundation.log_workspace is None:
        missing.append(
            Problem(
                path=f"clusters.{name}.monitoring",
                message="logs go to the stack's log workspace, and there is none",
                value=Monitoring.LOGS.value,
                allowed="with foundation.log_workspace alone",
                fix="add log_workspace: create to the foundation",
            )
        )
    identities = (foundation.identity, foundation.serving_identity)
    own = any(identity is not None and identity.existing is None for identity in identities)
    if cluster.get("workload_identity", False) and not own:
        missing.append(
            Problem(
                path=f"clusters.{name}.workload_identity",
                message="pods can speak as an identity that the stack has made, and there is none; another's isn't changed",
                value=True,
                allowed="with foundation.identity: create alone",
                fix="add identity: create to the foundation, or remove it",
            )
        )
    return missing


def no_batch_account() -> Problem:
    return Problem(
        path=account_spec.PATH,
        message="pools are in a Batch account, and none is said",
        allowed="create, or existing: <id>",
        fix="add batch_account: create",
    )


def no_ml_workspace() -> Problem:
    return Problem(
        path=workspace_spec.PATH,
        message="endpoints are in an Azure Machine Learning workspace, and none is said",
        allowed="create, or existing: <id>",
        fix="add ml_workspace: create",
    )


def missing_for_cluster(name: str, said: GpuClusterSettings, spec: GpuClusterSpec, foundation: FoundationSpec) -> list[Problem]:
    """What a cluster needs of the foundation and doesn't find there."""
    return [*_missing_for_settings(name, said, foundation), *_missing_for_services(spec, foundation)]


def without_explained(of_settings: Sequence[Problem], found: Sequence[Problem]) -> list[Problem]:
    """All problems, without those that an earlier one explains: at the same place, and about something missing where a key was
    misspelt or of a wrong type."""
    paths = {problem.path for problem in of_settings}
    unclear = {_component(path) for path in paths}
    explained = [
        problem for problem in found if problem.path in paths or (problem.value is None and _component(problem.path) in unclear)
    ]
    return [*of_settings, *(problem for problem in found if problem not in explained)]


def with_warnings(problems: Sequence[Problem], warnings: Sequence[Problem]) -> list[Problem]:
    """All of them, without warnings of a place that has a problem already."""
    paths = {problem.path for problem in problems}
    return [*problems, *(warning for warning in warnings if warning.path not in paths)]
