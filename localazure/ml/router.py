"""The router in front of all online endpoints: `/ml/<region>/<endpoint>/…` to a container of one of its deployments.

A request is let in by the gate, read to its end, given to a deployment by traffic or by its name in `azureml-model-deployment`,
and to the instance that has least to do; it is given up where its client goes away. A request for which nobody listened goes to
another instance; one that was sent and lost isn't sent again. Mirrored copies go out beside it; nobody hears of their answers.
It is the outermost part of the server, so that a request passes nothing that is ARM's.
"""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple
from urllib.parse import quote

from starlette.types import ASGIApp, Receive, Scope, Send

from localazure import tables
from localazure.faults import ABORT, GONE
from localazure.ml.authentication import Gate
from localazure.ml.live import LiveEndpoint
from localazure.ml.scoring_errors import RefusedError
from localazure.ml.slots import AdmittedRequest, Instance, LiveDeployment
from localazure.ml.upstream import Answer, Headers, LostError, NobodyListensError
from localazure.waiting import canceled

PREFIX = "/ml/"
DEPLOYMENT = b"azureml-model-deployment"
SCORE = "/score"
_LOCAL = (b"x-local-azure", b"embedded")
# Those of one connection, and the key or token, which is for the endpoint and none of the container's business.
_ROWS = tables.rows(__file__, "kept_back_headers.tsv", header=True)
_NOT_PASSED_ON = frozenset(name.encode() for name, asked, _ in _ROWS if asked)
_NOT_ANSWERED = frozenset(name.encode() for name, _, answered in _ROWS if answered)
_REASON_BYTES = 200  # of `ms-azureml-model-error-reason`
_SAFE = "/:@!$&'()*+,;=~%"
MODEL_ERROR = 424
MOST_BYTES = 100 * 1024 * 1024  # of a body; the service publishes no limit

Find = Callable[[str, str], LiveEndpoint | None]  # by region and name


class ClientGoneError(Exception):
    """Nobody is left to answer."""


