"""Lives of resources: requests one after another, and what each shows. The rows of a file are its `lives`, each by its name.

A step is written as a row of `tests/localazure/refusals` is, and says beside that:

- `answer`: the status, or status and code, where it isn't a success. `fails`: the message of the operation that it began.
- `shows`: what there is at paths, `a.b.0.c`, ~ for nothing: of a PUT or PATCH what GET shows once its operation has ended, of
  others their answer. `has`: parts of texts there. `changed`: what isn't there any more. `hides`: what appears nowhere.
- `names`: of the resources that it lists. `keeps`: words for the steps that follow, by paths.
- `fault`: sets one, in place of a request. `upload`: a blob, by account, container and name.

Each life has a group of its own, with what the file's `setup` makes.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from tests.localazure.refusals.test_refused import Row, Table, filled
from tests.support import ml_resources as ml
from tests.support.embedded import EmbeddedAzure
from tests.support.rows import failure


def live(azure: EmbeddedAzure, file: Path) -> None:
    """Lives every life of a file. AssertionError that names those that went otherwise."""
    table = Table(azure, file)
    wrong = [said for name in table.content["lives"] if (said := failure(_Life(azure, table, name).whole, (), name))]
    assert not wrong, "\n".join([f"{len(wrong)} of {len(table.content['lives'])} lives:", *wrong])


class _Life:
    def __init__(self, azure: EmbeddedAzure, table: Table, name: str) -> None:
        self._azure, self._table = azure, table
        self._steps: list[Row] = table.content["lives"][name]

    def whole(self) -> None:
        self._words = self._table.new()
        for number, step in enumerate(self._steps, 1):
            failed = failure(self._step, (step,), f"step {number}")
            assert not failed, failed

    def _step(self, step: Row) -> None:
        if "fault" in step:
            self._azure.fault(**step["fault"])
            return
        if "upload" in step:
            ml.upload(self._azure, *filled(step["upload"], self._words))
            return
        answer = self._table.send(step, self._words)
        found = self._ended(step, answer)
        for path, expected in filled(step.get("shows", {}), self._words).items():
            assert _at(found, path) == expected, f"{path} is {_at(found, path)!r}, not {expected!r}"
        for path, expected in filled(step.get("has", {}), self._words).items():
            assert expected in str(_at(found, path)), f"{path} is {_at(found, path)!r}, without {expected!r}"
        for path, former in filled(step.get("changed", {}), self._words).items():
            assert _at(found, path) not in (None, former), path
        for text in step.get("hides", ()):
            assert text not in answer.text + str(found)
        if "names" in step:
            assert [each["name"] for each in found["value"]] == filled(step["names"], self._words)
        self._words |= {word: str(_at(found, path)) for word, path in step.get("keeps", {}).items()}

    def _ended(self, step: Row, answer: httpx.Response) -> Any:
        """What the answer, or the resource that it made, has."""
        if "answer" in step:
            told = f"{answer.status_code} {answer.json()['error']['code']}" if answer.is_error and answer.content else ""
            assert str(step["answer"]) in (told, str(answer.status_code)), answer.text
            return answer.json() if answer.content else None
        if "fails" in step:
            ended = self._azure.finished(answer)
            assert ended["status"] == "Failed", ended
            assert filled(step["fails"], self._words) in ended["error"]["message"]
            return ended["error"]
        if step["send"].startswith(("PUT", "PATCH")):
            return ml.done(self._azure, answer)
        assert answer.is_success, answer.text
        if "azure-asyncoperation" in answer.headers or "location" in answer.headers:
            assert self._azure.finished(answer)["status"] == "Succeeded"
        return answer.json() if answer.content else None


def _at(found: Any, path: str) -> Any:
    """What lies at a path; None where nothing does. `#` is how many there are, `*` the names of what is there."""
    for name in _parts(path):
        if name in ("#", "*"):
            return len(found) if name == "#" else sorted(found)
        named: dict[Any, Any] = dict(enumerate(found)) if isinstance(found, list) else found or {}
        found = named.get(int(name) if name.isdigit() else name)
    return found


def _parts(path: str) -> Iterator[str]:
    return filter(None, path.split("."))
