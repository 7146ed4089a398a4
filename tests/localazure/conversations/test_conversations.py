"""What clients see of resources and deployments while they live, by conversations: files of requests and what is answered.

A file has `version`, that of its requests, or `versions` of those to each provider, `words`, `bodies` by their names, and
`conversations` by theirs: lists of steps. A step sends a request (`send`, with `body`, what it has `with` it, by paths,
`headers_sent`, another `version`, or `as: nobody`, with a `form`), injects a `fault`, or clears them (`clear`), restarts the
server, has the `weather` be rough, or lets seconds pass (`move`). It succeeds unless `answer` has another status, or a status and
a code; `none` is a connection that ends without an answer. In a file that `waits`, so does what it begins, unless it only
`begins`. And it says what is answered:

- `is`: the whole body. `has`: what lies at paths, ~ for nothing; in `value.*.name` the star stands for each of a list.
- `differs`: what there is at paths, and isn't this. `says` and `lacks`: texts that are part of it, and that aren't.
- `shows`: what a GET has afterwards, at paths. `headers`: by their names. `takes`: so many seconds at least.
- `finished`: how the long operation ends that the request begins, and `ended`, paths of its document.
- `keep`: words for the steps behind it, from their paths, in what GET shows where that is told.

`{word}` stands for one of those words, or of `words`. `{group}` and what begins so are resource groups of the conversation's own,
and `{name}` likewise names; `{subscription}`, `{url}`, `{client_id}` and `{admin}`, a token, are the server's; `{ago}` and
`{soon}` are an hour from now. Text that begins with ~ is an expression that the whole value fits.
"""

import copy
import re
import uuid
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from localazure.kubernetes import control_plane
from localazure.weather.state import CALM
from tests.localazure.conftest import new_group
from tests.support.embedded import SUBSCRIPTION
from tests.support.in_process import InProcessAzure

FILES = {
    path.stem: yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    for path in sorted(Path(__file__).parent.glob("*.yaml"))
}
_WORD = re.compile(r"\{(\w+)\}")
Step = dict[str, Any]


