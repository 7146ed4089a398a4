"""What of a SavedModel is uploaded, what is refused, and the lines that the stack file gets."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from azure_gpu.formats.yaml_edit import EditError
from azure_gpu_operations.machine_learning import upload_command
from azure_gpu_operations.machine_learning.upload_command import ModelFile, WrongModelError, missing_files, read_model

Blobs = dict[str, tuple[int, str]]

STACK_FILE = """\
config:
  # Ours.
  azure-gpu:ml_workspace: create  # with all defaults
  azure-gpu:team: vision
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A SavedModel, as far as files go."""
    (tmp_path / "variables").mkdir()
    (tmp_path / "saved_model.pb").write_bytes(b"graph")
    (tmp_path / "variables" / "variables.index").write_bytes(b"index")
    (tmp_path / "variables" / "variables.data-00000-of-00001").write_bytes(b"numbers")
    return tmp_path


def never(name: str) -> str:
    raise AssertionError(f"{name} has a hash, and isn't to be read")


def blobs(files: list[ModelFile]) -> Blobs:
    return {file.name: (file.size, file.sha256) for file in files}


def test_every_file_is_sent_and_the_models_head_last(folder: Path) -> None:
    sent = missing_files(read_model(folder), {}, never, "digits/1")
    assert [file.name for file in sent] == [
        "variables/variables.data-00000-of-00001",
        "variables/variables.index",
        "saved_model.pb",
    ]


def test_what_is_there_unchanged_is_left_alone(folder: Path) -> None:
    files = read_model(folder)
    half = {name: blob for name, blob in blobs(files).items() if name != "saved_model.pb"}
    assert [file.name for file in missing_files(files, half, never, "digits/1")] == ["saved_model.pb"]
    assert missing_files(files, blobs(files), never, "digits/1") == []


def test_a_blob_without_a_hash_is_read(folder: Path) -> None:
    files = read_model(folder)
    bare = {name: (size, "") for name, (size, _) in blobs(files).items()}
    by_name = {file.name: file.sha256 for file in files}
    assert missing_files(files, bare, by_name.__getitem__, "digits/1") == []
    with pytest.raises(WrongModelError, match=r"saved_model\.pb"):
        missing_files(files, bare, lambda name: "other" if name == "saved_model.pb" else by_name[name], "digits/1")


@pytest.mark.parametrize(
    "change",
    [
        lambda held: {**held, "saved_model.pb": (5, "0" * 64)},
        lambda held: {**held, "saved_model.pb": (6, "")},
        lambda held: {**held, "assets/words.txt": (1, "")},
    ],
    ids=["another content", "another size", "a file more"],
)
def test_a_version_with_another_content_is_refused(folder: Path, change: Callable[[Blobs], Blobs]) -> None:
    files = read_model(folder)
    with pytest.raises(WrongModelError, match=r"digits/1 exists with different content .* choose a new --version"):
        missing_files(files, change(blobs(files)), never, "digits/1")


def test_a_folder_that_is_no_saved_model_is_refused_with_what_may_be_meant(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(WrongModelError, match=r"is not a SavedModel: it has no saved_model\.pb"):
        read_model(folder / "variables")
    around = tmp_path / "run"
    around.mkdir()
    (around / "saved_model").mkdir()
    (around / "saved_model" / "saved_model.pb").write_bytes(b"graph")
    with pytest.raises(WrongModelError, match=f"did you mean {around / 'saved_model'}"):
        read_model(around)
    with pytest.raises(WrongModelError, match="is not a folder"):
        read_model(folder / "saved_model.pb")


def test_a_link_that_leads_out_of_the_folder_is_refused(folder: Path) -> None:
    (folder / "passwords").symlink_to("/etc/passwd")
    with pytest.raises(WrongModelError, match="links to a path outside the folder"):
        read_model(folder)


def test_the_lines_say_name_version_and_path() -> None:
    config = yaml.safe_load(upload_command.lines("digits", "1.0"))
    model = {"model_name": "digits", "version": "1.0", "path": "digits/1.0"}
    assert config == {"azure-gpu:ml_workspace": {"models": {"digits-1-0": model}}}


def test_they_are_put_into_the_stack_file_beside_its_comments() -> None:
    once = upload_command.written(STACK_FILE, "digits", "1")
    assert "  # Ours.\n  azure-gpu:ml_workspace:  # with all defaults\n    models:\n      digits-1:\n" in once
    twice = upload_command.written(once, "digits", "2")
    assert sorted(yaml.safe_load(twice)["config"]["azure-gpu:ml_workspace"]["models"]) == ["digits-1", "digits-2"]
    assert upload_command.written(twice, "digits", "1") == twice


def test_another_model_of_that_name_in_the_stack_file_is_refused() -> None:
    other = upload_command.written(STACK_FILE, "digits", "1").replace("path: digits/1", "path: elsewhere")
    with pytest.raises(ValueError, match="with other settings"):
        upload_command.written(other, "digits", "1")
    with pytest.raises(ValueError, match="add `azure-gpu:ml_workspace: create` first"):
        upload_command.written("config:\n  azure-gpu:team: vision\n", "digits", "1")


@pytest.mark.parametrize(
    "text",
    ["config: [", "config: []", "config:\n  azure-gpu:ml_workspace:\n    models: [digits]\n"],
    ids=["no YAML", "a list", "a list of models"],
)
def test_a_stack_file_that_is_none_is_left_as_it_is(text: str) -> None:
    with pytest.raises(EditError):
        upload_command.written(text, "digits", "1")
