"""The taints that pods of Azure Machine Learning tolerate on a Kubernetes cluster."""

from datetime import date

from azure_gpu.catalog.sources import Dated, Source

REFERENCE = Source("Microsoft Learn, machine-learning/reference-kubernetes", Dated.OBSERVED, date(2022, 6, 6))
TOLERATED = ("ml.azure.com/amlarc", "ml.azure.com/amlarc-workload")  # with the value true and any effect
OF_SCOPES = ("ml.azure.com/resource-group", "ml.azure.com/workspace", "ml.azure.com/compute")  # with the scope's name as value


def tolerated(taint: str) -> bool:
    """Whether jobs and deployments tolerate it. A name as value is assumed to be that of their scope."""
    key, _, value = taint.rpartition(":")[0].partition("=")
    return (key in TOLERATED and value == "true") or key in OF_SCOPES or taint.endswith(":PreferNoSchedule")
