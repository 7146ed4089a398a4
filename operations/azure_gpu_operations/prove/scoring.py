"""Sends images to an endpoint, authorized by its method, and says why a request failed.

Requests aren't retried, and redirects aren't followed: they would send the key elsewhere.

Source of the statuses: MicrosoftDocs/azure-ai-docs, machine-learning/how-to-troubleshoot-online-endpoints.md, 2024-09-18, HTTP
status codes. An error of the scoring script reaches the client of a managed endpoint as 424, with its status in a header.
"""

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import requests
from azure.core.exceptions import AzureError as AzureCoreError
from requests.auth import AuthBase

from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.azure import Arm, AzureError
from azure_gpu_operations.machine_learning.endpoints import API_VERSION, Endpoint

ENTRA_SCOPE = "https://ml.azure.com/.default"  # of Entra tokens for managed and Kubernetes endpoints
KEYS_ROLE = "AzureML Data Scientist"  # built-in: lists keys, and scores
MODEL_STATUS = "ms-azureml-model-error-statuscode"
_STATUS = re.compile(r"[1-5][0-9][0-9]")

Bearer = Callable[[], str]


class Sent(NamedTuple):
    """One request and its answer. `status` 0: no answer, for the reason in `failure`."""

    status: int
    seconds: float  # until the last byte
    body: bytes = b""
    headers: Mapping[str, str] = {}  # names in lower case
    failure: str = ""

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300


class Refusal(NamedTuple):
    """Why a request failed, and the likely fix."""

    what: str
    fix: str


def bearer_of(arm: Arm, endpoint: Endpoint) -> Bearer:
    """AzureError if this login may not read the key or the token."""
    if endpoint.auth_mode == "AADToken":
        return lambda: arm.login.credential.get_token(ENTRA_SCOPE).token
    action, name = ("token", "accessToken") if endpoint.auth_mode == "AMLToken" else ("listKeys", "primaryKey")
    key = _fetched(arm, endpoint, action, name)
    return lambda: key


def _fetched(arm: Arm, endpoint: Endpoint, action: str, name: str) -> str:
    try:
        answer = arm.post(f"{endpoint.id}/{action}", API_VERSION)
    except AzureError as error:
        if error.status != 403:
            raise
        secret = "key" if action == "listKeys" else "token"
        raise AzureError(
            f"this login may not read the endpoint's {secret}; it needs the role {KEYS_ROLE} on the workspace; or set `auth: "
            f"entra` of the endpoint, which needs no key ({error})",
            403,
        ) from error
    found = answer.get(name)
    if not found:
        raise AzureError(f"Azure answered {action} of the endpoint {endpoint.name} without {name}")
    return str(found)


def send(uri: str, bearer: Bearer, images: Sequence[bytes], limit_seconds: float) -> list[Sent]:
    """Sends each image (PNG), one after another, by one connection."""
    with requests.Session() as session:
        return [_one(session, uri, bearer, image, limit_seconds) for image in images]


def _one(session: requests.Session, uri: str, bearer: Bearer, image: bytes, limit_seconds: float) -> Sent:
    began = time.perf_counter()
    try:
        headers = {"Content-Type": "image/png", "Accept": "application/json", "Authorization": f"Bearer {bearer()}"}
        began = time.perf_counter()
        answer = session.post(uri, data=image, headers=headers, timeout=limit_seconds, allow_redirects=False, auth=_As())
    except requests.RequestException as error:
        return Sent(0, time.perf_counter() - began, failure=_silence(error, uri, limit_seconds))
    except AzureCoreError as error:
        return Sent(0, 0.0, failure=f"no token to authorize it: {_innermost(error)}")
    seconds = time.perf_counter() - began
    return Sent(answer.status_code, seconds, answer.content, {name.lower(): value for name, value in answer.headers.items()})


class _As(AuthBase):
    """Keeps the headers as they are: requests would replace the key by credentials from a netrc file."""

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        return request


def _silence(error: requests.RequestException, uri: str, limit_seconds: float) -> str:
    """Why there was no answer, in one line; the library's message repeats the URL and more."""
    host = uri.split("/")[2] if uri.count("/") >= 2 else uri
    if isinstance(error, requests.exceptions.SSLError):
        return f"the certificate of {host} isn't trusted here: {_innermost(error)}"
    if isinstance(error, requests.ConnectTimeout):
        return f"{host} doesn't accept connections"
    if isinstance(error, requests.Timeout):
        return f"no answer within {limit_seconds:g} s"
    return f"{host} can't be reached: {_innermost(error)}"


def _innermost(error: BaseException) -> str:
    inner: BaseException = error
    while True:
        deeper = inner.__cause__ or inner.__context__ or getattr(inner, "reason", None)
        if not isinstance(deeper, BaseException) or deeper is inner:
            return str(inner).splitlines()[0][:200] if str(inner) else type(inner).__name__
        inner = deeper


def best(answer: bytes) -> str:
    """The index of the highest score in an answer of workloads/scoring; "" if it has none."""
    try:
        (row,) = json.loads(answer)["scores"]
        return str(row.index(max(row)))
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return ""


_LOGS = f"`{COMMAND} explain ENDPOINT --stack STACK` reads the deployment's log"
# Statuses of the endpoint: what they mean, and the likely fix.
_ENDPOINT = {
    401: (
        "it rejects this key or token",
        f"assign yourself the role {KEYS_ROLE} on the endpoint or its workspace, which takes some minutes to work",
    ),
    403: (
        "access is denied from here",
        "assign the identity a role that allows scoring",
    ),
    404: (
        "no deployment takes this request: none has traffic, or the URL is wrong",
        f"give a deployment traffic in the stack's file; if the endpoint is stopped, `{COMMAND} start ENDPOINT --stack STACK`",
    ),
    408: (
        "the deployment took longer than its request timeout",
        "raise `requests: {timeout_seconds: …}` of the deployment (default: 5 s)",
    ),
    424: ("the deployment's server rejected the request or failed", _LOGS),
    429: (
        "more requests are waiting than its instances accept",
        "give the deployment more `instances` or an `autoscale`, or more `requests: {concurrent: …}`",
    ),
    500: ("the server failed", _LOGS),
    502: ("the deployment's server broke the connection while answering", _LOGS),
    503: ("no instance of the deployment is ready", f"wait until one is ready, or give it more `instances`; {_LOGS}"),
    504: ("the deployment didn't answer in time", "give it more `instances`"),
}
# Statuses of the scoring script, passed on by the endpoint.
_MODEL = {
    500: ("the scoring script raised an exception", _LOGS),
    503: ("the scoring server accepts no more requests at the moment", "give it more `instances`"),
}


def refusal(sent: Sent, endpoint: str, stack: str) -> Refusal:
    """Why a request failed. `endpoint` and `stack`: inserted into the commands of fixes."""
    if not sent.status:
        return Refusal(sent.failure, "check the URL, and firewalls and proxies on the way")
    model = sent.headers.get(MODEL_STATUS, "")
    what, fix = _ENDPOINT.get(sent.status, (f"it answers {sent.status}", _LOGS))
    if sent.status == 424 and _STATUS.fullmatch(model):
        what, fix = _MODEL.get(int(model), (f"the scoring script answered {model}", _LOGS))
    return Refusal(what, fix.replace("ENDPOINT", endpoint).replace("STACK", stack))
