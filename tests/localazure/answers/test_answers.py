"""What the embedded Azure answers, by tables: one file for each service, with the lives of its resources step by step.

A file has the head of a table of refusals (`tests/localazure/refusals`), and `lives` by their names, each in a group of its own.
A step is a request as it is written there, with `answer`, a status, and the code of a refusal; where it has none, the request
succeeds, and what it begins, unless that `fails` with this in its message. Or it is a `fault`, with the arguments of the command,
or an `upload` of a blob, by account, container and name. Of the answer's body, for a PUT or PATCH of what GET has then, a step
says:

- `shows`: values by their paths, of an object at least these members; `lacks`: paths of nothing; `silent`: words that are nowhere
- `says`: a part of its text; `keeps`: new words, by the paths of what they stand for
- `differs`: paths of what isn't that any more

The steps of a path are joined by slashes: a name, a number, or `name=value` for the object of a list that has it.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from localazure.arm.kind import merged
from localazure.kubernetes import control_plane
from tests.localazure.refusals.test_refused import Table, filled
from tests.support.embedded import EmbeddedAzure
from tests.support.in_process import InProcessAzure
from tests.support.ml_resources import upload
from tests.support.rows import failure

FILES = sorted(Path(__file__).parent.glob("*.yaml"))


@pytest.fixture(autouse=True)
def _without_faults(azure: InProcessAzure, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(control_plane, "is_free", lambda _: True)  # of ports of clusters, which don't run
    yield
    azure.clear_faults()


def at(found: Any, path: str) -> Any:
    for step in path.split("/"):
        name, is_chosen, value = step.partition("=")
        if isinstance(found, list) and is_chosen:
            found = next((each for each in found if str(at(each, name.replace(".", "/"))) == value), None)
        elif isinstance(found, list):
            found = found[int(step)] if int(step) < len(found) else None
        else:
            found = found.get(step) if isinstance(found, dict) else None
    return found


def is_shown(expected: Any, found: Any) -> bool:
    if isinstance(expected, dict) and isinstance(found, dict):
        return bool(merged(found, expected) == found)
    return bool(expected == found)


def live(azure: EmbeddedAzure, table: Table, steps: list[Mapping[str, Any]]) -> None:
    words = table.new()
    azure.clear_faults()
    for number, step in enumerate(steps, 1):
        if "fault" in step:
            done = azure.command("fault", *map(str, step["fault"]))
            assert done.returncode == 0, f"step {number}: {done.stderr}"
        elif "upload" in step:
            upload(azure, *filled(step["upload"], words))
        else:
            told = failure(_sent, (azure, table, step, words), f"step {number}")
            assert not told, told


def _sent(azure: EmbeddedAzure, table: Table, step: Mapping[str, Any], words: dict[str, str]) -> None:
    answer = table.send(step, words)
    status, _, code = str(step.get("answer", "")).partition(" ")
    assert answer.is_success if not status else str(answer.status_code) == status, answer.text
    if "fails" in step:
        ended = azure.finished(answer)
        assert ended["status"] == "Failed", ended
        assert filled(step["fails"], words) in ended["error"]["message"], ended
    elif answer.is_success:
        table.succeeded(answer)
        if step["send"].startswith(("PUT", "PATCH")):
            answer = table.send({**step, "send": f"GET {step['send'].split(' ', 1)[1]}", "with": {}, "without": ()}, words)
    found = answer.json() if answer.content else {}
    assert not code or found["error"]["code"] == code, answer.text
    assert filled(step.get("says", ""), words) in answer.text, answer.text
    for path, expected in filled(step.get("shows", {}), words).items():
        assert is_shown(expected, at(found, path)), f"{path} is {at(found, path)!r}, not {expected!r}"
    for path in step.get("lacks", ()):
        assert at(found, path) is None, f"{path} is {at(found, path)!r}"
    for word in filled(step.get("silent", []), words):
        assert word not in answer.text, f"it tells {word}"
    for path, before in filled(step.get("differs", {}), words).items():
        assert at(found, path) not in (None, before), f"{path} is still {before!r}"
    words |= {word: at(found, path) for word, path in step.get("keeps", {}).items()}


def live_all(azure: EmbeddedAzure, file: Path) -> None:
    """Lives every life of a file. AssertionError that names those that went otherwise."""
    table = Table(azure, file)
    lives = table.content["lives"]
    wrong = [told for name, steps in lives.items() if (told := failure(live, (azure, table, steps), name))]
    assert not wrong, "\n".join([f"{len(wrong)} of {len(lives)} lives:", *wrong])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_life(azure: InProcessAzure, file: Path) -> None:
    live_all(azure, file)
