"""Sends our own requests to an embedded Azure and compares its answers with the tables: one difference a line."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import httpx

from tests.recorded.facts import general
from tests.recorded.members import comparable, lowered, same
from tests.recorded.replay import HEADERS
from tests.recorded.requests import Life
from tests.recorded.sessions import error_code

Until = Callable[[Callable[[], Any], str], Any]  # asks again and again, and says what for where it has to give up


class Send(Protocol):
    """Sends a request, with `params` where the address holds no query yet, and with `json` where it has a body."""

    def __call__(
        self, method: str, url: str, /, *, params: Mapping[str, str] | None = None, json: Any = None
    ) -> httpx.Response: ...


class Lives:
    """All lives in one embedded Azure, side by side: made in order, and deleted in the opposite one.

    `words` stand for what a request cannot know: {unique}, {tenant}, {principal}.
    """

    def __init__(self, send: Send, until: Until, table: Mapping[str, Any], words: Mapping[str, str]) -> None:
        self._send_request = send
        self._until = until
        self._table = table
        self._words = words
        self.differences: dict[str, list[str]] = {}

    def live(self, lives: Sequence[Life]) -> None:
        for life in lives:
            self.differences[life.arm_type] = []
            self._expect(life, "create", self._send(life, "PUT", life.body))
            self._expect(life, "read", self._send(life, "GET"))
        for life in lives:
            if self._forms(life, "update"):
                self._expect(life, "update", self._send(life, "PUT", life.body))
            if life.patch and self._forms(life, "patch"):
                self._expect(life, "patch", self._send(life, "PATCH", life.patch))
        for life in reversed(lives):
            self._expect(life, "delete", self._send(life, "DELETE"))
            self._expect(life, "read", self._send(life, "GET"), when="it isn't there")

    def _send(self, life: Life, method: str, body: Any = None) -> httpx.Response:
        """The answer; what it began has ended when this returns."""
        sent = None if body is None else self._worded(body)
        answer = self._send_request(method, self._worded(life.path), params={"api-version": self._version(life)}, json=sent)
        if method != "GET":
            settle(self._send_request, self._until, answer)
        return answer

    def _worded(self, value: Any) -> Any:
        text = json.dumps(value)
        for word, meaning in self._words.items():
            text = text.replace(f"{{{word}}}", meaning)
        return json.loads(text)

    def _version(self, life: Life) -> str:
        """That of the recorded members; else the newest recorded one."""
        known = self._table[life.arm_type]
        return known.get("version") or max(version for form in known["answers"] for version in form["versions"])

    def _forms(self, life: Life, operation: str, when: str = "") -> list[dict[str, Any]]:
        """The recorded answers that a request in good weather can have. Those of the same version count, where there are such."""
        found = [
            form
            for form in self._table[life.arm_type]["answers"]
            if form["operation"] == operation and form.get("when", "") == when and (when or form["status"] < 400)
        ]
        return [form for form in found if self._version(life) in form["versions"]] or found

    def _expect(self, life: Life, operation: str, answer: httpx.Response, when: str = "") -> None:
        said = self.differences[life.arm_type]
        forms = self._forms(life, operation, when)
        name = f"{operation}{', ' if when else ''}{when}"
        headers = [each for each in HEADERS if each in answer.headers]
        code = error_code(answer.json()) if answer.content and not answer.is_success else None
        mine = (answer.status_code, headers, code)
        recorded = {_form((form["status"], form.get("headers", []), form.get("code"))) for form in forms}
        if recorded and _form(mine) not in recorded:
            said.append(f"{name}: answered {_form(mine)}, recorded {' or '.join(sorted(recorded))}")
        if answer.is_success and answer.content and not when:
            filled = self._table[life.arm_type].get("members", {}).get(operation, {})
            expected = {**filled, **{path: value for path, value in life.other.items() if path in filled}}
            said += [f"{name}: {each}" for each in _members(expected, answer.json())]


def settle(send: Send, until: Until, answer: httpx.Response) -> None:
    """Waits until what `answer` began has ended, however it ends."""
    address = answer.headers.get("azure-asyncoperation") or answer.headers.get("location")
    if address and answer.is_success:
        until(lambda: _has_ended(send("GET", address)), f"{answer.request.method} of {answer.request.url.path} ends")


def _has_ended(found: httpx.Response) -> bool:
    state = found.json().get("status", "") if found.content and found.is_success else ""
    return found.status_code != httpx.codes.ACCEPTED and state != "InProgress"


def _form(form: tuple[int, Sequence[str], str | None]) -> str:
    status, headers, code = form
    return " ".join(map(str, [status, *headers, *([code] if code else [])]))


def _members(filled: Mapping[str, Any], body: Any) -> Iterator[str]:
    here = lowered(general(body))
    for path, value in filled.items():
        if path.lower() not in here:
            yield f"{path} is missing{'' if value is None else f': {json.dumps(value)}'}"
        elif value is not None and comparable(path, value) and not all(same(value, each) for each in here[path.lower()]):
            yield f"{path} = {json.dumps(here[path.lower()][0])}, recorded {json.dumps(value)}"
