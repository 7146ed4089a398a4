"""A client of Azure Resource Manager (ARM) for the subscription that a stack lives in.

In: a `Connection` and, for a service principal, `ARM_CLIENT_SECRET` from the environment. Out: resources as ARM answers them, and
Azure's own management clients, made for the same subscription.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

import requests
from azure.core.credentials import TokenCredential
from azure.core.pipeline.policies import (
    ContentDecodePolicy,
    HeadersPolicy,
    RedirectPolicy,
    RequestIdPolicy,
    RetryPolicy,
    UserAgentPolicy,
)
from azure.core.rest import HttpRequest, HttpResponse
from azure.identity import ClientSecretCredential, DefaultAzureCredential
from azure.mgmt.core import ARMPipelineClient
from azure.mgmt.core.policies import ARMChallengeAuthenticationPolicy

from azure_gpu_operations.connection import Connection

PUBLIC_ARM = "https://management.azure.com"
PUBLIC_BATCH = "https://batch.core.windows.net/"
METADATA_TIMEOUT_SECONDS = 30
_METADATA_VERSION = "2022-09-01"
_USER_AGENT = "azure-gpu-operations"

Client = TypeVar("Client")


class AzureError(Exception):
    """ARM answered with an error. The text is ARM's own code and message."""

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


def first_line(error: BaseException) -> str:
    """Of an error's text; what kind it is where it has none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


@dataclass(frozen=True, slots=True)
class SignIn:
    """Where ARM answers, and who asks."""

    endpoint: str
    scope: str  # for which tokens are asked
    credential: TokenCredential
    batch_scope: str = f"{PUBLIC_BATCH}/.default"  # for which Batch's own service takes tokens


def sign_in(connection: Connection) -> SignIn:
    """Reads the cloud's metadata where it isn't the public one. Asks for no token yet."""
    endpoint, authority, audience, batch = _endpoints(connection.metadata_host)
    return SignIn(endpoint, f"{audience.rstrip('/')}/.default", _credential(connection, authority), f"{batch}/.default")


def management_client(kind: Callable[..., Client], login: SignIn, subscription_id: str, retries: RetryPolicy) -> Client:
    """One of the azure-mgmt clients, which sends nothing but what it is asked to.

    Left to itself it would register a resource provider that isn't, and that is for people to decide.
    """
    return kind(
        login.credential,
        subscription_id,
        base_url=login.endpoint,
        credential_scopes=[login.scope],
        policies=[ContentDecodePolicy(), *_policies(login, retries)],
    )


def arm_client(login: SignIn, retries: RetryPolicy) -> ARMPipelineClient:
    """Sends requests that no management client has a method for. Close it."""
    return ARMPipelineClient(login.endpoint, policies=_policies(login, retries))


def get_list(path: str, api_version: str, login: SignIn, retries: RetryPolicy) -> list[dict[str, Any]]:
    """A list that no management client has a method for. HttpResponseError where ARM refuses, as those clients raise it."""
    return get_document(path, api_version, login, retries)["value"]


def get_document(path: str, api_version: str, login: SignIn, retries: RetryPolicy) -> dict[str, Any]:
    """A resource that no management client has a method for."""
    with arm_client(login, retries) as client:
        answer = client.send_request(HttpRequest("GET", client.format_url(path), params={"api-version": api_version}))
        answer.raise_for_status()
        return answer.json()


def post_document(path: str, api_version: str, body: dict[str, Any], login: SignIn, retries: RetryPolicy) -> dict[str, Any]:
    """What an action answers that no management client has a method for."""
    with arm_client(login, retries) as client:
        request = HttpRequest("POST", client.format_url(path), params={"api-version": api_version}, json=body)
        answer = client.send_request(request)
        answer.raise_for_status()
        return answer.json()


class Arm:
    """Reads resources by id, and asks for actions that no management client has. Retries as azure-core does."""

    def __init__(self, connection: Connection) -> None:
        try:
            self.login = sign_in(connection)
        except (requests.ConnectionError, requests.Timeout) as error:
            raise AzureError(_silent(connection.metadata_host)) from error
        self.subscription_id = connection.subscription_id
        self._client = ARMPipelineClient(self.login.endpoint, policies=_policies(self.login, RetryPolicy()))

    def get(self, resource_id: str, api_version: str, **query: str) -> dict[str, Any] | None:
        """The resource or sub-resource at `resource_id`, or None where ARM knows none. AzureError for any other refusal."""
        url = self._client.format_url(resource_id)
        answer: HttpResponse = self._client.send_request(HttpRequest("GET", url, params={"api-version": api_version, **query}))
        if answer.status_code == 404:
            return None
        if answer.status_code != 200:
            raise AzureError(_reason(answer), answer.status_code)
        return answer.json()

    def post(self, path: str, api_version: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """What an action answers; {} where it says nothing. AzureError for a refusal."""
        request = HttpRequest("POST", self._client.format_url(path), params={"api-version": api_version}, json=body)
        answer: HttpResponse = self._client.send_request(request)
        if answer.status_code not in (200, 201, 202, 204):
            raise AzureError(_reason(answer), answer.status_code)
        return answer.json() if answer.text() else {}

    def put(self, resource_id: str, api_version: str, body: dict[str, Any]) -> dict[str, Any]:
        """Makes or changes a resource and doesn't wait for it; as ARM answers. AzureError for a refusal."""
        request = HttpRequest("PUT", self._client.format_url(resource_id), params={"api-version": api_version}, json=body)
        answer: HttpResponse = self._client.send_request(request)
        if answer.status_code not in (200, 201, 202):
            raise AzureError(_reason(answer), answer.status_code)
        return answer.json() if answer.text() else {}

    def delete(self, resource_id: str, api_version: str) -> None:
        """Asks for a resource's end and doesn't wait for it; one that isn't there is no error. AzureError for a refusal."""
        request = HttpRequest("DELETE", self._client.format_url(resource_id), params={"api-version": api_version})
        answer: HttpResponse = self._client.send_request(request)
        if answer.status_code not in (200, 202, 204, 404):
            raise AzureError(_reason(answer), answer.status_code)

    def values(self, path: str, api_version: str, **query: str) -> Iterator[dict[str, Any]]:
        """A list, page after page. AzureError for a refusal; nothing where the resource isn't there."""
        request = HttpRequest("GET", self._client.format_url(path), params={"api-version": api_version, **query})
        while True:
            answer: HttpResponse = self._client.send_request(request)
            if answer.status_code == 404:
                return
            if answer.status_code != 200:
                raise AzureError(_reason(answer), answer.status_code)
            page = answer.json()
            yield from page.get("value") or []
            if not page.get("nextLink"):
                return
            request = HttpRequest("GET", page["nextLink"])

    def close(self) -> None:
        self._client.close()


