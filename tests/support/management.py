"""Azure's own management clients on an embedded Azure, made as their users make them."""

from typing import Any, TypeVar

from azure.identity import ClientSecretCredential
from azure.mgmt.appcontainers import ContainerAppsAPIClient
from azure.mgmt.authorization import AuthorizationManagementClient
from azure.mgmt.batch import BatchManagementClient
from azure.mgmt.compute import ComputeManagementClient
from azure.mgmt.containerinstance import ContainerInstanceManagementClient
from azure.mgmt.containerregistry import ContainerRegistryManagementClient
from azure.mgmt.containerservice import ContainerServiceClient
from azure.mgmt.machinelearningservices import MachineLearningServicesMgmtClient
from azure.mgmt.resource.resources import ResourceManagementClient
from azure.mgmt.storage import StorageManagementClient

from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure

Client = TypeVar(
    "Client",
    ContainerAppsAPIClient,
    AuthorizationManagementClient,
    BatchManagementClient,
    ComputeManagementClient,
    ContainerInstanceManagementClient,
    ContainerRegistryManagementClient,
    ContainerServiceClient,
    MachineLearningServicesMgmtClient,
    ResourceManagementClient,
    StorageManagementClient,
)


def client(kind: type[Client], azure: EmbeddedAzure, **options: Any) -> Client:
    """`options` go to the client, such as `retry_total`."""
    return kind(
        credential(azure),
        SUBSCRIPTION,
        base_url=azure.url,
        credential_scopes=[f"{azure.url}/.default"],
        **azure.sdk_options(),
        **options,
    )


def credential(azure: EmbeddedAzure, secret: str | None = None) -> ClientSecretCredential:
    """The service principal's credential; `secret`: another than its own."""
    return ClientSecretCredential(
        azure.tenant_id,
        azure.client_id,
        azure.client_secret if secret is None else secret,
        authority=azure.url,
        disable_instance_discovery=True,
        **azure.sdk_options(),
    )
