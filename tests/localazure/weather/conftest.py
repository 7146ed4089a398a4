"""A server inside of the tests' own process, whose weather and time the tests choose, and ARM alone, whose time stands still."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from localazure.fault import Fault
from localazure.weather.parts import PARTS
from localazure.weather.state import CALM, ROUGH
from tests.support.in_process import InProcessAzure
from tests.support.managed_clusters import CLUSTER, ArmHarness, cluster


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessAzure]:
    made = InProcessAzure(tmp_path_factory.mktemp("weather"))
    yield made
    made.stop()


@pytest.fixture
def rough(server: InProcessAzure) -> InProcessAzure:
    return turned(server, ROUGH)


@pytest.fixture
def calm(server: InProcessAzure) -> InProcessAzure:
    return turned(server, CALM)


def turned(server: InProcessAzure, weather: str) -> InProcessAzure:
    """With another weather, no faults, and nothing remembered."""
    server.weather.kind = weather
    server.weather.refusals.clear()
    server.weather.allowances.clear()
    server.clear_faults()
    return server


class Time:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self._now = datetime(2026, 11, 20, 12, tzinfo=UTC)
        self._sleeping: list[tuple[datetime, asyncio.Event]] = []

    def now(self) -> datetime:
        return self._now

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.Event()
        self._sleeping.append((self._now + timedelta(seconds=seconds), woken))
        await woken.wait()

    def move(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)
        for until, woken in self._sleeping:
            if until <= self._now:
                woken.set()
        self._sleeping = [each for each in self._sleeping if each[0] > self._now]


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def arm(arm: ArmHarness, time: Time) -> ArmHarness:
    """With a cluster, in calm weather; time stands still."""
    arm.succeeded(arm.put(CLUSTER, cluster()))
    arm.services.clock.now, arm.services.clock.sleep = time.now, time.sleep
    return arm


def on(arm: ArmHarness, *parts: str) -> None:
    arm.services.weather.change(Fault(kind="weather", name=part, seconds=PARTS[part].seconds) for part in parts)
