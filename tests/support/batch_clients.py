"""Azure's own Batch client on the account of a stack, signed in as its user."""

from azure.batch import BatchClient

from tests.support.management import credential
from tests.support.stack import ProgramStack


def account_of(stack: ProgramStack) -> BatchClient:
    azure = stack.azure
    account = stack.outputs()["batch_account"]
    endpoint = azure.get(account, "2024-07-01").json()["properties"]["accountEndpoint"]
    return BatchClient(f"https://{endpoint}", credential(azure), connection_verify=str(azure.ca_bundle))