class Conversation:
    """One of a file."""

    def __init__(self, azure: InProcessAzure, file: Step) -> None:
        self._azure = azure
        self._file = file
        self._words: dict[str, Any] = {
            "subscription": f"/subscriptions/{SUBSCRIPTION}",
            "url": azure.url,
            "client_id": azure.client_id,
            "secret": azure.client_secret,
            "tenant": azure.tenant_id,
            "admin": azure.admin_token,
            "ago": (azure.now() - timedelta(hours=1)).isoformat(),
            "soon": (azure.now() + timedelta(hours=1)).isoformat(),
        }

    def play(self, step: Step) -> None:
        if "fault" in step:
            self._azure.fault(**self._filled(step["fault"]))
        elif "weather" in step:
            self._azure.weather.kind = step["weather"]
            self._azure.clear_faults()  # which has it look at its weather anew
        elif "clear" in step:
            self._azure.clear_faults()
        elif "move" in step:
            self._azure.move(step["move"])
        elif "restart" in step:
            self._azure.restart()
        elif step.get("answer") == "none":
            with pytest.raises(httpx.RemoteProtocolError):
                self._send(step)
        else:
            began = self._azure.now()
            answer = self._send(step)
            assert self._azure.now() - began >= timedelta(seconds=step.get("takes", 0))
            self._check(step, answer)

    def _send(self, step: Step) -> httpx.Response:
        method, target = self._filled(step["send"]).split(" ", 1)
        path, _, query = target.partition("?")
        provider = path.rpartition("/providers/")[2].split("/")[0] if "/providers/" in path else ""
        version = step.get("version", self._file.get("versions", {}).get(provider, self._file.get("version")))
        asked = {"api-version": str(version)} if version else {}
        asked |= dict(each.split("=", 1) for each in query.split("&") if each)
        given = step.get("body")
        body: Any = copy.deepcopy(self._file["bodies"].get(given, given) if isinstance(given, str) else given)
        for place, value in step.get("with", {}).items():
            *above, last = place.split(".")
            below: Any = body
            for name in above:
                below = below.setdefault(name, {})
            below[last] = value
        body = self._filled(body)
        headers = self._filled(step.get("headers_sent", {}))
        if step.get("as") == "nobody":
            with self._azure.http() as client:
                form = {"data": self._filled(step["form"])} if "form" in step else {"json": body}
                return client.request(method, path, params=asked, headers=headers, **form)
        return self._azure.client.request(method, path, params=asked, json=body, headers=headers)

    def _check(self, step: Step, answer: httpx.Response) -> None:
        status, _, code = str(step.get("answer", "")).partition(" ")
        assert str(answer.status_code) == status if status else answer.is_success, f"{answer.status_code} {answer.text}"
        found: Any = answer.json() if answer.content else None
        if code:
            assert found["error"]["code"] == code, answer.text
        for name, value in step.get("headers", {}).items():
            _compare(answer.headers.get(name), self._filled(value), name)
        said = step.get("says", [])
        for text in self._filled([said] if isinstance(said, str) else said):
            assert text in answer.text, answer.text
        for text in step.get("lacks", ()):
            assert text not in answer.text, answer.text
        if "is" in step:
            _compare(found, self._filled(step["is"]), "the body")
        self._compare_at(found, step.get("has", {}))
        for path, value in step.get("differs", {}).items():
            assert at(found, path) not in (None, self._filled(value)), path
        begun = answer.is_success and ("azure-asyncoperation" in answer.headers or answer.status_code == 202)
        if "finished" in step or (begun and "waits" in self._file and "begins" not in step):
            ended = self._azure.finished(answer)
            assert ended["status"] == step.get("finished", "Succeeded"), ended
            self._compare_at(ended, step.get("ended", {}))
        if "shows" in step:
            found = self._send({**step, "send": f"GET {step['send'].split(' ', 1)[1]}"}).json()
            self._compare_at(found, step["shows"])
        self._words |= {word: at(found, path) for word, path in step.get("keep", {}).items()}

    def _compare_at(self, found: Any, expected: Step) -> None:
        for path, value in expected.items():
            _compare(at(found, self._filled(path)), self._filled(value), path)

    def _filled(self, value: Any) -> Any:
        match value:
            case dict():
                return {self._filled(name): self._filled(each) for name, each in value.items()}
            case list():
                return [self._filled(each) for each in value]
            case str():
                alone = _WORD.fullmatch(value)
                return self._word(alone) if alone else _WORD.sub(lambda found: str(self._word(found)), value)
            case _:
                return value

    def _word(self, found: re.Match[str]) -> Any:
        word = found[1]
        if word not in self._words:
            if word in self._file.get("words", {}):
                self._words[word] = self._filled(self._file["words"][word])
            elif word.startswith("group"):
                self._words[word] = new_group(self._azure)
            elif word.startswith("name"):
                self._words[word] = f"n{uuid.uuid4().hex[:12]}"
            else:
                return found[0]
        return self._words[word]


def at(found: Any, path: str) -> Any:
    """What lies at a path, `a.0.b`; None where nothing does."""
    if not path:
        return found
    name, _, rest = path.partition(".")
    if name == "*":
        return [at(each, rest) for each in found]
    named: dict[Any, Any] = dict(enumerate(found)) if isinstance(found, list) else found or {}
    return at(named.get(int(name) if name.isdigit() else name), rest)


def _compare(found: Any, expected: Any, what: str) -> None:
    if isinstance(expected, str) and expected.startswith("~"):
        assert re.fullmatch(expected[1:], str(found)), f"{what}: {found}"
    else:
        assert found == expected, what


@pytest.fixture
def server(azure: InProcessAzure, monkeypatch: pytest.MonkeyPatch) -> Iterator[InProcessAzure]:
    monkeypatch.setattr(control_plane, "is_free", lambda _: True)  # of ports of clusters, which don't run
    yield azure
    azure.weather.kind = CALM
    azure.weather.refusals.clear()
    azure.clear_faults()


@pytest.mark.parametrize(
    ("file", "name"), [(name, each) for name, file in FILES.items() for each in file["conversations"]], ids=lambda each: each
)
def test_a_conversation(server: InProcessAzure, file: str, name: str) -> None:
    conversation = Conversation(server, FILES[file])
    for number, step in enumerate(FILES[file]["conversations"][name], 1):
        try:
            conversation.play(step)
        except AssertionError as error:
            raise AssertionError(f"step {number}, {step.get('send', step)}: {error}") from None
