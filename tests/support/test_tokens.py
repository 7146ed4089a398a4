"""Tokens of tests that last longer than a token does."""

from datetime import UTC, datetime, timedelta

import httpx

from tests.support.embedded import Renewed

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def sent(renewed: Renewed, **headers: str) -> str:
    request = httpx.Request("GET", "https://localhost:1", headers=headers)
    return next(renewed.auth_flow(request)).headers["Authorization"]


def test_a_token_that_is_old_is_requested_again() -> None:
    tokens, times = iter(("first", "second")), [NOON]
    renewed = Renewed(lambda: next(tokens), lambda: times[-1])
    assert [sent(renewed), sent(renewed)] == ["Bearer first", "Bearer first"]
    times.append(NOON + Renewed.LASTS + timedelta(seconds=1))
    assert [sent(renewed), sent(renewed)] == ["Bearer second", "Bearer second"]


def test_a_request_keeps_the_token_that_it_has() -> None:
    assert sent(Renewed(lambda: "own", lambda: NOON), Authorization="Bearer other") == "Bearer other"
