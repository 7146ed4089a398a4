"""A plain client of Azure Resource Manager: requests, retries, long operations. It knows no resource types and nothing of Pulumi.

Built on azure-core's pipeline, as Microsoft's own management libraries are: sign-in with azure-identity, retries after 429 with
`Retry-After`, polling by `Azure-AsyncOperation` and `Location`. Trusts the authorities of REQUESTS_CA_BUNDLE or SSL_CERT_FILE.
Bodies are never logged: they may hold secrets.
"""

import os
import ssl
import threading
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import certifi
import requests
import requests.adapters
from azure.core.credentials import AccessToken
from azure.core.exceptions import AzureError as ClientError, ClientAuthenticationError, HttpResponseError, ServiceResponseError
from azure.core.pipeline import PipelineRequest, PipelineResponse
from azure.core.pipeline.policies import HeadersPolicy, HTTPPolicy, RequestIdPolicy, RetryPolicy, UserAgentPolicy
from azure.core.pipeline.transport import RequestsTransport
from azure.core.rest import HttpRequest, HttpResponse
from azure.identity import ClientSecretCredential
from azure.mgmt.core import ARMPipelineClient
from azure.mgmt.core.policies import ARMChallengeAuthenticationPolicy
from azure.mgmt.core.polling.arm_polling import ARMPolling

from localazure.plugin.errors import AcceptedError, AzureError, LostError, azure_error
from localazure.plugin.settings import Settings, is_true

METADATA_API_VERSION = "2022-09-01"
POLLING_INTERVAL_S = 1.0  # where the service doesn't say
_CONNECTIONS = 32  # as many as the plugin has workers
_CONNECT_TIMEOUT_S = 30
_READ_TIMEOUT_S = 120
_USER_AGENT = "azure-gpu-localazure"
_LOST = "lost_answers"
_CREATED = 201
_STATUSES = "Azure-AsyncOperation"

Json = dict[str, Any]


