"""A deployment as the router sees it: its instances, their concurrent requests, and the queue.

The service lets twice as many requests in as its instances may answer at a time; others are turned away at once. Where no
instance is ready a request waits a moment only (`maxQueueWait`).
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field

from localazure.ml.scoring_errors import RefusedError
from localazure.ml.upstream import Upstream

ADMITTED = 2  # times what may be answered at once. Microsoft Learn, machine-learning/how-to-troubleshoot-online-endpoints


@dataclass(slots=True, kw_only=True)
class Settings:
    """What a deployment says of its requests."""

    timeout_seconds: float
    concurrent: int  # requests at a time of one instance
    wait_seconds: float  # for an instance that is ready
    kubernetes: bool = False


@dataclass(slots=True, eq=False)
class Instance:
    """One container, or pod, that answers."""

    name: str
    upstream: Upstream
    scoring_path: bytes = b"/score"
    ready: bool = False
    in_flight: int = 0
    last: int = 0  # which of the deployment's requests it got last
    disturbed: asyncio.Event = field(default_factory=asyncio.Event)  # a request found nobody there


@dataclass(slots=True, eq=False)
class LiveDeployment:
    """The instances that take requests now. Those of an earlier generation finish what they have, and get no more."""

    name: str
    settings: Settings
    instances: list[Instance] = field(default_factory=list[Instance])
    pending: int = 0
    _given: int = 0  # requests that an instance has got
    _waiters: deque[asyncio.Future[Instance]] = field(default_factory=deque[asyncio.Future[Instance]])

    @property
    def any_ready(self) -> bool:
        return any(each.ready for each in self.instances)

    def enter(self) -> "AdmittedRequest":
        """Lets a request in. RefusedError where more are pending than the deployment takes."""
        if self.pending >= ADMITTED * self.settings.concurrent * max(len(self.instances), 1):
            raise RefusedError("TooManyPendingRequests", name=self.name, kubernetes=self.settings.kubernetes)
        self.pending += 1
        return AdmittedRequest(self)

    def changed(self) -> None:
        """A place became free: the requests that wait get it in the order in which they came."""
        while self._waiters:
            if self._waiters[0].done():  # it gave up, and hasn't been told yet
                self._waiters.popleft()
                continue
            instance = self._free()
            if instance is None:
                return
            self._waiters.popleft().set_result(instance)

    def _free(self) -> Instance | None:
        most = self.settings.concurrent
        found = [each for each in self.instances if each.ready and each.in_flight < most]
        if not found:
            return None
        chosen = min(found, key=lambda each: (each.in_flight, each.last))
        self._given += 1
        chosen.in_flight, chosen.last = chosen.in_flight + 1, self._given
        return chosen

    async def one(self, deadline: float) -> Instance:
        """An instance with a place free. RefusedError where none is ready, TimeoutError."""
        instance = None if self._waiters else self._free()
        if instance is not None:
            return instance
        loop = asyncio.get_running_loop()
        moment = loop.time() + self.settings.wait_seconds
        while True:
            until = deadline if self.any_ready else min(deadline, moment)
            try:
                async with asyncio.timeout_at(until):
                    return await self._handed()
            except TimeoutError:
                if not self.any_ready:
                    raise RefusedError("DeploymentNotReady", name=self.name) from None
                if loop.time() >= deadline:
                    raise

    async def _handed(self) -> Instance:
        waiter: asyncio.Future[Instance] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            elif waiter.done() and not waiter.cancelled():  # handed over in the very moment
                waiter.result().in_flight -= 1
                self.changed()
            raise


class AdmittedRequest:
    """A request that was admitted, until it leaves: at an instance, or waiting for the next one."""

    def __init__(self, deployment: LiveDeployment) -> None:
        self._deployment = deployment
        self._instance: Instance | None = None

    async def instance(self, deadline: float) -> Instance:
        """Where the request goes now. RefusedError, TimeoutError."""
        if self._instance is None:
            self._instance = await self._deployment.one(deadline)
        return self._instance

    def nobody_listens(self) -> None:
        """The instance isn't ready, until a probe says so."""
        if self._instance is not None:
            self._instance.ready = False
            self._instance.disturbed.set()
        self._free()

    def leave(self) -> None:
        self._deployment.pending -= 1
        self._free()

    def _free(self) -> None:
        if self._instance is not None:
            self._instance.in_flight -= 1
            self._instance = None
            self._deployment.changed()
