"""A task's folder as clients may see it: nothing outside of it, whatever the task has made and the client asks."""

import os
from pathlib import Path

import pytest

from localazure.batch.service import folders


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A task's folder beside something that nobody may read."""
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "task-other").mkdir()
    (tmp_path / "task-other" / "theirs.txt").write_text("theirs")
    root = tmp_path / "task"
    (root / "wd" / "deep" / "er").mkdir(parents=True)
    (root / "stdout.txt").write_text("hello")
    (root / "wd" / "deep" / "er" / "x.bin").write_bytes(b"\x00\x01")
    return root


def names(root: Path, *, recursive: bool) -> list[str]:
    return [entry.name for entry in folders.entries(root, recursive=recursive)]


def read(root: Path, name: str) -> bytes | None:
    found = folders.find(root, name)
    if found is None:
        return None
    entry, handle = found
    try:
        return os.read(handle, 100) if not entry.is_directory else b"(a folder)"
    finally:
        os.close(handle)


def test_a_folder_shows_what_lies_in_it_and_below_it_when_asked(root: Path) -> None:
    assert names(root, recursive=False) == ["stdout.txt", "wd"]
    assert names(root, recursive=True) == ["stdout.txt", "wd", "wd/deep", "wd/deep/er", "wd/deep/er/x.bin"]


def test_files_and_folders_are_found_by_their_paths(root: Path) -> None:
    assert read(root, "stdout.txt") == b"hello"
    assert read(root, "wd/deep/er/x.bin") == b"\x00\x01"
    assert read(root, "wd/deep") == b"(a folder)"
    assert read(root, "wd//deep/./er/x.bin") == b"\x00\x01"


@pytest.mark.parametrize(
    "name",
    [
        "../secret.txt",
        "wd/../../secret.txt",
        "wd/../stdout.txt",
        "/etc/passwd",
        "..",
        "../task-other/theirs.txt",
        "wd/\0/x",
        "none",
        "stdout.txt/x",
        "a" * 5000,
        "/".join("a" * 300),
        "\udcff",
    ],
)
def test_no_path_leads_out_of_the_folder(root: Path, name: str) -> None:
    assert read(root, name) is None
    assert (root.parent / "secret.txt").read_text() == "secret"
    assert (root / "stdout.txt").read_text() == "hello"


@pytest.mark.parametrize("target", ["../../secret.txt", "/etc/passwd", "../../task-other", "../..", "loop", "nowhere"])
def test_a_link_that_leads_elsewhere_is_as_if_it_were_not_there(root: Path, target: str) -> None:
    (root / "wd" / "loop").symlink_to(target)
    assert read(root, "wd/loop") is None
    assert read(root, "wd/loop/theirs.txt") is None
    assert "wd/loop" not in names(root, recursive=True)


def test_a_link_inside_of_the_folder_is_followed(root: Path) -> None:
    (root / "wd" / "latest").symlink_to("deep/er/x.bin")
    (root / "wd" / "circle").symlink_to("..")
    assert read(root, "wd/latest") == b"\x00\x01"
    assert read(root, "wd/circle/stdout.txt") == b"hello"
    assert names(root, recursive=True).count("wd/circle") == 1
    assert not [name for name in names(root, recursive=True) if name.startswith("wd/circle/")]


def test_a_pipe_is_no_file_and_keeps_nobody_waiting(root: Path) -> None:
    os.mkfifo(root / "wd" / "pipe")
    assert read(root, "wd/pipe") is None
    assert "wd/pipe" not in names(root, recursive=True)
