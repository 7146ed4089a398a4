"""Azure's own Batch client on the account of a stack, signed in as its user."""

from azure.batch import BatchClient
from azure.identity import ClientSecretCredential

from tests.support.stack import ProgramStack


def account_of(stack: ProgramStack) -> BatchClient:
    azure = stack.azure
    account = stack.outputs()["batch_account"]
    endpoint = azure.get(account, "2024-07-01").json()["properties"]["accountEndpoint"]
    credential = ClientSecretCredential(
        azure.tenant_id,
        azure.client_id,
        azure.client_secret,
        authority=azure.url,
        disable_instance_discovery=True,
        connection_verify=str(azure.ca_bundle),
    )
    return BatchClient(f"https://{endpoint}", credential, connection_verify=str(azure.ca_bundle))
