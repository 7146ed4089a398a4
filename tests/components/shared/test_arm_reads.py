"""A read of Resource Manager that is throttled is tried again, and any other refusal is told at once; a PATCH is sent alone."""

import io
import json
from email.message import Message
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock
from urllib.error import HTTPError, URLError

import pulumi
import pytest

from azure_gpu.shared import arm_reads
from tests.components.recording import KEYS, declare

TOKEN: dict[str, Any] = {**KEYS, "azure-native:authorization:getClientToken": {"token": "t"}}
FOUND = {"value": [1]}


def read(monkeypatch: pytest.MonkeyPatch, *codes: int) -> tuple[list[Any], list[float]]:
    """What is read where Azure answers with these codes, one after another, and then with what was found; and the pauses."""
    left, found, slept = [*codes], [], []

    def answer(*_: object) -> bytes:
        if left:
            raise HTTPError("https://management.azure.com", left.pop(0), "", Message(), io.BytesIO())
        return json.dumps(FOUND).encode()

    def build() -> None:
        try:
            found.append(arm_reads.get("/subscriptions/s", "2022-04-01", pulumi.InvokeOptions()))
        except arm_reads.UnreadableError as error:
            found.append(str(error))

    monkeypatch.setattr(arm_reads, "_sent_once", answer)
    monkeypatch.setattr(arm_reads.time, "sleep", slept.append)
    declare(build, lookups=TOKEN)
    return found, slept


def test_it_is_tried_again_three_times_where_azure_throttles(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(monkeypatch, 429, 429, 429) == ([FOUND], [1, 2, 5])
    assert read(monkeypatch, 429, 429, 429, 429) == (["Azure returned 429"], [1, 2, 5])


def test_another_refusal_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(monkeypatch, 403) == (["Azure returned 403"], [])
    assert read(monkeypatch, 429, 404) == (["Azure returned 404"], [1])


def test_a_patch_sends_what_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []

    def answer(request: Any, _: float) -> bytes:
        sent.append((request.method, request.full_url, json.loads(request.data), request.headers["Authorization"]))
        return b"{}"

    def build() -> None:
        patched = arm_reads.patch("/pools/a", "2024-07-01", {"tags": {}}, pulumi.InvokeOptions())
        pulumi.export("patched", pulumi.Output.from_input(patched))

    monkeypatch.setattr(arm_reads, "_sent_once", answer)
    declare(build, lookups=TOKEN)
    assert sent == [("PATCH", "https://management.azure.com/pools/a?api-version=2024-07-01", {"tags": {}}, "Bearer t")]


def requested(monkeypatch: pytest.MonkeyPatch, *answers: Exception | bytes) -> Any:
    """What a hook's read of a URL with a signature gets of these answers, one after another."""
    opened = Mock(side_effect=[each if isinstance(each, Exception) else io.BytesIO(each) for each in answers])
    monkeypatch.setattr(arm_reads, "_opener", lambda: SimpleNamespace(open=opened))
    monkeypatch.setattr(arm_reads.time, "sleep", lambda _: None)
    requests = arm_reads.Requests(lambda: "t")
    try:
        return requests.get("/registries/a", "1") if len(answers) > 1 else requests.text("https://up.example/log?sig=hunter2")
    except arm_reads.UnreadableError as error:
        return str(error), error.status


def refusal(status: int, body: str) -> HTTPError:
    return HTTPError("https://up.example/log?sig=hunter2", status, "", Message(), io.BytesIO(body.encode()))


def test_a_hooks_request_is_tried_again_and_no_error_shows_its_url(monkeypatch: pytest.MonkeyPatch) -> None:
    assert requested(monkeypatch, refusal(429, ""), b'{"value": [1]}') == FOUND
    assert requested(monkeypatch, refusal(429, ""), refusal(404, "")) is None
    assert requested(monkeypatch, b"a line") == "a line"
    assert requested(monkeypatch, refusal(403, "<xml/>")) == ("Azure returned 403", 403)
    assert requested(monkeypatch, refusal(400, '{"error": {"code": "A", "message": "b"}}')) == ("A: b", 400)
    assert requested(monkeypatch, URLError("timed out")) == ("up.example can't be reached: <urlopen error timed out>", 0)
