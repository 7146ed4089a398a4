"""Microsoft Entra Workload ID on a cluster: the names by which a pod speaks as a managed identity, without a secret.

A pod with the label, which runs as an annotated service account, is given variables and a token of that account by the cluster's
webhook. Entra takes that token for one of the identity where a federated credential of the identity names issuer, subject and
audience.
"""

from azure_gpu.catalog.sources import FACTS_DAY, Dated, Source

SOURCE = Source("Microsoft Learn, aks/workload-identity-overview", Dated.OBSERVED, FACTS_DAY)

USE_LABEL = "azure.workload.identity/use"  # of a pod, with the value "true"
USES_IDENTITY = {USE_LABEL: "true"}
CLIENT_ID_ANNOTATION = "azure.workload.identity/client-id"  # of a service account
TENANT_ID_ANNOTATION = "azure.workload.identity/tenant-id"
EXPIRATION_ANNOTATION = "azure.workload.identity/service-account-token-expiration"  # of a pod or a service account, in seconds
SKIPPED_ANNOTATION = "azure.workload.identity/skip-containers"  # of a pod, separated by semicolons
AUDIENCE = "api://AzureADTokenExchange"

SERVICE_ACCOUNT = "stack-identity"  # ours, in the namespace of jobs: whoever runs as it speaks as the stack's identity
SERVING_ACCOUNT = "serving-identity"  # the same of the identity that serves, where the stack has one


def subject(namespace: str, service_account: str) -> str:
    """Whom a token of a service account is about."""
    return f"system:serviceaccount:{namespace}:{service_account}"
