"""The services that every part of the embedded Azure shares: store, settings, clock, tokens, images, faults and weather.

One object, which the server creates and passes on: nothing in localazure holds global state.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from localazure.arm.caller import Caller
from localazure.arm.store import Body, Store
from localazure.containers.images import Images
from localazure.entra.tokens import Tokens
from localazure.lists.deviations import Deviations
from localazure.weather.state import Weather


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The server's address and start options."""

    url: str  # "https://localhost:PORT", no slash at the end
    checkout: Path  # image builds read its sources, under the address `checkout_url`
    state: Path  # the state folder
    tenant_id: str
    client_id: str  # application id of the one service principal
    principal_id: str  # object id of the same
    nothing_runs: bool = False  # resources are stored and shown, and no processes are started

    @property
    def checkout_url(self) -> str:
        return f"{self.url}/checkout.git"


@dataclass(slots=True, kw_only=True)
class Clock:
    """The server's time. `now` is real; `as_of` is the date at which services validate requests without an `as-of` tag."""

    given: date | None = None  # `--as-of`
    forced: date | None = None  # a clock fault, until it is cleared
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep  # until `now` is that many seconds later

    @property
    def as_of(self) -> date:
        return self.forced or self.given or self.now().date()

    def stamp(self, *, before: timedelta = timedelta()) -> str:
        """Now, or some time before, as ARM writes it: `2026-11-20T23:11:53.123456Z`."""
        return (self.now() - before).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class ArmRequests(Protocol):
    """ARM requests from inside the server: `localazure.arm.in_process` answers them."""

    async def put(self, resource_id: str, version: str, body: Body, caller: Caller) -> int: ...

    async def delete(self, resource_id: str, *, wait: bool = True) -> None: ...

    async def act(self, resource_id: str, action: str, version: str, body: Body, caller: Caller) -> Any: ...

    def document(self, resource_id: str, version: str) -> Body: ...


@dataclass(slots=True, kw_only=True)
class Services:
    """Services that every part of the server uses. Kinds take the other ones in their constructors: see `localazure.wiring`."""

    store: Store
    settings: Settings
    clock: Clock
    tokens: Tokens
    deviations: Deviations
    images: Images
    weather: Weather = field(default_factory=Weather)
    arm: ArmRequests = field(init=False)  # set by the router of ARM
