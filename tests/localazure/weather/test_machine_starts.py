"""A machine that starts isn't there before the roles work that were assigned before it."""

import asyncio
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from localazure.services import Services
from localazure.weather import role_delay
from localazure.weather.state import CALM, ROUGH, Weather

PERSONS = 1.0  # of a role of whoever is signed in
NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "ages", "waited"),
    [
        (ROUGH, [90.0, 2.0], [3.0]),  # the youngest works after 5 s
        (ROUGH, [90.0, 2.0, PERSONS], [3.0]),
        (ROUGH, [90.0, PERSONS], []),
        (ROUGH, [90.0, 5.0], []),
        (ROUGH, [], []),
        (CALM, [2.0], []),
    ],
)
def test_it_waits_for_the_youngest_role_and_for_nothing_else(kind: str, ages: list[float], waited: list[float]) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    assigned = [
        SimpleNamespace(
            changed_at=(NOW - timedelta(seconds=age)).isoformat(),
            properties={"principalId": "person" if age == PERSONS else "identity"},
        )
        for age in ages
    ]
    services: Any = SimpleNamespace(
        weather=Weather(kind),
        store=SimpleNamespace(of_type=lambda _: assigned),
        settings=SimpleNamespace(principal_id="person"),
        clock=SimpleNamespace(now=lambda: NOW, sleep=sleep),
    )
    asyncio.run(role_delay.machine_starts(cast(Services, services)))
    assert slept == waited
