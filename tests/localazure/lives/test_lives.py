"""Lives of resources, by the tables beside this: requests one after another, and what there is then.

A file has `versions`, of the requests to a provider, `words` and `bodies` of its own, and `lives`, each a list of steps, which
begin on a server in calm weather with a resource group, `{group}`:

- `weather`, `fault`, `clear`, `move`: rough weather, a fault or several, none any more, seconds that pass.
- `send`: a request, with a `body`, or the name of one, and what it has `with` it, by paths. It succeeds, and so does what it
  begins, unless `answer` has another status, with the code of a refusal, `ends` the code of what it begins, or it only `begins`.
- `says`: a part of the answer, and `headers`, each a pattern. `tells`: what the answer has at a path, ~ for nothing. `shows`:
  what a GET has there afterwards. A text between slashes is a pattern, one behind `! ` is what it isn't, a step `*` of a path is
  each element of a list, and `keep` makes words of what lies at paths.
"""

import copy
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from localazure.weather.state import CALM, ROUGH
from tests.localazure.conftest import GROUPS, new_group
from tests.support.embedded import SUBSCRIPTION
from tests.support.in_process import InProcessAzure
from tests.support.rows import failure

FILES = sorted(Path(__file__).parent.glob("*.yaml"))
_WORD = re.compile(r"\{(\w+)\}")
Step = Mapping[str, Any]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessAzure]:
    made = InProcessAzure(tmp_path_factory.mktemp("lives"))
    yield made
    made.stop()


class Life:
    def __init__(self, server: InProcessAzure, table: Mapping[str, Any]) -> None:
        self._server, self._table = server, table
        server.weather.kind = CALM
        server.weather.refusals.clear()
        server.clear_faults()
        group = new_group(server)
        known = {"url": server.url, "tenant": server.tenant_id, "principal": server.principal_id, "client": server.client_id}
        self._words: dict[str, Any] = {**known, "group": group, "subscription": f"/subscriptions/{SUBSCRIPTION}"}
        self._words |= {"name": f"n{group[-12:]}", "group_name": group.rsplit("/", 1)[1]}
        self._words |= self._filled(table.get("words", {}))

    def go_on(self, step: Step) -> None:
        server = self._server
        if "weather" in step:
            server.weather.kind = ROUGH
            server.clear_faults()  # which has it look at its weather anew
        if "clear" in step:
            server.clear_faults()
        faults = self._filled(step.get("fault", []))
        for fault in faults if isinstance(faults, list) else [faults]:
            server.fault(**fault)
        if "move" in step:
            server.move(step["move"])
        if "send" in step:
            self._send(step)

    def _send(self, step: Step) -> None:
        method, path = self._filled(step["send"]).split(" ", 1)
        answer = self._request(method, path, self._body(step))
        wanted = str(step.get("answer", ""))
        found = f"{answer.status_code} {answer.json()['error']['code']}" if " " in wanted else str(answer.status_code)
        assert found == wanted if wanted else answer.is_success, answer.text
        if answer.is_success and "begins" not in step and ("azure-asyncoperation" in answer.headers or answer.status_code == 202):
            ended = self._server.finished(answer)
            assert (ended.get("error") or {}).get("code", "") == step.get("ends", ""), ended
        assert self._filled(step.get("says", "")) in answer.text.replace('\\"', '"'), answer.text
        self._compare(step.get("headers", {}), dict(answer.headers))
        self._compare(step.get("tells", {}), answer.json() if step.get("tells") else {})
        shown = step.get("shows", {}) or step.get("keep", {})
        body = self._request("GET", path).json() if shown and method in ("PUT", "PATCH") else answer.json() if shown else {}
        self._compare(step.get("shows", {}), body)
        self._words |= {word: _at(body, place) for word, place in step.get("keep", {}).items()}

    def _request(self, method: str, path: str, body: Any = None) -> httpx.Response:
        path, _, query = path.partition("?")
        provider = path.rpartition("/providers/")[2].split("/")[0].lower() if "/providers/" in path else ""
        version = {name.lower(): each for name, each in self._table["versions"].items()}.get(provider, GROUPS)
        asked = {"api-version": version, **dict(each.split("=", 1) for each in query.split("&") if each)}
        return self._server.client.request(method, path, params=asked, json=body)

    def _body(self, step: Step) -> Any:
        given = step.get("body")
        body = copy.deepcopy(self._table["bodies"][given] if isinstance(given, str) else given)
        for path, value in step.get("with", {}).items():
            *above, last = path.split(".")
            below: Any = body
            for name in above:
                below = below.setdefault(name, {})
            below[last] = value
        return self._filled(body)

    def _compare(self, wanted: Mapping[str, Any], body: Any) -> None:
        for path, value in wanted.items():
            found, filled = _at(body, self._filled(path)), self._filled(value)
            if isinstance(value, str) and value.startswith("! "):
                assert str(found) != filled[2:], f"{path}: {found!r}"
                continue
            pattern = isinstance(filled, str) and re.fullmatch("/(.+)/", filled)
            same = re.search(pattern[1], str(found)) is not None if pattern else found == filled
            assert same, f"{path}: {found!r} is not {filled!r}"

    def _filled(self, value: Any) -> Any:
        match value:
            case dict():
                return {self._filled(name): self._filled(each) for name, each in value.items()}
            case list():
                return [self._filled(each) for each in value]
            case str() if (alone := _WORD.fullmatch(value)) and alone[1] in self._words:
                return self._words[alone[1]]
            case str():
                return _WORD.sub(lambda found: str(self._words.get(found[1], found[0])), value)
            case _:
                return value


def _at(body: Any, path: str) -> Any:
    for number, step in enumerate(steps := path.split(".")):
        if step == "*":
            return [_at(each, ".".join(steps[number + 1 :])) for each in body or ()] if steps[number + 1 :] else len(body or ())
        named: Mapping[Any, Any] = dict(enumerate(body)) if isinstance(body, list) else body or {}
        body = named.get(int(step) if step.isdigit() and isinstance(body, list) else step)
    return body


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_resources_live_as_in_azure(server: InProcessAzure, file: Path) -> None:
    table = yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader)

    def live(steps: list[Step]) -> None:
        life = Life(server, table)
        for number, step in enumerate(steps, 1):
            if told := failure(life.go_on, (step,), f"step {number}, {step.get('send', '')}"):
                raise AssertionError(told)

    wrong = [told for name, steps in table["lives"].items() if (told := failure(live, (steps,), name))]
    assert not wrong, "\n".join([f"{len(wrong)} of {len(table['lives'])} lives:", *wrong])
