"""Sends inputs to an endpoint, some at a time, and takes the time of each.

In: where to, what, how often, by how many clients. Out: `Sent`, one a request. Each client is a thread with a connection of its
own, which it keeps; nothing is ever sent twice, and no redirection is followed: it would carry the key elsewhere.
"""

import re
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from queue import SimpleQueue
from typing import NamedTuple

import requests
from azure.core.exceptions import AzureError
from requests.auth import AuthBase
from urllib3.exceptions import HTTPError

from azure_gpu.catalog.services.machine_learning.traffic import DEPLOYMENT_HEADER
from azure_gpu_operations.query.inputs import Input
from azure_gpu_operations.query.signing import Signature

SERVER_HEADER = "Server-Timing"
RUN_HEADER = "x-ms-run-fn-exec-ms"  # the inference server's own: milliseconds in the script's run(), the body's arrival included
KEPT = frozenset({"content-type", "retry-after", "ms-azureml-model-error-statuscode", "ms-azureml-model-error-reason"})
CONNECT_SECONDS = 10.0
LARGEST_ANSWER = 64 * 1024 * 1024  # bytes
_READ = 64 * 1024
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_METRIC = re.compile(r"\s*([^;,\s]+)[^,]*?;\s*dur=([0-9.]+)")


class Sent(NamedTuple):
    """One request and its answer. `status` 0: none came, and `failure` says why."""

    input: int  # which
    status: int
    seconds: float  # until the last byte was here
    body: bytes = b""
    headers: Mapping[str, str] = {}  # of `KEPT`, names in lower case
    server_seconds: float | None = None  # of them, in the scoring server; None: it doesn't say
    deployment: str = ""  # that answered; "" where nobody says
    opened: bool = False  # the connection was opened for it
    failure: str = ""

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300

    @property
    def network_seconds(self) -> float | None:
        """What isn't the server's: the way there and back, and whatever stands between."""
        return None if self.server_seconds is None else max(0.0, self.seconds - self.server_seconds)


class Place(NamedTuple):
    """Where requests go."""

    uri: str
    signature: Signature | None = None
    deployment: str = ""  # "": by the endpoint's traffic


def send(
    place: Place, inputs: Sequence[Input], count: int, clients: int, limit_seconds: float, stop: threading.Event
) -> Generator[Sent]:
    """Each input `count` times, in turns, as the answers come. Ends early once `stop` is set, or when it is closed."""
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
                    one = _one(session, place, inputs, index, limit_seconds)._replace(opened=opened)
                    opened = not one.status
                    # Of each input the first answer of each status is shown: a long run mustn't hold them all.
                    with lock:
                        again = (index, one.status) in kept
                        kept.add((index, one.status))
                    answers.put(one._replace(body=b"") if again else one)
        finally:
            answers.put(None)

    going = max(1, min(clients, count * len(inputs)))
    for _ in range(going):
        threading.Thread(target=client, daemon=True).start()  # nobody waits for those that are broken off
    try:
        while going:
            one = answers.get()
            if one is None:
                going -= 1
            else:
                yield one
    finally:
        stop.set()


def _one(session: requests.Session, place: Place, inputs: Sequence[Input], index: int, limit_seconds: float) -> Sent:
    one = inputs[index]
    headers = {"Content-Type": one.content_type, "Accept": "application/json", "Accept-Encoding": "identity"}
    if place.deployment:
        headers[DEPLOYMENT_HEADER] = place.deployment
    began = time.perf_counter()
    try:
        if place.signature is not None:
            headers |= place.signature.headers()
            began = time.perf_counter()
        with session.post(
            place.uri,
            data=one.body,
            headers=headers,
            timeout=(min(CONNECT_SECONDS, limit_seconds), limit_seconds),
            allow_redirects=False,
            stream=True,
            auth=_As(),
        ) as answer:
            body = _body(answer, began + limit_seconds)
    except requests.RequestException as error:
        return Sent(index, 0, time.perf_counter() - began, failure=_silence(error, place.uri, limit_seconds))
    except HTTPError as error:  # while the body is read
        return Sent(index, 0, time.perf_counter() - began, failure=f"the connection broke: {type(error).__name__}")
    except ValueError as error:  # what no library has a name for; its words may hold what was to be sent
        return Sent(index, 0, 0.0, failure=f"it can't be sent: {type(error).__name__}")
    except AzureError as error:
        return Sent(index, 0, 0.0, failure=f"no token to sign it with: {_innermost(error)}")
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
    """All of it, in the time that a request has: the libraries' limit is one of each read, which a byte now and then passes."""
    parts: list[bytes] = []
    size = 0
    while size < LARGEST_ANSWER and (part := answer.raw.read1(_READ)):
        parts.append(part)
        size += len(part)
        if time.perf_counter() > until:
            raise requests.ReadTimeout
    return b"".join(parts)[:LARGEST_ANSWER]


class _As(AuthBase):
    """Sends the headers as they are: without it a netrc file of the user's would take the key's place."""

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        return request


def server_seconds(header: str, run: str = "") -> float | None:
    """What `Server-Timing` says (W3C): its metric `total`, else what the inference server measured, else the sum of the metrics.

    None where nobody says anything.
    """
    found = {name: float(text) for name, text in _METRIC.findall(header) if _NUMBER.fullmatch(text)}
    if "total" not in found and _NUMBER.fullmatch(run.strip()):
        found = {"total": float(run)}
    if not found:
        return None
    return found.get("total", sum(found.values())) / 1000


def _silence(error: requests.RequestException, uri: str, limit_seconds: float) -> str:
    """Why no answer came, in a line. The library's own words repeat the whole address and more."""
    host = uri.split("/")[2] if uri.count("/") >= 2 else uri
    if isinstance(error, requests.exceptions.SSLError):
        return f"the certificate of {host} isn't trusted here: {_innermost(error)}"
    if isinstance(error, requests.ConnectTimeout):
        return f"{host} doesn't take connections"
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
