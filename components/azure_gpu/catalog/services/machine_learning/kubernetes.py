"""What pods of Azure Machine Learning get on a Kubernetes cluster: the taints that they tolerate.

In: a taint, written `key=value:Effect`. Out: whether its nodes take them.
"""

from datetime import date

from azure_gpu.catalog.sources import Dated, Source

REFERENCE = Source("Microsoft Learn, machine-learning/reference-kubernetes", Dated.OBSERVED, date(2022, 6, 6))
TOLERATED = ("ml.azure.com/amlarc", "ml.azure.com/amlarc-workload")  # with the value true, whatever the effect
OF_PLACES = ("ml.azure.com/resource-group", "ml.azure.com/workspace", "ml.azure.com/compute")  # with the name of theirs


def tolerated(taint: str) -> bool:
    """Whether jobs and deployments tolerate it. Where its value is a name, it is taken for theirs."""
    said = taint.rpartition(":")[0]
    key, _, value = said.partition("=")
    return (key in TOLERATED and value == "true") or key in OF_PLACES or taint.endswith(":PreferNoSchedule")
