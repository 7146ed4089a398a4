"""Injected faults: failures of the embedded Azure on request, for tests and experiments.

One path, `/local/faults`, opened by the folder's admin token and used by `python -m localazure fault`. GET lists, PUT adds,
DELETE clears. A fault holds for requests that fit its method and path, until its count is used up, or, where it changes the clock
or the subscription, until it is cleared; also over a restart.
"""

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import date
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from localazure.arm import answers, paths
from localazure.arm.errors import ArmError
from localazure.arm.operations import FAILS_LATER
from localazure.arm.requests import body_of
from localazure.arm.store import Store
from localazure.fault import AT_ONCE, PATH, STANDING, Fault, parse
from localazure.lists import features
from localazure.lists.deviations import Deviations
from localazure.services import Clock
from localazure.weather.state import Weather

ABORT = "localazure.abort"  # key in the ASGI scope: closes the connection at once
GONE = "localazure.gone"  # and what is called where the client goes away before it has its answer
_DOCUMENT = "faults"


class Faults:
    """The faults that hold, and the middleware and control path around them."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        deviations: Deviations,
        weather: Weather,
        admin_token: str,
        told: Callable[[Scope, ArmError], None],
        evict: Callable[[str], Awaitable[list[str]]],
    ) -> None:
        """`told` hears of each request that a fault answers with an error; `evict` takes Spot nodes away, and says which."""
        self._evict = evict
        self._told = told
        self._store = store
        self._clock = clock
        self._deviations = deviations
        self._weather = weather
        self._admin_token = admin_token
        stored = store.document(_DOCUMENT) or {"faults": []}
        self._faults = [Fault(**fault) for fault in stored["faults"]]
        self._apply()

    def routes(self) -> list[Route]:
        return [Route(PATH, self.control, methods=["GET", "PUT", "DELETE"])]

    async def control(self, request: Request) -> Response:
        """PUT adds one fault and answers it as it was understood; DELETE clears all; GET lists."""
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if not hmac.compare_digest(given.encode(), self._admin_token.encode()):
            return answers.refused(
                ArmError(401, "AuthenticationFailed", "Faults require the admin token of this server's folder.")
            )
        if request.method == "PUT":
            try:
                fault = parse(await body_of(request))
            except ArmError as error:
                return answers.refused(error)
            if fault.kind in AT_ONCE:
                return await self._at_once(fault)
            self._faults.append(fault)
            if fault.kind == "provider":
                features.forget(fault.name, self._store)
            self._keep()
            return answers.respond(200, asdict(fault))
        if request.method == "DELETE":
            self._faults.clear()
            self._keep()
        return answers.respond(200, {"value": [asdict(fault) for fault in self._faults]})

    async def _at_once(self, fault: Fault) -> Response:
        """What happens now and leaves nothing that holds."""
        try:
            taken = await self._evict(fault.name)
        except ArmError as error:
            return answers.refused(error)
        if not taken:
            others = "nor of a cluster, and no Spot machine"
            why = f"The fault is not understood: name: no Spot node of a Batch pool is called '{fault.name}', {others}."
            return answers.refused(ArmError(400, "InvalidFault", why, target="name"))
        return answers.respond(200, asdict(fault))

    def around(self, app: ASGIApp) -> ASGIApp:
        """`app` with the faults in front of it."""

        async def faulty(scope: Scope, receive: Receive, send: Send) -> None:
            fault = self._take(scope) if scope["type"] == "http" else None
            if fault is None:
                await app(scope, receive, send)
            elif fault.kind in ("fail", "wrong-answer"):
                if fault.kind == "wrong-answer":
                    await app(scope, receive, _unheard)
                error = ArmError(fault.status, fault.code, fault.message)
                self._told(scope, error)
                await answers.refused(error)(scope, receive, send)
            elif fault.kind == "fail-later":
                begun = FAILS_LATER.set(ArmError(fault.status, fault.code, fault.message))
                try:
                    await app(scope, receive, send)
                finally:
                    FAILS_LATER.reset(begun)
            else:
                await _commit(fault, app, scope, receive, send)

        return faulty

    def _take(self, scope: Scope) -> Fault | None:
        """The first fault that fits, counted down."""
        if not self._faults or scope["path"].startswith(PATH):
            return None
        path = "/" + "/".join(paths.segments_of(scope["path"]))
        fault = next((each for each in self._faults if each.kind not in STANDING and each.fits(scope["method"], path)), None)
        if fault is not None and fault.count:
            fault.count -= 1
            if fault.count == 0:
                self._faults.remove(fault)
            self._keep()
        return fault

    def _keep(self) -> None:
        self._store.put_document(_DOCUMENT, {"faults": [asdict(fault) for fault in self._faults]})
        self._apply()

    def _apply(self) -> None:
        """Moves the clock and changes the subscription as the faults that hold say."""
        self._deviations.faults = [fault for fault in self._faults if fault.kind in STANDING]
        self._weather.change(self._deviations.faults)
        forced = [fault.date for fault in self._faults if fault.kind == "clock"]
        self._clock.forced = date.fromisoformat(forced[-1]) if forced else None


async def _commit(fault: Fault, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    match fault.kind:
        case "throttle":
            headers = {"Retry-After": str(max(1, round(fault.seconds)))}
            error = ArmError(429, "TooManyRequests", "The request is throttled by an injected fault.", headers=headers)
            await answers.refused(error)(scope, receive, send)
        case "delay":
            await asyncio.sleep(fault.seconds)
            await app(scope, receive, send)
        case "timeout":
            await asyncio.sleep(fault.seconds)
            error = ArmError(504, "GatewayTimeout", "The gateway did not receive a response within the specified time period.")
            await answers.refused(error)(scope, receive, send)
        case "reset":
            scope[ABORT]()
            await _disconnected(receive)
        case _:
            await app(scope, receive, _unheard)
            scope[ABORT]()
            await _disconnected(receive)


async def _unheard(message: Any) -> None:
    """Takes an answer that nobody is to get."""


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