def _policies(login: SignIn, retries: RetryPolicy) -> list[Any]:
    return [
        RequestIdPolicy(),  # whoever polls a long operation repeats the first request's id
        HeadersPolicy(),
        UserAgentPolicy(_USER_AGENT),
        RedirectPolicy(),
        retries,
        ARMChallengeAuthenticationPolicy(login.credential, login.scope),
    ]


def _endpoints(metadata_host: str) -> tuple[str, str, str, str]:
    """Where ARM answers, who signs tokens, for whom they must be meant, and for whom at Batch."""
    if not metadata_host:
        return PUBLIC_ARM, "https://login.microsoftonline.com", PUBLIC_ARM, PUBLIC_BATCH
    base = metadata_host if "://" in metadata_host else f"https://{metadata_host}"
    answer = requests.get(
        f"{base.rstrip('/')}/metadata/endpoints",
        params={"api-version": _METADATA_VERSION},
        timeout=METADATA_TIMEOUT_SECONDS,
    )
    answer.raise_for_status()
    cloud = answer.json()
    authentication = cloud["authentication"]
    audience, batch = authentication["audiences"][0], cloud.get("batch") or PUBLIC_BATCH
    return cloud["resourceManager"].rstrip("/"), authentication["loginEndpoint"], audience, batch


def _silent(metadata_host: str) -> str:
    base = metadata_host if "://" in metadata_host else f"https://{metadata_host}"
    local = "; `make up` starts the embedded Azure" if urlsplit(base).hostname == "localhost" else ""
    return f"the cloud at {base} doesn't answer{local}"


def _credential(connection: Connection, authority: str) -> TokenCredential:
    secret = os.environ.get("ARM_CLIENT_SECRET", "")
    if connection.client_id and secret:
        return ClientSecretCredential(
            connection.tenant_id,
            connection.client_id,
            secret,
            authority=authority,
            disable_instance_discovery=connection.disable_instance_discovery,
        )
    return DefaultAzureCredential(authority=authority)


def _reason(answer: HttpResponse) -> str:
    try:
        error = answer.json()["error"]
        return f"{error['code']}: {error['message']}"
    except (ValueError, KeyError, TypeError):
        return f"HTTP {answer.status_code}: {answer.text()[:500]}"
