"""Finds the cluster of a Kubernetes online deployment by its endpoint's compute, and the resources that its pods request.

The `Cluster` is looked up each time; ArmError in the service's words where it is missing.
"""

from azure_gpu.formats.arm_ids import parse
from localazure.arm.store import Body, Resource
from localazure.kinds import ml_compute_rules, ml_computes
from localazure.kubernetes.client import KubeError
from localazure.kubernetes.clusters import Clusters
from localazure.ml import failures
from localazure.ml.pod_forms import shape_of
from localazure.ml.pods import Cluster
from localazure.services import Services

_CALL_FAILED = "InferencingClientCallFailed"


def of_deployment(key: str, clusters: Clusters, services: Services) -> Cluster:
    """ArmError: InferencingClientCallFailed where the compute, its cluster or the extension doesn't exist."""
    deployment = services.store.get(key)
    endpoint = services.store.get(deployment.id.scope) if deployment is not None else None
    if deployment is None or endpoint is None:
        raise failures.of(_CALL_FAILED, "The deployment has gone.")
    compute = _compute(endpoint, services)
    cluster = ml_computes.cluster_of(compute, services)
    if cluster is None or not clusters.exists(cluster.key):
        raise failures.of(_CALL_FAILED, f"The cluster of the compute '{compute.id.name}' isn't there.")
    if ml_compute_rules.extension_of(cluster, services) is None:
        message = f"The cluster '{cluster.id.name}' has no extension of Azure Machine Learning."
        raise failures.of(_CALL_FAILED, message)
    try:
        api = clusters.api(cluster.key)
    except KubeError as error:
        raise failures.of(_CALL_FAILED, error.message) from error
    own: Body = ml_compute_rules.inner(compute.body)
    default = str(own.get("defaultInstanceType") or ml_compute_rules.DEFAULT_INSTANCE_TYPE)
    return Cluster(
        api=api,
        namespace=str(own.get("namespace") or "default"),
        folder=clusters.folder(cluster.key),
        shape=shape_of(deployment.properties, ml_computes.instance_types(compute), default),
    )


def _compute(endpoint: Resource, services: Services) -> Resource:
    parsed = parse(str(endpoint.properties["compute"]).removeprefix("azureml:"))
    compute = services.store.get(parsed.key) if parsed is not None else None
    if compute is None:
        raise failures.of(_CALL_FAILED, f"The compute of the endpoint '{endpoint.id.name}' was detached.")
    return compute
