"""Tokens of tests that last longer than a token does."""

import httpx
import pytest

from tests.support.embedded import Renewed


def sent(renewed: Renewed, **headers: str) -> str:
    request = httpx.Request("GET", "https://localhost:1", headers=headers)
    return next(renewed.auth_flow(request)).headers["Authorization"]


def test_a_token_that_is_old_is_asked_for_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = iter(("first", "second"))
    renewed = Renewed(lambda: next(tokens))
    assert [sent(renewed), sent(renewed)] == ["Bearer first", "Bearer first"]
    monkeypatch.setattr(renewed, "_until", 0.0)
    assert [sent(renewed), sent(renewed)] == ["Bearer second", "Bearer second"]


def test_a_request_keeps_the_token_that_it_has() -> None:
    assert sent(Renewed(lambda: "own"), Authorization="Bearer other") == "Bearer other"
