"""Rejects clusters that require a part of the foundation that is missing."""

from azure_gpu.aks.args import GpuClusterSettings, Monitoring
from azure_gpu.aks.spec import ClusterSpec
from azure_gpu.catalog.problems import Problem
from azure_gpu.foundation.spec import FoundationSpec
from azure_gpu.kubernetes.gpu_objects import declare as gpu_objects_declare
from azure_gpu.shared.part import Part


def serving_identity(foundation: FoundationSpec) -> Part | None:
    """Returns the identity for serving; None: the stack has none."""
    return foundation.serving_identity or foundation.identity


def for_cluster(name: str, settings: GpuClusterSettings, spec: ClusterSpec, foundation: FoundationSpec) -> list[Problem]:
    """Returns problems for parts of the foundation that a cluster requires and that are missing."""
    missing: list[Problem] = []
    if settings.get("monitoring") == Monitoring.LOGS and foundation.log_workspace is None:
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
    if settings.get("workload_identity", False) and not own:
        missing.append(
            Problem(
                path=f"clusters.{name}.workload_identity",
                message="requires an identity that the stack creates; an existing one isn't changed",
                value=True,
                allowed="only with foundation.identity: create",
                fix="add identity: create to the foundation, or remove it",
            )
        )
    serving = serving_identity(foundation)
    of_services = gpu_objects_declare.missing_of_services(
        spec.objects,
        identity=serving is not None and serving.existing is None and spec.pods_can_use_identity,
        storage=foundation.storage is not None,
        serving=foundation.serving_identity is not None,
    )
    return [*missing, *of_services]
