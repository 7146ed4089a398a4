"""The server: assembles the ASGI application, and serves it on loopback.

It takes the folder's lock and a port, writes its address, and serves HTTPS on localhost until the process is asked to end.
"""

import contextlib
import logging
import socket
import ssl
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.routing import Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from localazure import activity_log, endpoint, tls, wiring
from localazure.arm.caller import Caller
from localazure.arm.errors import ArmError
from localazure.arm.paths import segments_of
from localazure.arm.router import Arm
from localazure.arm.store import Store
from localazure.batch.service.app import DataPlane
from localazure.blobs import hosts
from localazure.endpoint import Endpoint
from localazure.entra import identity as identities
from localazure.entra.endpoints import Endpoints
from localazure.entra.tokens import Tokens
from localazure.faults import ABORT, GONE, Faults
from localazure.folder import LocalFolder, default_cache, locked
from localazure.kubernetes import authorization_routes, image_access
from localazure.kubernetes.authorization_routes import ClusterRoutes
from localazure.lists.deviations import Deviations
from localazure.machines import routes
from localazure.nothing_runs import choice, kubernetes_api, parts
from localazure.process import this_process
from localazure.services import Clock, Services, Settings
from localazure.weather.state import Weather, kept

HEADER = ("x-local-azure", "embedded")
OPERATIONS_KEPT = timedelta(days=1)
GRACE_SECONDS = 3  # for requests under way when the server is asked to end


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What a server is started with."""

    folder: LocalFolder
    checkout: Path
    port: int
    as_of: date | None
    weather: Weather = field(default_factory=Weather)
    clock: Clock | None = None  # of a test; else the real time
    nothing_runs: bool = False  # no process is started for what is declared
    is_durable: bool = True  # what was answered survives a crash of the machine


class AbortableProtocol(HttpToolsProtocol):
    """HTTP as uvicorn speaks it, with a way to close a connection without an answer, which a fault needs, and with word of
    clients that go away while they wait."""

    _gone: Sequence[Callable[[], None]] = ()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        scope = cast(dict[str, Any], self.scope)  # ASGI leaves further keys to servers
        scope[ABORT] = self.transport.abort
        scope[GONE] = self._gone = []

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for each in self._gone:
            each()


def application(start: Start) -> ASGIApp:
    """The whole application. Opens the store; closed again by the application's lifespan."""
    identity = identities.load(start.folder)
    url = f"https://localhost:{start.port}"
    clock = start.clock or Clock(given=start.as_of)
    tokens = Tokens(identity, url, clock.now)
    store = Store(start.folder.database, is_durable=start.is_durable)
    deviations = Deviations()
    weather = start.weather
    made = parts.STILL if start.nothing_runs else parts.RUNNING
    services = Services(
        store=store,
        settings=Settings(
            url=url,
            checkout=start.checkout,
            state=start.folder.root,
            tenant_id=identity.tenant_id,
            client_id=identity.client_id,
            principal_id=identity.principal_id,
            nothing_runs=start.nothing_runs,
        ),
        clock=clock,
        tokens=tokens,
        deviations=deviations,
        images=made.images(default_cache(), store),
        weather=weather,
    )
    backends = wiring.backends(services, start.folder, made)
    kinds = wiring.kinds(backends)
    arm = Arm(services, kinds)
    batch = DataPlane(services, backends.batch_work, backends.batch_pools)
    of_clusters, of_machines = (backends.clusters, backends.cluster_pools), (backends.machines, backends.ml_jobs)
    running = (backends.batch_pools, batch, *of_clusters, backends.endpoints, *of_machines)  # stopped in reverse

    def told(scope: Scope, error: ArmError) -> None:
        activity_log.refused(scope["method"], segments_of(scope["path"]), Caller("", ""), error, "", services)

    async def evict(name: str) -> list[str]:
        of_pools = [*await backends.batch_pools.evict(name), *await backends.cluster_pools.evict(name)]
        return [*of_pools, *await backends.machines.evict(name), *await backends.ml_jobs.evict(name)]

    faults = Faults(store, clock, deviations, weather, identity.admin_token, told, evict)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        store.forget_operations(clock.stamp(before=OPERATIONS_KEPT))
        for kind in kinds:
            await kind.started(services)
        for part in running:
            await part.started()
        await arm.operations.resume()
        yield
        await arm.operations.stop()
        for task in list(weather.tasks):
            task.cancel()
        for part in reversed(running):
            await part.stopping()
        for kind in kinds:
            await kind.stopping(services)
        await backends.blobs.stop()
        backends.batch_work.close()
        store.close()

    key_set = partial(authorization_routes.key_set, clusters=backends.clusters, services=services)
    inner = Starlette(
        routes=[
            *Endpoints(identity, services, key_set).routes(),
            *faults.routes(),
            *backends.blobs.routes(),
            *batch.routes(),
            *ClusterRoutes(services, backends.clusters).routes(),
            *image_access.routes(services, backends.clusters),
            *routes.routes(backends.machines, backends.ml_jobs, services),
            *(kubernetes_api.routes() if start.nothing_runs else ()),
            *(route for kind in kinds for route in kind.routes(services)),
            Mount("/", app=_http_alone(arm)),
        ],
        lifespan=lifespan,
    )
    return backends.endpoints.around(_with_headers(hosts.around(faults.around(inner))))