class Router:
    """An ASGI application around another one, which gets every other path."""

    def __init__(self, find: Find, gate: Gate) -> None:
        self._find = find
        self._gate = gate
        self._copies: set[asyncio.Task[None]] = set()

    def around(self, app: ASGIApp) -> ASGIApp:
        async def answering(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http" and scope["path"].startswith(PREFIX):
                await self.answer(scope, receive, send)
            else:
                await app(scope, receive, send)

        return answering

    async def close(self) -> None:
        await canceled(*self._copies)

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        request_id = str(uuid.uuid4()).encode()
        own: Headers = [(b"x-request-id", request_id), (b"x-ms-request-id", request_id), _LOCAL]
        try:
            await self._answer(scope, receive, send, own)
        except RefusedError as refusal:
            await _refuse(send, refusal, own)
        except ClientGoneError:
            return

    async def _answer(self, scope: Scope, receive: Receive, send: Send, own: Headers) -> None:
        endpoint, below = self._endpoint(scope["path"])
        given: dict[bytes, bytes] = dict(scope["headers"])
        self._gate.check(endpoint, given.get(b"authorization", b""))
        own += [(name, given[name]) for name in (b"x-ms-client-request-id",) if given.get(name)]
        body = await _whole(receive, given.get(b"content-length", b""))
        named = given.get(DEPLOYMENT, b"")
        deployment = _chosen(endpoint, named)
        passed = [pair for pair in scope["headers"] if pair[0] not in _NOT_PASSED_ON]
        request = _Request(scope["method"].encode(), below, scope["query_string"], [*passed, own[0]], body)
        shadow = None if named else endpoint.next_shadow()
        if shadow is not None:
            self._copy(shadow, request)
        own.append((DEPLOYMENT, deployment.name.encode()))
        async with _listened_to(scope):
            await self._scored(deployment, request, scope, send, own)

    async def _scored(self, deployment: LiveDeployment, request: "_Request", scope: Scope, send: Send, own: Headers) -> None:
        settings = deployment.settings
        deadline = asyncio.get_running_loop().time() + settings.timeout_seconds
        place = deployment.enter()
        try:
            async with asyncio.timeout_at(deadline):
                answer = await _asked(place, request, deadline)
            try:
                await _pass_on(answer, scope, send, own, deadline, kubernetes=settings.kubernetes)
            finally:
                answer.close()
        except LostError:
            raise RefusedError("ContainerLost", name=deployment.name) from None
        except TimeoutError:
            seconds = settings.timeout_seconds
            raise RefusedError("ScoreRequestTimeout", seconds=seconds, kubernetes=settings.kubernetes) from None
        finally:
            place.leave()

    def _endpoint(self, path: str) -> tuple[LiveEndpoint, str]:
        """The endpoint, and what of the path is the container's."""
        region, _, rest = path[len(PREFIX) :].partition("/")
        name, _, below = rest.partition("/")
        endpoint = self._find(region.lower(), name.lower())
        if endpoint is None:
            raise RefusedError("EndpointNotFound", name=name)
        return endpoint, f"/{below}"

    def _copy(self, shadow: LiveDeployment, request: "_Request") -> None:
        copy = asyncio.create_task(_copied(shadow, request))
        self._copies.add(copy)
        copy.add_done_callback(self._copies.discard)


class _Request(NamedTuple):
    """A request as any deployment may get it."""

    method: bytes
    path: str  # below the endpoint
    query: bytes
    headers: Headers
    body: bytes

    def target(self, instance: Instance) -> bytes:
        path = instance.scoring_path if self.path == SCORE else quote(self.path, safe=_SAFE).encode()
        return path + b"?" + self.query if self.query else path


async def _whole(receive: Receive, declared: bytes) -> bytes:
    """All of a body, so that a slow client keeps no container waiting. `declared`: the Content-Length, or b"".

    RefusedError where it is too large; ClientGoneError.
    """
    body, more = bytearray(), True
    too_large = declared.isdigit() and int(declared) > MOST_BYTES
    while more and not too_large:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        body += message.get("body", b"")
        too_large, more = len(body) > MOST_BYTES, message.get("more_body", False)
    if too_large:
        raise RefusedError("RequestTooLarge", limit=MOST_BYTES)
    return bytes(body)


def _chosen(endpoint: LiveEndpoint, named: bytes) -> LiveDeployment:
    if named:
        name = named.decode("latin-1")
        deployment = endpoint.named(name)
        if deployment is None:
            raise RefusedError("DeploymentNotFound", name=name, endpoint=endpoint.name)
        return deployment
    deployment = endpoint.next()
    if deployment is None:
        raise RefusedError("NoDeploymentWithTraffic", name=endpoint.name)
    return deployment


async def _asked(place: AdmittedRequest, request: _Request, deadline: float) -> Answer:
    """The head of the first answer: an instance where nobody listens is passed over."""
    while True:
        instance = await place.instance(deadline)
        try:
            return await instance.upstream.ask(request.method, request.target(instance), request.headers, request.body)
        except NobodyListensError:
            place.nobody_listens()


async def _pass_on(answer: Answer, scope: Scope, send: Send, own: Headers, deadline: float, *, kubernetes: bool) -> None:
    """The container's answer to the client. Broken off where the container breaks off, so that nobody takes a half for whole."""
    status, headers = _head(answer, kubernetes=kubernetes)
    whole = answer.whole
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *own]})
    if whole is not None:
        await send({"type": "http.response.body", "body": whole})
        return
    try:
        async with asyncio.timeout_at(deadline):
            async for chunk in answer.chunks():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    except (LostError, TimeoutError):
        if ABORT in scope:
            scope[ABORT]()


def _head(answer: Answer, *, kubernetes: bool) -> tuple[int, Headers]:
    """Status and headers: what isn't a success is told as the service tells it."""
    headers = [pair for pair in answer.headers if pair[0] not in _NOT_ANSWERED]
    status = answer.status
    if 200 <= status < 300:
        return status, headers
    if kubernetes:
        return (502 if status >= 500 else status), headers
    reason = (answer.reason or b"unknown")[:_REASON_BYTES]
    headers += [(b"ms-azureml-model-error-statuscode", str(status).encode()), (b"ms-azureml-model-error-reason", reason)]
    return MODEL_ERROR, headers


@contextlib.asynccontextmanager
async def _listened_to(scope: Scope) -> AsyncIterator[None]:
    """ClientGoneError where the client goes away meanwhile: a request that nobody waits for keeps nobody else waiting."""
    gone: list[Callable[[], None]] = scope.get(GONE, [])
    loop = asyncio.get_running_loop()
    leaving = asyncio.timeout(None)
    try:
        async with leaving:
            gone.append(lambda: leaving.reschedule(loop.time()))
            try:
                yield
            finally:
                gone.clear()
    except TimeoutError:
        if not leaving.expired():
            raise
        raise ClientGoneError from None


async def _copied(shadow: LiveDeployment, request: _Request) -> None:
    """A mirrored request: whatever comes of it, nobody is told."""
    deadline = asyncio.get_running_loop().time() + shadow.settings.timeout_seconds
    with contextlib.suppress(RefusedError, LostError, TimeoutError):
        place = shadow.enter()
        try:
            async with asyncio.timeout_at(deadline):
                await (await _asked(place, request, deadline)).drained()
        finally:
            place.leave()


async def _refuse(send: Send, refusal: RefusedError, own: Headers) -> None:
    body = refusal.body()
    length = str(len(body)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", length), *refusal.headers, *own]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
