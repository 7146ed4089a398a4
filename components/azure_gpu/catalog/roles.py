"""Azure's built-in roles that this project grants or looks up, by the GUID of their definition, the same in every tenant.

Source: Microsoft Learn, role-based-access-control/built-in-roles, read 2026-11-20.
"""

# How long a new assignment is waited for: it takes up to 10 minutes, and in a cluster up to 5 more. Microsoft Learn,
# role-based-access-control/troubleshooting (2026-11-24); MicrosoftDocs/azure-aks-docs, articles/aks/entra-id-authorization.md
# (2026-08-21).
DELAY_MINUTES = 15
NAMES: dict[str, str] = {}


def _role(definition: str, name: str) -> str:
    NAMES[definition] = name
    return definition


OWNER = _role("8e3af657-a8ff-443c-a75c-2fe8c4bcb635", "Owner")
CONTRIBUTOR = _role("b24988ac-6180-42a0-ab88-20f7382dd24c", "Contributor")
READER = _role("acdd72a7-3385-48ef-bd42-f606fba81ae7", "Reader")
USER_ACCESS_ADMINISTRATOR = _role("18d7d88d-d35e-4fb5-a5c3-7773c20a72d9", "User Access Administrator")
ACR_PULL = _role("7f951dda-4ed3-4680-a7ca-43fe172d538d", "AcrPull")
ACR_PUSH = _role("8311e382-0749-4cb8-b61a-304f252e45ec", "AcrPush")
ACR_DELETE = _role("c2f4ef07-c644-48eb-af81-4b1b4947fb11", "AcrDelete")
# What pulls from a registry in the mode AbacRepositoryPermissions, which honours none of the three above: Microsoft Learn,
# container-registry/container-registry-rbac-built-in-roles-directory-reference, read 2026-11-24.
REPOSITORY_READER = _role("b93aa761-3e63-49ed-ac28-beffa264f7ac", "Container Registry Repository Reader")
REPOSITORY_WRITER = _role("2a1e307c-b015-4ebd-883e-5b7698a07328", "Container Registry Repository Writer")
REPOSITORY_CONTRIBUTOR = _role("2efddaa5-3f1f-4df3-97df-af3f13818f4c", "Container Registry Repository Contributor")
STORAGE_BLOB_DATA_OWNER = _role("b7e6dc6d-f1e8-4753-8033-0f276bb0955b", "Storage Blob Data Owner")
STORAGE_BLOB_DATA_CONTRIBUTOR = _role("ba92f5b4-2d11-453d-a403-e96b0029c9fe", "Storage Blob Data Contributor")
STORAGE_BLOB_DATA_READER = _role("2a2b9908-6ea1-4ae2-8e65-a410df84e7d1", "Storage Blob Data Reader")
STORAGE_FILE_DATA_PRIVILEGED_CONTRIBUTOR = _role(
    "69566ab7-960f-475b-8e7c-b3118f30c6bd", "Storage File Data Privileged Contributor"
)
STORAGE_ACCOUNT_CONTRIBUTOR = _role("17d1049b-9a84-46fb-8f53-869881c3d3ab", "Storage Account Contributor")
MANAGED_IDENTITY_OPERATOR = _role("f1a07417-d97a-45cb-824c-7a7467783830", "Managed Identity Operator")
MONITORING_READER = _role("43d0d8ad-25c7-4714-9337-8ba259a9fe05", "Monitoring Reader")
LOG_ANALYTICS_READER = _role("73c42c96-874c-492b-b04d-ab87d138a893", "Log Analytics Reader")
LOG_ANALYTICS_CONTRIBUTOR = _role("92aaf0da-9dab-42b6-94a3-d43ce8d16293", "Log Analytics Contributor")
NETWORK_CONTRIBUTOR = _role("4d97b98b-1d4f-4787-a291-c67834d212e7", "Network Contributor")
PRIVATE_DNS_ZONE_CONTRIBUTOR = _role("b12aa53e-6015-4669-85d0-8515ebb3ae7f", "Private DNS Zone Contributor")
AKS_CLUSTER_USER = _role("4abbcc35-e782-43d8-92c5-2d3f1bd2253f", "Azure Kubernetes Service Cluster User Role")
AKS_CLUSTER_ADMIN = _role("0ab0b1a8-8aac-4efd-b8c2-3ee1fb270be8", "Azure Kubernetes Service Cluster Admin Role")
AKS_CONTRIBUTOR = _role("ed7f3fbd-7b88-4dd4-9017-9adb7ce333f8", "Azure Kubernetes Service Contributor Role")
AKS_RBAC_READER = _role("7f6c6a51-bcf8-42ba-9220-52d62157d7db", "Azure Kubernetes Service RBAC Reader")
AKS_RBAC_WRITER = _role("a7ffa36f-339b-4b5c-8bdf-e2c188b2c0eb", "Azure Kubernetes Service RBAC Writer")
AKS_RBAC_ADMIN = _role("3498e952-d568-435e-9b2c-8d77e338d7f7", "Azure Kubernetes Service RBAC Admin")
AKS_RBAC_CLUSTER_ADMIN = _role("b1ff04bb-8a4e-4dc4-8eb5-8693973ce19b", "Azure Kubernetes Service RBAC Cluster Admin")
AZUREML_DATA_SCIENTIST = _role("f6c7c914-8db3-469d-8ca1-694a8f32e121", "AzureML Data Scientist")
AZUREML_COMPUTE_OPERATOR = _role("e503ece1-11d0-4e8e-8e2c-7a6c3bf38815", "AzureML Compute Operator")
AZUREML_METRICS_WRITER = _role("635dd51f-9968-44d3-b7fb-6d9a6bd613ae", "AzureML Metrics Writer (preview)")
KEY_VAULT_ADMINISTRATOR = _role("00482a5a-887f-4fb3-b363-3b7fe8e74483", "Key Vault Administrator")
KEY_VAULT_SECRETS_OFFICER = _role("b86a8fe4-44ce-4948-aee5-eccb2c155cd7", "Key Vault Secrets Officer")
KEY_VAULT_CRYPTO_SERVICE_ENCRYPTION_USER = _role(
    "e147488a-f6f5-4113-8e2d-b22465e65bf6", "Key Vault Crypto Service Encryption User"
)
AI_NETWORK_CONNECTION_APPROVER = _role("b556d68e-0be0-4f35-a333-ad7ee1ce17ea", "Azure AI Enterprise Network Connection Approver")
VIRTUAL_MACHINE_CONTRIBUTOR = _role("9980e02c-c2be-4d73-94e8-173b1dc7cf3c", "Virtual Machine Contributor")

# The modes of a registry, which decide the roles that it accepts; only newer API versions show the mode. In the mode with
# conditions for repositories it accepts neither AcrPull nor AcrPush. Microsoft Learn,
# container-registry/container-registry-rbac-abac-repository-permissions (2026-11-24).
REGISTRY_MODE_API = "2025-04-01"  # the first stable one that has it
REGISTRY_MODE = "roleAssignmentMode"
ABAC, LEGACY = "AbacRepositoryPermissions", "LegacyRegistryPermissions"


def definition_id(subscription: str, role: str) -> str:
    """The ARM id of a role's definition, as a role assignment in `subscription` refers to it."""
    return f"/subscriptions/{subscription}/providers/Microsoft.Authorization/roleDefinitions/{role}"