class ArmClient:
    """One signed-in client. Threads share it. Nothing is sent before the first request.

    All waiting ends when `stopping` is set.
    """

    def __init__(
        self,
        settings: Settings,
        stopping: threading.Event | None = None,
        session: Callable[[], requests.Session] | None = None,
    ) -> None:
        self._settings = settings
        self._stopping = stopping or threading.Event()
        self._session = session or _session
        self._opening = threading.Lock()

    def get(self, path: str, api_version: str) -> Json | None:
        """The resource at `path`, or None where it doesn't exist."""
        response = self._send("GET", path, api_version).http_response
        return None if response.status_code == 404 else self._content(response)

    def post(self, path: str, api_version: str, query: Mapping[str, str] | None = None) -> Json:
        return self._content(self._send("POST", path, api_version, query=query).http_response)

    def put(self, path: str, api_version: str, body: Mapping[str, Any], timeout_s: float) -> Json:
        """Creates or replaces, and waits until the service is done.

        AzureError: refused. AcceptedError: accepted and failed, or not settled, of which LostError is one.
        """
        lost: list[bool] = []
        try:
            response = self._send("PUT", path, api_version, json=dict(body), lost=lost)
            self._content(response.http_response)
        except AzureError as error:
            if lost:
                raise LostError(
                    f"the connection to Azure was lost after the request was sent, before it was answered; {error}"
                ) from error
            raise
        return self._finished(response, timeout_s) or {}

    def delete(self, path: str, api_version: str, timeout_s: float) -> None:
        """Deletes, and waits until the resource is gone. What doesn't exist is gone."""
        response = self._send("DELETE", path, api_version)
        if response.http_response.status_code != 404:
            self._content(response.http_response)
            self._finished(response, timeout_s)

    def token(self) -> str:
        """An access token for ARM, as sent with each request."""
        return self._credential.get_token(self._scope).token

    def _send(
        self,
        method: str,
        path: str,
        api_version: str,
        *,
        json: Any = None,
        query: Mapping[str, str] | None = None,
        lost: list[bool] | None = None,
    ) -> PipelineResponse[Any, Any]:
        """Sends one request, and again where that may help, and returns the answer whatever its status is. `lost` is told of an
        answer that got lost on the way."""
        options: dict[str, Any] = {} if lost is None else {_LOST: lost}
        try:
            parameters = {"api-version": api_version, **(query or {})}
            request = HttpRequest(method, self._client.format_url(path), params=parameters, json=json)
            # Microsoft's pollers take the answer in this form, and get it by the same option.
            return self._client.send_request(request, _return_pipeline_response=True, **options)
        except ClientAuthenticationError as error:
            raise AzureError(401, "AuthenticationFailed", f"signing in to the embedded Azure failed: {error.message}") from error
        except HttpResponseError as error:
            raise azure_error(error.status_code or 0, None, error.message) from error
        except ClientError as error:
            raise AzureError(
                0, "ConnectionFailed", f"{self._settings['metadataHost']} doesn't answer: {_reason(error)}"
            ) from error

    def _content(self, response: HttpResponse) -> Json:
        if response.status_code >= 400:
            raise azure_error(response.status_code, _json(response), response.reason)
        return _json(response) or {}

    def _finished(self, response: PipelineResponse[Any, Any], timeout_s: float) -> Json | None:
        polling = _Polling(POLLING_INTERVAL_S, self._stopping, timeout_s)
        if response.http_response.status_code == _CREATED and _STATUSES not in response.http_response.headers:
            response.http_response.headers.pop("Location", None)  # says where the resource is, and nothing is under way
        try:
            polling.initialize(self._client, response, lambda final: _json(final.http_response))
            polling.run()
            return polling.resource()
        except HttpResponseError as error:
            body = _json(cast(HttpResponse, error.response)) if error.response is not None else None
            raise AcceptedError(str(azure_error(error.status_code or 0, body, error.message))) from error
        except ClientError as error:
            raise LostError(f"the connection to Azure was lost while it was working: {_reason(error)}") from error

    @cached_property
    def _client(self) -> ARMPipelineClient:
        with self._opening:
            return self.__dict__.get("_client") or self._open()

    def _open(self) -> ARMPipelineClient:
        metadata = self._metadata
        return ARMPipelineClient(
            base_url=metadata["resourceManager"].rstrip("/"),
            policies=[
                RequestIdPolicy(),
                HeadersPolicy({"Accept": "application/json"}),
                UserAgentPolicy(_USER_AGENT),
                RetryPolicy(),
                ARMChallengeAuthenticationPolicy(self._credential, self._scope),
                _LostAnswers(),
            ],
            transport=self._transport(),
        )

    def _transport(self) -> "_Transport":
        return _Transport(self._session(), self._stopping)

    @cached_property
    def _metadata(self) -> Json:
        """Where this cloud is: its ARM endpoint, its login endpoint and the audience of its tokens."""
        host = self._settings["metadataHost"]
        url = host if "://" in host else f"https://{host}"
        address = f"{url.rstrip('/')}/metadata/endpoints"
        try:
            parameters = {"api-version": METADATA_API_VERSION}
            with self._session() as session:
                response = session.get(address, params=parameters, timeout=_CONNECT_TIMEOUT_S, verify=_authorities())
            response.raise_for_status()
            return response.json()
        except (requests.RequestException, ValueError) as error:
            raise AzureError(0, "ConnectionFailed", f"{address} doesn't answer with metadata: {_reason(error)}") from error

    @cached_property
    def _scope(self) -> str:
        return f"{self._metadata['authentication']['audiences'][0].rstrip('/')}/.default"

    @cached_property
    def _credential(self) -> "_Credential":
        return _Credential(
            self._settings["tenantId"],
            self._settings["clientId"],
            self._settings["clientSecret"],
            authority=self._metadata["authentication"]["loginEndpoint"].rstrip("/"),
            disable_instance_discovery=is_true(self._settings["disableInstanceDiscovery"]),
            transport=self._transport(),
        )


