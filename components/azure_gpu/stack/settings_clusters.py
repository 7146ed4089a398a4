"""The parts of a stack file that belong to Kubernetes, judged together: AKS clusters, and edges that are given by kubeconfig.

In: their settings, and the foundation that they stand on. Out: problems; and an AKS cluster's settings with what the provider's
own connection says about logging in.
"""

from collections.abc import Callable, Mapping

from azure_gpu.aks import existing as cluster_existing, resolve as cluster_resolve
from azure_gpu.aks.args import AccessArgs, GpuClusterSettings, Login, Monitoring
from azure_gpu.aks.spec import GpuClusterSpec, may_speak
from azure_gpu.catalog.problems import Problem
from azure_gpu.edge import resolve as edge_resolve
from azure_gpu.edge.args import EdgeSharingSettings
from azure_gpu.foundation.spec import FoundationSpec
from azure_gpu.kubernetes.gpu_objects import declare as gpu_objects_declare, resolve as gpu_objects_resolve
from azure_gpu.shared.context import Context
from azure_gpu.shared.workloads import Workload

OfEdge = Callable[[str, EdgeSharingSettings, Context], list[Problem]]
OfExisting = Callable[[GpuClusterSpec], list[Problem]]


def without_asking(name: str, said: EdgeSharingSettings, context: Context) -> list[Problem]:
    """What is wrong with an edge, its cluster aside."""
    return edge_resolve.resolve(name, said, context)[1]


def without_looking(_: GpuClusterSpec) -> list[Problem]:
    """Nothing is known against an existing cluster that isn't looked up."""
    return []


# The provider takes these from the environment where its configuration says nothing.
_FROM_ENVIRONMENT = {
    "azure-native:clientId": "ARM_CLIENT_ID",
    "azure-native:metadataHost": "ARM_METADATA_HOSTNAME",
    "azure-native:disableInstanceDiscovery": "ARM_DISABLE_INSTANCE_DISCOVERY",
}


def connection(environment: Mapping[str, str]) -> dict[str, str]:
    """How the provider logs in, as far as the environment says it and the login of a cluster follows it."""
    return {key: environment[name] for key, name in _FROM_ENVIRONMENT.items() if environment.get(name)}


def with_login(clusters: Mapping[str, GpuClusterSettings], configuration: Mapping[str, str]) -> dict[str, GpuClusterSettings]:
    """The clusters, logged into as the provider itself logs in, where their settings say nothing else."""
    defaults = AccessArgs()
    if configuration.get("azure-native:clientId"):
        defaults["login"] = Login.SERVICE_PRINCIPAL
    if configuration.get("azure-native:disableInstanceDiscovery", "").lower() == "true":
        defaults["disable_instance_discovery"] = True
    if configuration.get("azure-native:metadataHost"):
        defaults["authority_host"] = f"https://{configuration['azure-native:metadataHost']}/"
    if not defaults:
        return dict(clusters)
    return {name: {**cluster, "access": {**defaults, **cluster.get("access", {})}} for name, cluster in clusters.items()}


def fetch_models(clusters: Mapping[str, GpuClusterSettings]) -> bool:
    """Whether a service's pods read a model from the stack's storage, as the stack's identity."""
    return any("model" in service for cluster in clusters.values() for service in cluster.get("services", {}).values())


def workloads(clusters: Mapping[str, GpuClusterSettings], edges: Mapping[str, EdgeSharingSettings]) -> set[Workload]:
    """What the registry has to build for their jobs."""
    of_clusters = {each for cluster in clusters.values() for each in gpu_objects_resolve.workloads(cluster)}
    of_edges = {each for edge in edges.values() for each in edge_resolve.workloads(edge)}
    return of_clusters | of_edges


def problems(
    clusters: Mapping[str, GpuClusterSettings],
    edges: Mapping[str, EdgeSharingSettings],
    context: Context,
    foundation: FoundationSpec,
    *,
    of_existing: OfExisting = cluster_existing.check,
    of_edge: OfEdge = edge_resolve.check,
) -> list[Problem]:
    """Everything that is wrong with them."""
    found: list[Problem] = []
    for name, cluster in clusters.items():
        spec, more = cluster_resolve.resolve(name, cluster, context)
        found += [*more, *_missing(name, cluster, foundation), *_missing_of_services(spec, foundation), *of_existing(spec)]
    for name, edge in edges.items():
        found += of_edge(name, edge, context)
    return found


def _missing_of_services(spec: GpuClusterSpec, foundation: FoundationSpec) -> list[Problem]:
    own = foundation.identity is not None and foundation.identity.existing is None
    speaks = own and may_speak(spec)
    return gpu_objects_declare.missing_of_services(spec.objects, identity=speaks, storage=foundation.storage is not None)


def _missing(name: str, cluster: GpuClusterSettings, foundation: FoundationSpec) -> list[Problem]:
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
    if cluster.get("workload_identity", False) and (foundation.identity is None or foundation.identity.existing is not None):
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
