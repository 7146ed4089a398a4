"""Microsoft Entra Workload ID on a cluster: labels and annotations with which a pod authenticates as a managed identity.

A pod with the label that runs as an annotated service account gets variables and a token of that account from the cluster's
webhook. Entra exchanges that token for one of the identity if a federated credential has the same issuer, subject and audience.
"""

from azure_gpu.catalog.sources import FACTS_DAY, Source

SOURCE = Source("Microsoft Learn, aks/workload-identity-overview", "observed on", FACTS_DAY)

USE_LABEL = "azure.workload.identity/use"  # of a pod, with the value "true"
USES_IDENTITY = {USE_LABEL: "true"}
CLIENT_ID_ANNOTATION = "azure.workload.identity/client-id"  # of a service account
TENANT_ID_ANNOTATION = "azure.workload.identity/tenant-id"
EXPIRATION_ANNOTATION = "azure.workload.identity/service-account-token-expiration"  # of a pod or a service account, in seconds
SKIPPED_ANNOTATION = "azure.workload.identity/skip-containers"  # of a pod, separated by semicolons
AUDIENCE = "api://AzureADTokenExchange"

SERVICE_ACCOUNT = "stack-identity"  # in the namespace of jobs: its pods authenticate as the stack's identity
SERVING_ACCOUNT = "serving-identity"  # the same for the serving identity, if the stack has one


def subject(namespace: str, service_account: str) -> str:
    """The subject of a service account's token."""
    return f"system:serviceaccount:{namespace}:{service_account}"
