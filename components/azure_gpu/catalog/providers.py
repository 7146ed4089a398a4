"""Resource providers: the namespaces that must be registered in a subscription for each service."""

from collections.abc import Mapping

from azure_gpu.catalog.size_use import Service
from azure_gpu.catalog.sources import observed

# Microsoft.App is younger than this page; that it is the namespace of Container Apps is the type's own name.
SOURCE = observed(
    "MicrosoftDocs/azure-docs, articles/azure-resource-manager/management/azure-services-resource-providers.md", 2020, 6, 2
)

COMPUTE = "Microsoft.Compute"
BATCH = "Microsoft.Batch"
MACHINE_LEARNING = "Microsoft.MachineLearningServices"
CONTAINER_INSTANCES = "Microsoft.ContainerInstance"
REGISTRY = "Microsoft.ContainerRegistry"
IDENTITY = "Microsoft.ManagedIdentity"
LOGS = "Microsoft.OperationalInsights"
INSIGHTS = "Microsoft.Insights"  # diagnostic settings
STORAGE = "Microsoft.Storage"
# Of a cluster's add-on: MicrosoftDocs/azure-docs, articles/governance/policy/concepts/policy-for-kubernetes.md (2025-03-04).
POLICY = "Microsoft.PolicyInsights"
_NETWORK = "Microsoft.Network"

OF_SERVICE: Mapping[Service, tuple[str, ...]] = {
    Service.VIRTUAL_MACHINES: (COMPUTE, _NETWORK),
    Service.BATCH: (BATCH, STORAGE),
    Service.AKS: ("Microsoft.ContainerService", COMPUTE, _NETWORK),
    Service.ML_COMPUTE: (MACHINE_LEARNING, STORAGE, "Microsoft.KeyVault", INSIGHTS),
    Service.ML_ENDPOINT: (MACHINE_LEARNING, STORAGE, "Microsoft.KeyVault", INSIGHTS),
    Service.STACK_EDGE: (),  # a cluster given by its kubeconfig
    Service.CONTAINER_INSTANCES: (CONTAINER_INSTANCES,),
    Service.CONTAINER_APPS: ("Microsoft.App", LOGS, INSIGHTS),
}
# Every subscription has these from its beginning.
ALWAYS_REGISTERED = ("Microsoft.Resources", "Microsoft.Authorization")
OF_FOUNDATION = (IDENTITY, REGISTRY, LOGS, STORAGE)

ALL = tuple(sorted({*OF_FOUNDATION, POLICY, *(name for names in OF_SERVICE.values() for name in names)}))
