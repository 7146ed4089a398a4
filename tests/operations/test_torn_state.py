"""States that a full disk has torn."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from azure_gpu_operations import torn_state

WHOLE, OLDER, TORN = '{"version": 3}', '{"version": 2}', '{"versi'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / ".pulumi" / "stacks" / "azure-gpu"
    folder.mkdir(parents=True)
    return folder / "dev.json"


def written(file: Path, state: str, backup: str = "", kept: str = "") -> None:
    """Each under another name first, as the engine does."""
    for suffix, text in (("", state), (".bak", backup), (".whole", kept)):
        if text:
            new = file.with_name("new")
            new.write_text(text)
            new.replace(file.with_name(f"{file.name}{suffix}"))


def test_a_torn_state_is_put_back_from_what_was_kept_and_else_from_its_backup(tmp_path: Path, file: Path) -> None:
    written(file, TORN, backup=TORN, kept=WHOLE)
    assert torn_state.put_back(tmp_path) == ["dev.json"]
    assert file.read_text() == WHOLE
    written(file, TORN, backup=OLDER)
    assert torn_state.put_back(tmp_path) == ["dev.json"]
    assert file.read_text() == OLDER


def test_a_whole_state_stays_and_what_was_kept_for_it_goes(tmp_path: Path, file: Path) -> None:
    written(file, WHOLE, backup=OLDER, kept=OLDER)
    assert torn_state.put_back(tmp_path) == []
    assert file.read_text() == WHOLE
    assert sorted(each.name for each in file.parent.iterdir()) == ["dev.json", "dev.json.bak"]


def test_where_nothing_is_whole_nothing_is_touched(tmp_path: Path, file: Path) -> None:
    written(file, TORN, backup=TORN)
    assert torn_state.put_back(tmp_path) == []
    assert file.read_text() == TORN


class Looks:
    """In place of the event that ends the watching: does the next step before each look, and ends after the last."""

    def __init__(self, *steps: Callable[[], None]) -> None:
        self.steps = list(steps)

    def wait(self, _: float) -> bool:
        if not self.steps:
            return True
        self.steps.pop(0)()
        return False


def watched(file: Path, *steps: Callable[[], None]) -> None:
    looks: Any = Looks(*steps)
    torn_state._watch(file, looks)


def test_what_was_last_whole_is_kept_although_state_and_backup_are_torn(tmp_path: Path, file: Path) -> None:
    written(file, OLDER)
    with torn_state.kept(tmp_path, "azure-gpu", "dev"):
        assert file.with_name("dev.json.whole").read_text() == OLDER
    watched(file, lambda: written(file, WHOLE), lambda: written(file, TORN, backup=TORN))
    assert torn_state.put_back(tmp_path) == ["dev.json"]
    assert file.read_text() == WHOLE


def test_the_backup_of_a_torn_state_is_kept_although_it_is_torn_next(tmp_path: Path, file: Path) -> None:
    written(file, OLDER, backup=WHOLE)
    watched(file, lambda: written(file, TORN), lambda: written(file, TORN, backup=TORN))
    assert torn_state.put_back(tmp_path) == ["dev.json"]
    assert file.read_text() == WHOLE


def test_a_backup_that_is_older_than_what_is_kept_is_none(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torn_state, "LOOK_SECONDS", 0.001)
    written(file, WHOLE, backup=OLDER)
    os.utime(file.with_name("dev.json.bak"), ns=(0, 0))
    with torn_state.kept(tmp_path, "azure-gpu", "dev"):
        written(file, TORN)  # and the backup as it was: there is no room for another
    assert torn_state.put_back(tmp_path) == ["dev.json"]
    assert file.read_text() == WHOLE


def test_a_run_that_tears_nothing_leaves_nothing(tmp_path: Path, file: Path) -> None:
    with torn_state.kept(tmp_path, "azure-gpu", "dev"):
        written(file, WHOLE)
    assert [each.name for each in file.parent.iterdir()] == ["dev.json"]


def test_a_backend_that_is_no_folder_has_nothing_to_keep() -> None:
    with torn_state.kept(None, "azure-gpu", "dev"):
        pass
