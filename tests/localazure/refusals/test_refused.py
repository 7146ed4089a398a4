"""What the embedded Azure refuses, by tables: one file for each service, with the requests and their answers.

A file has `setup`, names of what is there before (`setups.py`), `words` of its own, `version`, that of its requests, `bodies` by
their names, and `rows`:

- `send`: the request's method and path. `{word}` stands for what the set-up has made, here and in bodies.
- `body`: the name of a body, or one of the row's own. `with` sets properties of it, by their paths, and `without` takes some
  away. `text`: a body that is no JSON that Python writes.
- `answer`: the status and the code that Azure answers. `message` is its whole message, `says` a part of it or of its details, and
  `path` the property that it names, or a list of them.
- `first`: requests that succeed before, each written as a row; rows that begin alike share what these make.
- `source`: who has seen the answer of Azure. Without one, `docs/coverage.md` has the evidence of the code.

`judged` has the requests judged as if things ran.

What is refused leaves everything as it was: a row fails where GET answers otherwise afterwards.
"""

import copy
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from localazure.containers.images import Images
from localazure.kubernetes import control_plane
from localazure.nothing_runs.images import PromisedImages
from tests.localazure.conftest import new_group
from tests.localazure.refusals.setups import SETUPS
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure
from tests.support.in_process import InProcessAzure, judging_as_if_things_ran
from tests.support.rows import failure

FILES = sorted(Path(__file__).parent.glob("*.yaml"))
_CHANGES = ("PUT", "PATCH", "DELETE")
_PATHS = ("PropertyPath", "PropertyName")
_WORD = re.compile(r"\{(\w+)\}")
Row = Mapping[str, Any]


class Table:
    """One file."""

    def __init__(self, azure: EmbeddedAzure, file: Path) -> None:
        self._azure = azure
        self.content = yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader)
        self._made: dict[str, dict[str, str]] = {}

    def check(self, row: Row) -> None:
        words = self._words(row)
        before = self._found(row, words)
        answer = self.send(row, words)
        assert answer.headers["content-type"].startswith("application/json"), answer.text
        found = f"{answer.status_code} {_error(answer)['code']}"
        assert found == str(row["answer"]), answer.text
        message = _error(answer)["message"]
        if "message" in row:
            assert message == filled(row["message"], words)
        assert filled(row.get("says", ""), words) in answer.text.replace('\\"', '"'), answer.text
        if "path" in row:
            paths = [row["path"]] if isinstance(row["path"], str) else row["path"]
            assert set(paths) <= _named(answer), answer.text
        assert self._found(row, words) == before, "what was refused has changed something"

    def _words(self, row: Row) -> dict[str, str]:
        """What the row's set-up has made. Rows that begin alike share it, since none of them changes anything."""
        first = row.get("first", [])
        key = repr(first)
        if key not in self._made:
            words = self._made[key] = self.new()
            for step in first:
                self.succeeded(self.send(step, words))
        return self._made[key]

    def new(self) -> dict[str, str]:
        """A new group, and what the file's set-up makes in it."""
        group = new_group(self._azure)
        words = {
            "subscription": f"/subscriptions/{SUBSCRIPTION}",
            "url": self._azure.url,
            "tenant": self._azure.tenant_id,
            "principal": self._azure.principal_id,
            "group": group,
            "group_name": group.rsplit("/", 1)[1],
            "name": f"n{group[-12:]}",  # in lower case, and no other resource's
        }
        for name in self.content["setup"]:
            SETUPS[name](self._azure, words)
        return words | filled(self.content.get("words", {}), words)

    def send(self, row: Row, words: Mapping[str, str]) -> httpx.Response:
        method, path = filled(row["send"], words).split(" ", 1)
        path, _, query = path.partition("?")
        asked = dict(each.split("=", 1) for each in query.split("&") if each)
        if version := row.get("version", self.content["version"]):
            asked["api-version"] = version
        content = {"content": row["text"].encode("latin-1")} if "text" in row else {"json": self._body(row, words)}
        headers = {"Authorization": f"Bearer {words['token']}"} if "token" in words and path.startswith("/batch/") else {}
        with pytest.MonkeyPatch.context() as patch:
            if self.content.get("judged"):
                judging_as_if_things_ran(patch)
                patch.setattr(PromisedImages, "find", Images.find)
            return self._azure.client.request(method, path, params=asked, headers=headers, **content)

    def _body(self, row: Row, words: Mapping[str, str]) -> Any:
        given = row.get("body")
        body = copy.deepcopy(self.content["bodies"][given] if isinstance(given, str) else given)
        for path, value in row.get("with", {}).items():
            _at(body, path, lambda parent, name, value=value: parent.__setitem__(name, value))
        for path in row.get("without", ()):
            _at(body, path, lambda parent, name: parent.__delitem__(name))
        return filled(body, words)

    def _found(self, row: Row, words: Mapping[str, str]) -> Any:
        """What lies where a row changes something."""
        if not row["send"].startswith(_CHANGES):
            return None
        answer = self.send({**row, "send": f"GET {row['send'].split(' ', 1)[1]}", "body": None, "with": {}, "without": ()}, words)
        return answer.json() if answer.is_success else answer.status_code

    def succeeded(self, answer: httpx.Response) -> None:
        assert answer.is_success, answer.text
        if "azure-asyncoperation" in answer.headers or answer.status_code == 202:
            assert self._azure.finished(answer)["status"] == "Succeeded"


def _at(body: Any, path: str, change: Callable[[Any, Any], None]) -> None:
    """Changes what lies at a path, `a.b.0.c`."""
    *above, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in above:
        if isinstance(body, dict) and step not in body:
            body[step] = {}
        body = body[step]
    change(body, last)


def filled(value: Any, words: Mapping[str, str]) -> Any:
    match value:
        case dict():
            return {filled(name, words): filled(each, words) for name, each in value.items()}
        case list():
            return [filled(each, words) for each in value]
        case str():
            return _WORD.sub(lambda found: words.get(found[1], found[0]), value)
        case _:
            return value


def _error(answer: httpx.Response) -> dict[str, Any]:
    content = answer.json()
    if "error" in content:
        return content["error"]
    return {**content, "message": content["message"]["value"]}  # the data plane of Batch


def _named(answer: httpx.Response) -> set[str]:
    """The properties that a refusal names."""
    error = _error(answer)
    found = {error.get("target", "")}
    for each in error.get("details", ()):
        found |= {each.get("target", ""), *([each["message"]] if each["code"] in _PATHS else [])}
    return found | {each["value"] for each in error.get("values", ()) if each["key"] in _PATHS}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_row_is_refused(azure: InProcessAzure, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_plane, "is_free", lambda _: True)  # of ports of clusters, which don't run
    table = Table(azure, file)
    wrong = [
        told
        for number, row in enumerate(table.content["rows"], 1)
        if (told := failure(table.check, (row,), f"{number}: {row['send']}"))
    ]
    assert not wrong, "\n".join([f"{len(wrong)} of {len(table.content['rows'])} rows:", *wrong])
