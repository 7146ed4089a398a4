"""Sends inputs to an endpoint, several at a time, authorized by its method, and measures the latency of each.

Each client is a thread with a connection that it keeps. Requests aren't retried, and redirects aren't followed: they would send
the key elsewhere.
"""

import re
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from queue import SimpleQueue
from typing import NamedTuple

import requests
from azure.core.exceptions import AzureError as AzureCoreError
from requests.auth import AuthBase
from urllib3.exceptions import HTTPError

from azure_gpu.catalog.services.machine_learning.deployments import DEPLOYMENT_HEADER
from azure_gpu_operations.azure import Arm, AzureError
from azure_gpu_operations.machine_learning.endpoints import API_VERSION, Endpoint
from azure_gpu_operations.query.inputs import Input

ENTRA_SCOPE = "https://ml.azure.com/.default"  # of Entra tokens for managed and Kubernetes endpoints
KEYS_ROLE = "AzureML Data Scientist"  # built-in: lists keys, and scores


class Signature:
    """Authorizes requests. `what`: the kind of secret."""

    __slots__ = ("_bearer", "what")

    def __init__(self, bearer: Callable[[], str], what: str) -> None:
        self._bearer = bearer
        self.what = what

    def __repr__(self) -> str:
        return f"Signature({self.what})"

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._bearer()}"}


def signature_of_key(key: str, what: str) -> Signature:
    return Signature(lambda: key, what)


def signature_of_endpoint(arm: Arm, endpoint: Endpoint) -> Signature:
    """AzureError if this login may not read the key or the token."""
    if endpoint.auth_mode == "AADToken":
        return Signature(lambda: arm.login.credential.get_token(ENTRA_SCOPE).token, "a token of Entra")
    if endpoint.auth_mode == "AMLToken":
        return signature_of_key(_fetched(arm, endpoint, "token", "accessToken"), "a token of the endpoint")
    return signature_of_key(_fetched(arm, endpoint, "listKeys", "primaryKey"), "its key")


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


SERVER_HEADER = "Server-Timing"
RUN_HEADER = "x-ms-run-fn-exec-ms"  # of the inference server: milliseconds in the script's run(), including receiving the body
KEPT = frozenset({"content-type", "retry-after", "ms-azureml-model-error-statuscode", "ms-azureml-model-error-reason"})
CONNECT_SECONDS = 10.0
LARGEST_ANSWER = 64 * 1024 * 1024  # bytes
_READ = 64 * 1024
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_METRIC = re.compile(r"\s*([^;,\s]+)[^,]*?;\s*dur=([0-9.]+)")


class Sent(NamedTuple):
    """One request and its answer. `status` 0: no answer, for the reason in `failure`."""

    input: int  # index
    status: int
    seconds: float  # until the last byte
    body: bytes = b""
    headers: Mapping[str, str] = {}  # of `KEPT`, names in lower case
    server_seconds: float | None = None  # of these, in the scoring server; None: not reported
    deployment: str = ""  # that answered; "" if the response doesn't say
    opened: bool = False  # the connection was opened for it
    failure: str = ""

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300

    @property
    def network_seconds(self) -> float | None:
        """Seconds outside the server: the network, and proxies on the way."""
        return None if self.server_seconds is None else max(0.0, self.seconds - self.server_seconds)


class ScoringTarget(NamedTuple):
    """The URL that requests go to, and their authorization."""

    uri: str
    signature: Signature | None = None
    deployment: str = ""  # "": by the endpoint's traffic split


def send(
    target: ScoringTarget, inputs: Sequence[Input], count: int, clients: int, limit_seconds: float, stop: threading.Event
) -> Generator[Sent]:
    """Sends each input `count` times, in turns, and yields answers as they come. Ends early on `stop` or when closed."""
    order = iter([index for _ in range(count) for index in range(len(inputs))])
    lock = threading.Lock()
    answers: SimpleQueue[Sent | None] = SimpleQueue()  # None: one client has ended
    kept: set[tuple[int, int]] = set()

    def client() -> None:
        try:
            with requests.Session() as session:
                opened = True
                while not stop.is_set():
                    with lock:
                        index = next(order, None)
                    if index is None:
                        return
                    one = _one(session, target, inputs, index, limit_seconds)._replace(opened=opened)
                    opened = not one.status
                    # Only the first body per input and status is kept, to limit memory.
                    with lock:
                        again = (index, one.status) in kept
                        kept.add((index, one.status))
                    answers.put(one._replace(body=b"") if again else one)
        finally:
            answers.put(None)

    going = max(1, min(clients, count * len(inputs)))
    for _ in range(going):
        threading.Thread(target=client, daemon=True).start()  # aborted ones aren't waited for
    try:
        while going:
            one = answers.get()
            if one is None:
                going -= 1
            else:
                yield one
    finally:
        stop.set()


