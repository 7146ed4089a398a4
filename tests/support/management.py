"""Azure's own management clients on an embedded Azure, made as their users make them."""

from collections.abc import Callable
from typing import Any, TypeVar

from azure.identity import ClientSecretCredential

from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure

Client = TypeVar("Client")


def client(kind: Callable[..., Client], azure: EmbeddedAzure, **options: Any) -> Client:
    """`kind`: such as `BatchManagementClient`; each takes long to import. `options` go to it, such as `retry_total`."""
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
