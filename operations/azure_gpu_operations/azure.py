"""Client of Azure Resource Manager (ARM) for a stack's subscription, and factory of Azure's management clients for it.

A service principal signs in with `ARM_CLIENT_SECRET` from the environment.
"""

import logging
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar
from urllib.parse import urlsplit

import requests
from azure.core.credentials import TokenCredential
from azure.core.exceptions import AzureError as AzureCoreError, HttpResponseError
from azure.core.pipeline.policies import (
    ContentDecodePolicy,
    HeadersPolicy,
    RedirectPolicy,
    RequestIdPolicy,
    RetryPolicy,
    UserAgentPolicy,
)
from azure.core.pipeline.transport import RequestsTransport
from azure.core.rest import HttpRequest, HttpResponse
from azure.mgmt.core import ARMPipelineClient
from azure.mgmt.core.policies import ARMChallengeAuthenticationPolicy
from requests.adapters import HTTPAdapter

from azure_gpu.shared.polling import first_line
from azure_gpu_operations.connection import Connection

PUBLIC_ARM = "https://management.azure.com"
PUBLIC_BATCH = "https://batch.core.windows.net/"
METADATA_TIMEOUT_SECONDS = 30
_METADATA_VERSION = "2022-09-01"
_USER_AGENT = "azure-gpu-operations"
_TEXT_SECONDS = 30
_CONNECTIONS = 32  # kept for each host

Client = TypeVar("Client")


class AzureError(Exception):
    """ARM answered with an error. The text is ARM's own code and message."""

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


UNREADABLE = (AzureError, AzureCoreError, requests.RequestException)  # where a failure is told, and stops nothing


@contextmanager
def refused_as(why: Callable[[HttpResponseError, str], str], what: str, *passed: type[Exception]) -> Iterator[None]:
    """Raises the refusal of one of Azure's clients as an AzureError in one line, which `why` makes for `what` was requested.
    `passed`: errors that the caller expects."""
    try:
        yield
    except passed:
        raise
    except HttpResponseError as error:
        raise AzureError(why(error, what), error.status_code or 0) from error


def not_signed_in(error: BaseException) -> str:
    """One line for a login that failed, of which Azure's clients tell each method that they tried."""
    return f"not signed in, or the login has expired: run `az login` ({first_line(error)})"


@dataclass(frozen=True, slots=True)
class SignIn:
    """Endpoint of ARM, and the credential for it."""

    endpoint: str
    scope: str  # of its tokens
    credential: TokenCredential
    batch_scope: str = f"{PUBLIC_BATCH}/.default"  # of tokens for the Batch service


def sign_in(connection: Connection) -> SignIn:
    """Reads the cloud's metadata, if it isn't the public cloud. Requests no token yet."""
    return _signed_in(connection, os.environ.get("ARM_CLIENT_SECRET", ""))


@cache
def _signed_in(connection: Connection, secret: str) -> SignIn:
    endpoint, authority, audience, batch = _endpoints(connection.metadata_host)
    return SignIn(endpoint, f"{audience.rstrip('/')}/.default", _credential(connection, authority, secret), f"{batch}/.default")


@cache
def session() -> requests.Session:
    """Shared by all clients of a process."""
    made = requests.Session()
    made.mount("https://", HTTPAdapter(pool_maxsize=_CONNECTIONS))
    return made


def transport() -> RequestsTransport:
    """For a client: all of a process share their connections, each of which costs about 50 ms of CPU to open, mostly for reading
    the certificates of the authorities."""
    return RequestsTransport(session=session(), session_owner=False)


def management_client(kind: Callable[..., Client], login: SignIn, subscription_id: str, retries: RetryPolicy) -> Client:
    """An azure-mgmt client that doesn't register resource providers automatically, which is the user's decision."""
    return kind(
        login.credential,
        subscription_id,
        base_url=login.endpoint,
        credential_scopes=[login.scope],
        policies=[ContentDecodePolicy(), *_policies(login, retries)],
        transport=transport(),
    )


def arm_client(login: SignIn, retries: RetryPolicy) -> ARMPipelineClient:
    """Client for requests that no management client has a method for. Close it."""
    return ARMPipelineClient(login.endpoint, policies=_policies(login, retries), transport=transport())


def get_list(path: str, api_version: str, login: SignIn, retries: RetryPolicy) -> list[dict[str, Any]]:
    """A list that no management client has a method for, all its pages. HttpResponseError on refusal, as from those clients."""
    document = get_document(path, api_version, login, retries)
    rows = list(document["value"])
    while document.get("nextLink"):
        document = get_document(document["nextLink"], "", login, retries)
        rows += document["value"]
    return rows


def get_document(path: str, api_version: str, login: SignIn, retries: RetryPolicy, **query: str) -> dict[str, Any]:
    """A resource that no management client has a method for. `api_version` "": of a link to a next page, which has its own."""
    return _document(HttpRequest("GET", path, params={**_version(api_version), **query}), login, retries)


def post_document(path: str, api_version: str, body: dict[str, Any], login: SignIn, retries: RetryPolicy) -> dict[str, Any]:
    """Response of an action that no management client has a method for."""
    return _document(HttpRequest("POST", path, params=_version(api_version), json=body), login, retries)


