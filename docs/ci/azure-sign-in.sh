# For a script of the task AzureCLI@2 with addSpnToEnvironment: the service connection's own token (workload identity federation) for the
# provider, Azure's SDKs and Pulumi's backend, and Pulumi on PATH.
# Source: Microsoft Learn, Azure Pipelines, AzureCLI@2; azure-identity, WorkloadIdentityCredential.
AZURE_FEDERATED_TOKEN_FILE="$(mktemp)"
printf '%s' "$idToken" > "$AZURE_FEDERATED_TOKEN_FILE"
ARM_SUBSCRIPTION_ID="$(az account show --query id --output tsv)"
PATH="$(cat .local/engine-bin):$PATH"
export AZURE_FEDERATED_TOKEN_FILE ARM_SUBSCRIPTION_ID PATH
export ARM_OIDC_TOKEN_FILE_PATH="$AZURE_FEDERATED_TOKEN_FILE" ARM_USE_OIDC=true
export ARM_CLIENT_ID="$servicePrincipalId" ARM_TENANT_ID="$tenantId"
export AZURE_CLIENT_ID="$servicePrincipalId" AZURE_TENANT_ID="$tenantId"
