"""Application packages as zip files: the same content gives the same bytes."""

import io
import os
import zipfile
from pathlib import Path

import pytest

from azure_gpu_operations.batch.command import how_to_use, zipped


def packed(path: Path) -> bytes:
    content, problems = zipped(path, "GPUDriver", "411.82")
    assert problems == []
    assert content is not None
    return content


def test_a_folder_is_packed_with_its_paths_and_whether_a_file_may_run(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "install.sh").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "install.sh").chmod(0o755)
    (tmp_path / "notes.txt").write_text("x")
    with zipfile.ZipFile(io.BytesIO(packed(tmp_path))) as archive:
        assert [(each.filename, each.external_attr >> 16) for each in archive.infolist()] == [
            ("bin/install.sh", 0o755),
            ("notes.txt", 0o644),
        ]


def test_the_same_content_gives_the_same_bytes_whenever_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "GPUDriverSetup.exe"
    file.write_text("installs")
    first = packed(file)
    os.utime(file, (1_000_000_000, 1_000_000_000))
    assert packed(file) == first
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        assert archive.namelist() == ["GPUDriverSetup.exe"]


def test_a_zip_file_is_taken_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "driver.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("setup.exe", "x")
    assert packed(file) == file.read_bytes()


def test_what_can_not_be_pushed_is_said_before_anything_is_asked_of_azure(tmp_path: Path) -> None:
    (tmp_path / "no.zip").write_text("no zip file")
    (tmp_path / "empty").mkdir()
    assert [problem.path for problem in zipped(tmp_path / "none", "a b", "1/2")[1]] == [
        "--application",
        "--version",
        "FOLDER|FILE",
    ]
    for name, message in (("no.zip", "not a zip file"), ("empty", "the folder is empty")):
        content, problems = zipped(tmp_path / name, "GPUDriver", "1")
        assert content is None
        assert message in str(problems[0])


@pytest.mark.parametrize("line", ["%AZ_BATCH_APP_PACKAGE_GPUDriver#411.82%", "$AZ_BATCH_APP_PACKAGE_GPUDriver_411_82"])
def test_a_start_task_finds_it_under_its_name(line: str) -> None:
    assert any(line in said for said in how_to_use("GPUDriver", "411.82"))