def _one(session: requests.Session, target: ScoringTarget, inputs: Sequence[Input], index: int, limit_seconds: float) -> Sent:
    one = inputs[index]
    headers = {"Content-Type": one.content_type, "Accept": "application/json", "Accept-Encoding": "identity"}
    if target.deployment:
        headers[DEPLOYMENT_HEADER] = target.deployment
    began = time.perf_counter()
    try:
        if target.signature is not None:
            headers |= target.signature.headers()
            began = time.perf_counter()
        with session.post(
            target.uri,
            data=one.body,
            headers=headers,
            timeout=(min(CONNECT_SECONDS, limit_seconds), limit_seconds),
            allow_redirects=False,
            stream=True,
            auth=_As(),
        ) as answer:
            body = _body(answer, began + limit_seconds)
    except requests.RequestException as error:
        return Sent(index, 0, time.perf_counter() - began, failure=_silence(error, target.uri, limit_seconds))
    except HTTPError as error:  # while the body is read
        return Sent(index, 0, time.perf_counter() - began, failure=f"the connection broke: {type(error).__name__}")
    except ValueError as error:  # from several libraries; its text may contain the request
        return Sent(index, 0, 0.0, failure=f"it can't be sent: {type(error).__name__}")
    except AzureCoreError as error:
        return Sent(index, 0, 0.0, failure=f"no token to authorize it: {_innermost(error)}")
    seconds = time.perf_counter() - began
    kept = {name.lower(): value for name, value in answer.headers.items() if name.lower() in KEPT}
    return Sent(
        index,
        answer.status_code,
        seconds,
        body,
        kept,
        server_seconds(answer.headers.get(SERVER_HEADER, ""), answer.headers.get(RUN_HEADER, "")),
        answer.headers.get(DEPLOYMENT_HEADER, ""),
    )


def _body(answer: requests.Response, until: float) -> bytes:
    """Reads the body within the request's timeout; the library's timeout applies only to each read."""
    parts: list[bytes] = []
    size = 0
    while size < LARGEST_ANSWER and (part := answer.raw.read1(_READ)):
        parts.append(part)
        size += len(part)
        if time.perf_counter() > until:
            raise requests.ReadTimeout
    return b"".join(parts)[:LARGEST_ANSWER]


class _As(AuthBase):
    """Keeps the headers as they are: requests would replace the key by credentials from a netrc file."""

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        return request


def server_seconds(header: str, run: str = "") -> float | None:
    """Server time from `Server-Timing` (W3C): its metric `total`, else the inference server's, else the sum of the metrics.

    None without any of them.
    """
    found = {name: float(text) for name, text in _METRIC.findall(header) if _NUMBER.fullmatch(text)}
    if "total" not in found and _NUMBER.fullmatch(run.strip()):
        found = {"total": float(run)}
    if not found:
        return None
    return found.get("total", sum(found.values())) / 1000


def _silence(error: requests.RequestException, uri: str, limit_seconds: float) -> str:
    """Why there was no answer, in one line; the library's message repeats the URL and more."""
    host = uri.split("/")[2] if uri.count("/") >= 2 else uri
    if isinstance(error, requests.exceptions.SSLError):
        return f"the certificate of {host} isn't trusted here: {_innermost(error)}"
    if isinstance(error, requests.ConnectTimeout):
        return f"{host} doesn't accept connections"
    if isinstance(error, requests.Timeout):
        return f"no answer within {limit_seconds:g} s"
    if isinstance(error, requests.ConnectionError):
        return f"{host} can't be reached: {_innermost(error)}"
    return f"{type(error).__name__}: {_innermost(error)}"


def _innermost(error: BaseException) -> str:
    inner: BaseException = error
    while True:
        deeper = inner.__cause__ or inner.__context__ or getattr(inner, "reason", None)
        if not isinstance(deeper, BaseException) or deeper is inner:
            return str(inner).splitlines()[0][:200] if str(inner) else type(inner).__name__
        inner = deeper
