"""The path `/blob/<account>/…`: reads each request strictly, validates it, and passes it on to the process that keeps the blobs.

Bodies stream through in both directions. Order of the checks: what the address names, which operation it is, who asks.
"""

import logging
import re
import uuid
from collections.abc import AsyncIterator, Mapping

from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Scope, Send

from localazure.arm.store import Resource
from localazure.blobs import containers, upstream
from localazure.blobs.access import Access, Incoming
from localazure.blobs.addresses import of_path, query_of
from localazure.blobs.errors import BlobError, blob_error, not_implemented
from localazure.blobs.hosts import SIGNED_PATH
from localazure.blobs.operations import Operation, operation_of, passed_on
from localazure.blobs.upstream import Upstream
from localazure.services import Services

log = logging.getLogger(__name__)
_VERSION = re.compile(r"20\d\d-\d\d-\d\d")
_WITH_BODY = ("PUT", "POST")
_COPY_SOURCE = "x-ms-copy-source"  # also of a block, an append or a page


class Front:
    """The ASGI application of the path."""

    def __init__(self, services: Services, access: Access, keeper: Upstream) -> None:
        self._services = services
        self._access = access
        self._keeper = keeper

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
            return
        request = Request(scope, receive, send)
        begun = _Begun(send)
        try:
            await self._serve(request, begun)
        except ClientDisconnect:
            return
        except Exception as error:
            if begun.yes:
                raise  # the connection is closed: the client sees that the body isn't whole
            if not isinstance(error, BlobError):
                log.exception("blob storage: %s failed", request.method)
            refusal = error if isinstance(error, BlobError) else blob_error("InternalError")
            answer = refusal.response(request.method, str(uuid.uuid4()), self._services.clock.now())
            await answer(scope, receive, send)

    async def _serve(self, request: Request, send: "_Begun") -> None:
        incoming = _incoming(request)
        operation = operation_of(incoming.address.level, incoming.method, incoming.query)
        if _COPY_SOURCE in incoming.headers:
            raise not_implemented("copies")
        grant = self._access.grant(incoming, operation)
        account = self._access.account(incoming.address.account)
        _check_public_access(operation, account, incoming.headers)
        headers = upstream.passed_on(incoming.headers)
        content = _content(request, headers)
        if grant.new_blobs_alone:
            headers["if-none-match"] = "*"
        query = passed_on(incoming.query)
        async with self._keeper.answer(incoming.method, incoming.address, query, headers, content) as response:
            if grant.new_blobs_alone and response.status == 409:
                raise blob_error("UnauthorizedBlobOverwrite")
            upstream.check_answer(response, operation.name)
            if response.status < 300:
                containers.after(operation.name, account, incoming.address.container, incoming.headers, self._services)
            own = {**grant.answer_headers, "x-ms-version": incoming.version or upstream.VERSION}
            if operation.name == "GetAccountInformation":
                own |= {"x-ms-sku-name": account.body["sku"]["name"], "x-ms-account-kind": account.body["kind"]}
            answered = upstream.answered(response, own)
            await send({"type": "http.response.start", "status": response.status, "headers": answered})
            if incoming.method != "HEAD":
                async for chunk in response.aiter_stream():
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b""})


class _Begun:
    """`send` that remembers whether an answer has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.yes = False

    async def __call__(self, message: Mapping[str, object]) -> None:
        self.yes = True
        await self._send(dict(message))


def _incoming(request: Request) -> Incoming:
    raw_path = request.scope["raw_path"].decode("latin-1")
    raw_query = request.scope["query_string"].decode("latin-1")
    headers: dict[str, str] = {}
    for name, value in request.scope["headers"]:
        key = name.decode("latin-1").lower()
        if key in headers and (key in upstream.PASSED or key == "authorization" or key.startswith("x-ms-")):
            raise blob_error("InvalidHeaderValue", name=f"{key} stands there twice")
        headers.setdefault(key, value.decode("latin-1"))
    client = request.client.host if request.client else ""
    signed_path = request.scope.get(SIGNED_PATH, raw_path)
    version = headers.get("x-ms-version", "")
    if version and not _VERSION.fullmatch(version):
        raise blob_error("InvalidHeaderValue", name="x-ms-version")
    address, query = of_path(raw_path), query_of(raw_query)
    return Incoming(request.method, signed_path, raw_query, headers, address, query, client, version)


def _content(request: Request, headers: dict[str, str]) -> AsyncIterator[bytes] | None:
    """The request's body as a stream. BlobError 411 where its length isn't told."""
    if request.method not in _WITH_BODY:
        headers.pop("content-length", None)  # no operation reads the body of such a request
        return None
    if not headers.get("content-length", "").isdecimal():
        raise blob_error("MissingContentLengthHeader")
    return request.stream()


def _check_public_access(operation: Operation, account: Resource, headers: Mapping[str, str]) -> None:
    """A container can be opened to everybody where its account allows it alone."""
    opens = operation.name in ("CreateContainer", "SetContainerACL") and "x-ms-blob-public-access" in headers
    if opens and account.properties.get("allowBlobPublicAccess") is not True:
        raise blob_error("PublicAccessNotPermitted")