def _document(request: HttpRequest, login: SignIn, retries: RetryPolicy) -> dict[str, Any]:
    with arm_client(login, retries) as client:
        request.url = client.format_url(request.url)
        answer = client.send_request(request)
        answer.raise_for_status()
        return answer.json()


def _version(api_version: str) -> dict[str, str]:
    return {"api-version": api_version} if api_version else {}


class Arm:
    """Reads and changes resources by id. Retries as azure-core does."""

    errors = UNREADABLE

    def __init__(self, connection: Connection) -> None:
        try:
            self.login = sign_in(connection)
        except (requests.ConnectionError, requests.Timeout) as error:
            raise AzureError(_silent(connection.metadata_host)) from error
        self.subscription_id = connection.subscription_id
        self._client = arm_client(self.login, RetryPolicy())

    def get(self, resource_id: str, api_version: str, **query: str) -> dict[str, Any] | None:
        """The resource or sub-resource at `resource_id`, None on 404. AzureError for other errors."""
        answer = self._send(self._request("GET", resource_id, api_version, query), (200, 404))
        return None if answer.status_code == 404 else answer.json()

    def post(self, path: str, api_version: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Response of an action; {} if empty. AzureError on refusal."""
        answer = self._send(self._request("POST", path, api_version, body=body), (200, 201, 202, 204))
        return answer.json() if answer.text() else {}

    def put(self, resource_id: str, api_version: str, body: dict[str, Any]) -> dict[str, Any]:
        """Creates or updates a resource without waiting; returns ARM's response. AzureError on refusal."""
        answer = self._send(self._request("PUT", resource_id, api_version, body=body), (200, 201, 202))
        return answer.json() if answer.text() else {}

    def delete(self, resource_id: str, api_version: str) -> None:
        """Deletes a resource without waiting; a missing one is fine. AzureError on refusal."""
        self._send(self._request("DELETE", resource_id, api_version), (200, 202, 204, 404))

    def values(self, path: str, api_version: str, **query: str) -> Iterator[dict[str, Any]]:
        """All pages of a list; empty on 404. AzureError on refusal."""
        request = self._request("GET", path, api_version, query)
        while True:
            answer = self._send(request, (200, 404))
            page = answer.json() if answer.status_code == 200 else {}
            yield from page.get("value") or []
            if not page.get("nextLink"):
                return
            request = HttpRequest("GET", page["nextLink"])

    def _request(
        self, method: str, path: str, api_version: str, query: Mapping[str, str] = {}, body: dict[str, Any] | None = None
    ) -> HttpRequest:
        return HttpRequest(method, self._client.format_url(path), params={"api-version": api_version, **query}, json=body)

    def _send(self, request: HttpRequest, good: Collection[int]) -> HttpResponse:
        answer: HttpResponse = self._client.send_request(request)
        if answer.status_code not in good:
            raise AzureError(_reason(answer), answer.status_code)
        return answer

    def upload(self, url: str, content: bytes, seconds: float) -> None:
        """Puts a block blob to a URL with a signature. AzureError on refusal."""
        answer = requests.put(url, data=content, headers={"x-ms-blob-type": "BlockBlob"}, timeout=seconds)
        if answer.status_code not in (200, 201):  # not the URL, which contains a signature
            raise AzureError(f"the registry's storage rejected the upload: HTTP {answer.status_code}", answer.status_code)

    def text(self, url: str) -> str:
        """What a URL with a signature has."""
        answer = requests.get(url, timeout=_TEXT_SECONDS)
        answer.raise_for_status()
        return answer.content.decode("utf-8", errors="replace")

    def close(self) -> None:
        self._client.close()


def _policies(login: SignIn, retries: RetryPolicy) -> list[Any]:
    return [
        RequestIdPolicy(),  # polling a long operation repeats the first request's id
        HeadersPolicy(),
        UserAgentPolicy(_USER_AGENT),
        RedirectPolicy(),
        retries,
        ARMChallengeAuthenticationPolicy(login.credential, login.scope),
    ]


def _endpoints(metadata_host: str) -> tuple[str, str, str, str]:
    """ARM's endpoint, the authority, and the token audiences of ARM and Batch."""
    if not metadata_host:
        return PUBLIC_ARM, "https://login.microsoftonline.com", PUBLIC_ARM, PUBLIC_BATCH
    base = metadata_host if "://" in metadata_host else f"https://{metadata_host}"
    answer = session().get(
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


def _credential(connection: Connection, authority: str, secret: str) -> TokenCredential:
    from azure.identity import ClientSecretCredential, DefaultAzureCredential  # a tenth of what `--help` of a verb takes

    if connection.client_id and secret:
        return ClientSecretCredential(
            connection.tenant_id,
            connection.client_id,
            secret,
            authority=authority,
            disable_instance_discovery=connection.disable_instance_discovery,
            transport=transport(),
        )
    logging.getLogger("azure.identity").addHandler(logging.NullHandler())  # what it warns of is in the error, too
    return DefaultAzureCredential(authority=authority)


def _reason(answer: HttpResponse) -> str:
    try:
        error = answer.json()["error"]
        return f"{error['code']}: {error['message']}"
    except (ValueError, KeyError, TypeError):
        return f"HTTP {answer.status_code}: {answer.text()[:500]}"
