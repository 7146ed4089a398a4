"""The extension Microsoft.AzureML.Kubernetes: what it requires, and the taints that its pods tolerate."""

EXTENSION_TYPE = "Microsoft.AzureML.Kubernetes"
ROUTER_REPLICAS = 3  # of a highly available router, on separate nodes
LEAST_VCPUS = 4
# Source: reference-kubernetes@2022-06-06.
TOLERATED = ("ml.azure.com/amlarc", "ml.azure.com/amlarc-workload")  # with the value true and any effect
OF_SCOPES = ("ml.azure.com/resource-group", "ml.azure.com/workspace", "ml.azure.com/compute")  # with the scope's name as value


def tolerated(taint: str) -> bool:
    """Whether jobs and deployments tolerate it. A name as value is assumed to be that of their scope."""
    key, _, value = taint.rpartition(":")[0].partition("=")
    return (key in TOLERATED and value == "true") or key in OF_SCOPES or taint.endswith(":PreferNoSchedule")
