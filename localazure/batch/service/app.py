"""The data plane as one ASGI application: checks caller, account and version, then runs the operation of the path.

Paths are below /batch/ACCOUNT; every answer is in the service's envelope.
"""

import asyncio
import importlib
import logging
import uuid
from collections.abc import Awaitable, Callable
from types import ModuleType
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from azure_gpu.formats.azure_types import BATCH_ACCOUNT
from localazure import tables
from localazure.arm.errors import ArmError
from localazure.batch.endings import Endings
from localazure.batch.errors import BatchError, not_imitated
from localazure.batch.pools import Pools as LivePools
from localazure.batch.service import answers, authentication, models, pool_forms
from localazure.batch.service.files import Files
from localazure.batch.service.jobs import Jobs
from localazure.batch.service.nodes import Lists, Nodes
from localazure.batch.service.pools import Pools
from localazure.batch.service.request import DataPlaneRequest, segments_of
from localazure.batch.service.tasks import Tasks
from localazure.batch.work import Work
from localazure.nothing_runs import refused
from localazure.services import Services

PREFIX = "/batch"
# Of azure-batch 15.1; of azure-batch 14.2 and the 15.0.0b1 in azure-cli 2.91; and of what came between them.
API_VERSIONS = frozenset({"2025-06-01", "2024-07-01.20.0", "2024-02-01.19.0"})
log = logging.getLogger(__name__)

Operation = Callable[[DataPlaneRequest], Awaitable[Response]]


class DataPlane:
    """Routes a request of Batch's data plane to its operation."""

    def __init__(self, services: Services, work: Work, live: LivePools) -> None:
        self._services = services
        self._work = work
        self.endings = Endings(work, live)
        self._operations = _operations(services, work, live)
        self._loaded: asyncio.Future[ModuleType] | None = None

    def routes(self) -> list[BaseRoute]:
        return [_Below(self)]

    async def started(self) -> None:
        await self.endings.started()

    async def stopping(self) -> None:
        await self.endings.stopping()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
            return
        request = Request(scope, receive)
        raw = scope["raw_path"].decode("latin-1").partition("?")[0]
        segments = segments_of(raw)[1:]
        address = f"{self._services.settings.url}{PREFIX}/{segments[0] if segments else ''}"
        try:
            response = await self._answer(request, segments, address)
        except BatchError as error:
            response = answers.refused(error, address)
        except ArmError as error:
            response = answers.refused(pool_forms.refusal(error), address)
        except ClientDisconnect:
            return  # the client has gone
        except Exception:
            log.exception("%s %s failed", request.method, raw)
            response = answers.refused(BatchError("InternalError"), address)
        _with_headers(request, response)
        await response(scope, receive, send)

    async def _answer(self, request: Request, segments: list[str], address: str) -> Response:
        accounts = self._services.store.named(BATCH_ACCOUNT.arm_type, segments[0]) if segments else []
        account = accounts[0] if accounts else None
        caller = authentication.caller_of(request, account, self._services)
        if account is None:
            raise BatchError("ResourceNotFound", "The specified account does not exist.", status=404)
        query = _query(request)
        _check_version(query)
        await self._load()
        self._work.tables.sync()
        parsed = DataPlaneRequest(
            request=request, account=account, caller=caller, segments=segments[1:], address=address, query=query
        )
        return await self._operation(parsed)(parsed)

    def _operation(self, parsed: DataPlaneRequest) -> Operation:
        path = _pattern(parsed.segments)
        found = self._operations.get((parsed.request.method, path))
        if found is not None:
            if parsed.request.method == "GET" and parsed.query.get("$expand"):
                raise not_imitated(f"$expand={parsed.query['$expand'][:100]}")
            refused.check_batch(parsed.request.method, path, self._services)
            return found
        if (parsed.request.method, path) in self._operations:
            raise not_imitated(f"{parsed.request.method} of '{path.rpartition('/*/')[2].removesuffix('/*')}'")
        if path in {known for (_, known), operation in self._operations.items() if operation}:
            raise BatchError("UnsupportedHttpVerb")
        if path.startswith(
            ("jobschedules", "certificates", "applications", "poolusagemetrics", "lifetimepoolstats", "lifetimejobstats")
        ):
            raise not_imitated(f"'{parsed.segments[0]}'")
        raise BatchError("InvalidUri")

    async def _load(self) -> None:
        """The models are read in a thread, once, so that nobody else has to wait for them."""
        if self._loaded is None:
            self._loaded = asyncio.ensure_future(asyncio.to_thread(importlib.import_module, models.PACKAGE))
        await asyncio.shield(self._loaded)


class _Below(BaseRoute):
    """Every path below the prefix. A mount's pattern stops at a line's end, which a path may hold too."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        ours = scope["type"] in ("http", "websocket") and f"{scope['path']}/".startswith(f"{PREFIX}/")
        return (Match.FULL if ours else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def _operations(services: Services, work: Work, live: LivePools) -> dict[tuple[str, str], Operation | None]:
    """By method and path; `*` stands for a name, and what follows /files/ for the rest of the path. None: it isn't imitated."""
    pools = Pools(services, live)
    served = {
        "jobs": Jobs(work, live),
        "tasks": Tasks(work, live),
        "pools": pools,
        "files": Files(work, live, pools),
        "nodes": Nodes(live, pools),
        "lists": Lists(services, live, pools),
    }
    found: dict[tuple[str, str], Operation | None] = {}
    for method, path, operation in tables.rows(__file__, "operations.tsv"):
        whose, _, name = operation.partition(".")
        found[method, path] = getattr(served[whose], name) if name else None
    return found


def _pattern(segments: list[str]) -> str:
    """jobs/*/tasks/*: every second segment is a name; a file's whole path counts as one."""
    if len(segments) > 5 and segments[4].lower() == "files":
        segments = [*segments[:5], "/".join(segments[5:])]
    return "/".join("*" if index % 2 else each.lower() for index, each in enumerate(segments))


def _query(request: Request) -> dict[str, str]:
    """By lower-case name."""
    query: dict[str, str] = {}
    for name, value in parse_qsl(request.scope["query_string"].decode("latin-1"), keep_blank_values=True):
        if name.lower() in query:  # a signature covers one of the two, and which one counts readers may differ about
            values = {"QueryParameterName": name[:50], "QueryParameterValue": value[:50], "Reason": "It stands there twice"}
            raise BatchError("InvalidQueryParameterValue", values=values)
        query[name.lower()] = value
    return query


def _check_version(query: dict[str, str]) -> None:
    version = query.get("api-version", "")
    if not version:
        raise BatchError("MissingRequiredQueryParameter", values={"QueryParameterName": "api-version"})
    if version not in API_VERSIONS:
        allowed = ", ".join(sorted(API_VERSIONS))
        raise BatchError("UnsupportedRequestVersion", values={"Version": version[:50], "Reason": f"Served are {allowed}"})


def _with_headers(request: Request, response: Response) -> None:
    """The id by which the service knows the request, and the client's where it wants it back."""
    response.headers["request-id"] = str(uuid.uuid4())
    response.headers["DataServiceVersion"] = "3.0"
    requested = request.headers.get("return-client-request-id", "").lower() == "true"
    if requested and request.headers.get("client-request-id"):
        response.headers["client-request-id"] = request.headers["client-request-id"]
