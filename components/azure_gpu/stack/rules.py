"""Validates relations between the parts of a stack file."""

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
    """Rejects two parts of one kind with the same name in Azure. `named`: for each kind, by the path of such a name, the names in
    Azure by those in the stack file."""
    problems: list[Problem] = []
    for path, names in named.items():
        first: dict[str, str] = {}
        for key, name in names.items():
            taken = first.setdefault(name.lower(), path.format(key))
            if taken != path.format(key):
                problems.append(
                    Problem(
                        path=path.format(key),
                        message=f"this name in Azure is already used by {taken}",
                        value=name,
                        allowed="a name that is unique among its kind in the stack",
                        fix="rename one of the two",
                    )
                )
    return problems


def between_parts(settings: Settings) -> list[Problem]:
    """Rejects names that two parts share, and jobs without an identity that they require."""
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
    # A compute of the workspace has a separate cost and end where it has separate machines.
    workspace = settings.ml_workspace or MlWorkspaceSettings()
    machines = {name: compute for name, compute in workspace.get("computes", {}).items() if "size" in compute}
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
        message=f"this name is already used by {other}, and outputs and commands identify parts by it",
        allowed=f"a name that isn't used by {other}",
        fix="rename one of the two",
    )


# Sections with user-defined names.
_BY_NAME = ("container_groups", "jobs", "gallery_images", "pools", "clusters", "edges", "ml_endpoints", "vms")


def _component(path: str) -> str:
    """Returns the part of a path: `container_groups.train` of `container_groups.train.gpu.count`."""
    parts = path.split(".")
    return ".".join(parts[:2]) if parts[0] in _BY_NAME else parts[0]


def speaks_as(foundation: FoundationSpec) -> Part | None:
    """Returns the identity for serving; None: the stack has none."""
    return foundation.serving_identity or foundation.identity


def nothing_serves(
    foundation: FoundationSpec,
    clusters: Mapping[str, tuple[GpuClusterSpec, ClusterFacts]],
    endpoints: Mapping[str, MlEndpointSpec],
) -> list[Problem]:
    """Warns of a serving identity that nothing uses."""
    fetching = any(service.has_model for cluster, _ in clusters.values() for service in cluster.objects.services.values())
    speaking = any(endpoint.identity is not EndpointIdentity.SYSTEM for endpoint in endpoints.values())
    if foundation.serving_identity is None or fetching or speaking:
        return []
    return [
        Problem(
            path="foundation.serving_identity",
            message="no endpoint or service of the stack uses this identity",
            allowed="with an endpoint without a separate identity, or a service with a `model` on a cluster",
            fix="remove it, or add an endpoint or a service that uses it",
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
    """Returns problems for parts of the foundation that the cluster's settings require and that are missing."""
    missing: list[Problem] = []
    if cluster.get("monitoring") == Monitoring.LOGS and foundation.log_workspace is None:
        missing.append(
            Problem(
                path=f"clusters.{name}.monitoring",
                message="`monitoring: logs` requires `foundation.log_workspace`",
                value=Monitoring.LOGS.value,
                allowed="only with foundation.log_workspace",
                fix="add log_workspace: create to the foundation",
            )
        )
    identities = (foundation.identity, foundation.serving_identity)
    own = any(identity is not None and identity.existing is None for identity in identities)
    if cluster.get("workload_identity", False) and not own:
        missing.append(
            Problem(
                path=f"clusters.{name}.workload_identity",
                message="requires an identity that the stack creates; an existing one isn't changed",
                value=True,
                allowed="only with foundation.identity: create",
                fix="add identity: create to the foundation, or remove it",
            )
        )
    return missing


def no_batch_account() -> Problem:
    return Problem(
        path=account_spec.PATH,
        message="`pools` requires a Batch account",
        allowed="create, or existing: <id>",
        fix="add batch_account: create",
    )


def no_ml_workspace() -> Problem:
    return Problem(
        path=workspace_spec.PATH,
        message="`ml_endpoints` requires an Azure Machine Learning workspace",
        allowed="create, or existing: <id>",
        fix="add ml_workspace: create",
    )


def missing_for_cluster(
    name: str, settings: GpuClusterSettings, spec: GpuClusterSpec, foundation: FoundationSpec
) -> list[Problem]:
    """Returns problems for parts of the foundation that a cluster requires and that are missing."""
    return [*_missing_for_settings(name, settings, foundation), *_missing_for_services(spec, foundation)]


def without_explained(of_settings: Sequence[Problem], found: Sequence[Problem]) -> list[Problem]:
    """Combines all problems, without those that an earlier one explains: at the same path, or about a missing value where a key
    of the part was misspelt or of a wrong type."""
    paths = {problem.path for problem in of_settings}
    unclear = {_component(path) for path in paths}
    explained = [
        problem for problem in found if problem.path in paths or (problem.value is None and _component(problem.path) in unclear)
    ]
    return [*of_settings, *(problem for problem in found if problem not in explained)]


def with_warnings(problems: Sequence[Problem], warnings: Sequence[Problem]) -> list[Problem]:
    """Combines both, without warnings at paths with a problem."""
    paths = {problem.path for problem in problems}
    return [*problems, *(warning for warning in warnings if warning.path not in paths)]