class _Credential(ClientSecretCredential):
    """The first of many threads signs in, the others find its token in the cache."""

    def __init__(self, *given: str, **options: Any) -> None:
        super().__init__(*given, **options)
        self._signing_in = threading.Lock()

    def get_token(self, *scopes: str, **options: Any) -> "AccessToken":
        with self._signing_in:
            return super().get_token(*scopes, **options)


class _LostAnswers(HTTPPolicy[Any, Any]):
    """Remembers that a request was sent and not answered, also where a retry was."""

    def send(self, request: PipelineRequest[Any]) -> PipelineResponse[Any, Any]:
        found = request.context.options.pop(_LOST, None)
        if found is not None:
            request.context[_LOST] = found
        try:
            return self.next.send(request)
        except ServiceResponseError:
            request.context.get(_LOST, []).append(True)
            raise


class _Polling(ARMPolling):
    """Polling that ends when the plugin is told to stop, and after the resource's own timeout."""

    def __init__(self, interval_s: float, stopping: threading.Event, timeout_s: float) -> None:
        super().__init__(interval_s)
        self._stopping = stopping
        self._left_s = timeout_s

    def _sleep(self, delay: float) -> None:
        self._left_s -= delay
        if self._left_s < 0:
            raise AcceptedError("Azure didn't finish within the resource's timeout")
        if self._stopping.wait(delay):
            raise AcceptedError("stopped while Azure was still working; run the same command again to go on")


class _Transport(RequestsTransport):
    """A pause between two attempts ends when the plugin is told to stop."""

    def __init__(self, session: requests.Session, stopping: threading.Event) -> None:
        super().__init__(
            session=session,
            session_owner=True,
            connection_timeout=_CONNECT_TIMEOUT_S,
            read_timeout=_READ_TIMEOUT_S,
            connection_verify=_authorities(),
        )
        self._stopping = stopping

    def sleep(self, duration: float) -> None:
        self._stopping.wait(duration)


class _TrustingOnce(requests.adapters.HTTPAdapter):
    """Reads the certificates of the authorities once; requests has each connection read them again."""

    def __init__(self) -> None:
        self._trust = _trust()
        super().__init__(pool_maxsize=_CONNECTIONS)

    def init_poolmanager(self, *args: Any, **pool_options: Any) -> None:
        super().init_poolmanager(*args, **pool_options, ssl_context=self._trust)

    def build_connection_pool_key_attributes(self, *args: Any, **options: Any) -> Any:
        """Where to, and how: without the file that every connection would read."""
        host, _ = super().build_connection_pool_key_attributes(*args, **options)
        return host, {"cert_reqs": "CERT_REQUIRED"}

    # pyrefly: ignore[bad-override]
    def cert_verify(self, *_: Any) -> None:
        """What `ssl_context` does."""


def _session() -> requests.Session:
    session = requests.Session()
    session.mount("https://", _TrustingOnce())
    return session


def _trust() -> ssl.SSLContext:
    authorities = _authorities()
    path = Path(authorities if isinstance(authorities, str) else certifi.where())
    return ssl.create_default_context(capath=path) if path.is_dir() else ssl.create_default_context(cafile=path)


def _authorities() -> str | bool:
    """The file of trusted authorities; True where the environment names none."""
    return os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("SSL_CERT_FILE") or True


def _reason(error: Exception) -> str:
    """Why a connection failed, in words that help; the libraries' own text where there are none."""
    text = str(error)
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return "its certificate isn't trusted; SSL_CERT_FILE and REQUESTS_CA_BUNDLE take a file with its authority"
    if "Connection refused" in text:
        return "nothing listens there; is the embedded Azure running?"
    return text


def _json(response: HttpResponse) -> Any:
    try:
        return response.json()
    except ValueError:
        return None
