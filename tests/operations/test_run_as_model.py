"""`run --model`: what is requested, and the model that a run's files hold."""

from pathlib import Path
from typing import Any

import pytest

from azure_gpu_operations.connection import Connection
from azure_gpu_operations.machine_learning.upload_command import Model
from azure_gpu_operations.run import as_model, carried
from azure_gpu_operations.stack_view import StackView

VIEW = StackView("dev", Connection("s"), storage="/storage", ml_workspace="/workspace")


def test_a_name_with_a_version_and_one_whose_version_is_the_time() -> None:
    assert as_model.resolve("digits:3", ["out"], VIEW, detach=False) == (Model("digits", "3"), [])
    model, problems = as_model.resolve("digits", ["out"], VIEW, detach=False)
    assert (problems, model is not None and len(model.version)) == ([], 15)
    assert as_model.resolve("", [], None, detach=True) == (None, [])


def test_everything_that_is_wrong_is_told_at_once() -> None:
    _, problems = as_model.resolve("a/b:c d", [], VIEW._replace(ml_workspace=""), detach=True)
    assert [str(each).partition(";")[0] for each in problems] == [
        "--model: not a valid model name",
        "--model: not a valid version",
        "--model: requires --output",
        "--detach: can't be combined with --model: the model is made when the run ends",
        "--model: the stack has no Azure ML workspace",
    ]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Model, bool]]:
    """What was brought into the store, in place of bringing it: the folder's own name, the model, whether the file is written."""
    found: list[tuple[str, Model, bool]] = []

    class Closed:
        def __init__(self, *_: object) -> None: ...

        def close(self) -> None: ...

    def bring(view: StackView, folder: Path, model: Model, own_file: Path, *, write: bool) -> int:
        found.append((folder.name, model, write))
        return 0

    monkeypatch.setattr("azure_gpu_operations.azure.Arm", Closed)
    monkeypatch.setattr("azure_gpu_operations.batch.blobs.Blobs", Closed)
    monkeypatch.setattr(as_model, "bring", bring)
    return found


def left(monkeypatch: pytest.MonkeyPatch, *folders: str) -> None:
    def fetch(blobs: Any, run: str, folder: Path) -> int:
        for name in folders:
            (folder / name).mkdir(parents=True)
            (folder / name / as_model.SAVED_MODEL).write_text("")
        return len(folders)

    monkeypatch.setattr(carried, "fetch", fetch)


def test_the_only_saved_model_is_brought_and_the_next_command_named(
    made: list[tuple[str, Model, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    left(monkeypatch, "output/saved_model")
    said: list[str] = []
    assert as_model.make(VIEW, "run-1", Model("digits", "3"), Path("Pulumi.dev.yaml"), said.append) == 0
    assert made == [("saved_model", Model("digits", "3"), True)]
    assert said == ["the model digits, version 3: python -m operations up --stack dev registers it"]


@pytest.mark.parametrize(("folders", "what"), [((), "no SavedModel"), (("a", "b"), "2 SavedModels")])
def test_none_and_several_are_told_with_the_command_that_fetches_them(
    made: list[tuple[str, Model, bool]], monkeypatch: pytest.MonkeyPatch, folders: tuple[str, ...], what: str
) -> None:
    left(monkeypatch, *folders)
    said: list[str] = []
    assert as_model.make(VIEW, "run-1", Model("digits", "3"), Path("Pulumi.dev.yaml"), said.append) == 1
    assert said == [
        f"error: the run's output contains {what}; to fetch it: python -m operations logs run-1 --into FOLDER --stack dev"
    ]
    assert made == []