def serve(
    folder: LocalFolder, checkout: Path, as_of: date | None, weather: str | None = None, *, nothing_runs: bool = False
) -> None:
    """Serves in this process until it is asked to end. CommandError where a server runs for the folder, or it can't be so."""
    folder.create()
    with locked(folder.server_lock, wait=False):
        still = choice.settle(folder, weather, nothing_runs=nothing_runs)
        last = endpoint.read(folder)
        port, sockets = endpoint.bind(last.port if last else 0)
        tls.write_bundle(folder)
        endpoint.write(folder, Endpoint(port, this_process(), as_of.isoformat() if as_of else ""))
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
        logging.getLogger("uvicorn.access").setLevel(logging.WARNING)
        kind = Weather(kept(folder.weather))
        start = Start(folder=folder, checkout=checkout, port=port, as_of=as_of, weather=kind, nothing_runs=still)
        _run(start, sockets)


def _run(start: Start, listening: list[socket.socket]) -> None:
    """Serves until SIGTERM or SIGINT."""
    chain, key = tls.server_certificate(start.folder)
    config = uvicorn.Config(
        application(start),
        http=AbortableProtocol,
        loop="uvloop",
        ws="websockets-sansio",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
        timeout_keep_alive=75,
        ssl_certfile=chain,
        ssl_keyfile=key,
        ssl_context_factory=_without_tickets,
    )
    uvicorn.Server(config).run(sockets=listening)


def _without_tickets(_: uvicorn.Config, make: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:
    """No session tickets, which TLS 1.3 sends right after the handshake: clients of websockets read in one thread and write in
    another, and one whose first write meets a ticket that is being read hangs in OpenSSL, now and then."""
    context = make()
    context.num_tickets = 0
    return context


def _http_alone(app: ASGIApp) -> ASGIApp:
    """Closes a websocket that nothing else answers."""

    async def answering(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
        else:
            await app(scope, receive, send)

    return answering


def _with_headers(app: ASGIApp) -> ASGIApp:
    """Each answer says that it is local and carries the ids by which a request can be found again."""

    async def answering(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        request = Headers(scope=scope)
        request_id = str(uuid.uuid4())
        added = {
            HEADER[0]: HEADER[1],
            "x-ms-request-id": request_id,
            "x-ms-correlation-request-id": request.get("x-ms-correlation-request-id", request_id),
        }
        if client_id := request.get("x-ms-client-request-id"):
            added["x-ms-client-request-id"] = client_id

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(added)
            await send(message)

        await app(scope, receive, send_with_headers)

    return answering
