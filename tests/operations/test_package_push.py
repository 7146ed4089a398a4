"""`upload package` right after a stack's first `up`, when the role of the account's identity on its storage doesn't work yet."""

import io
import os
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from azure.core.exceptions import HttpResponseError

from azure_gpu_operations.azure import AzureError
from azure_gpu_operations.batch import packages
from azure_gpu_operations.batch.command import how_to_use, zipped
from azure_gpu_operations.batch.packages import NO_ROLE_YET, PAUSE_SECONDS, Packages

ACCOUNT = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Batch/batchAccounts/account"


def refusal(code: str) -> HttpResponseError:
    error = HttpResponseError("refused")
    error.status_code, error.error = 403, cast(Any, SimpleNamespace(code=code, message="The linked storage account refused."))
    return error


class Pushed:
    """A push of a package whose first requests are refused, with a clock that only waiting moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, code: str, times: int) -> None:
        self.said: list[str] = []
        self.now = 0.0
        self._refusals = [refusal(code)] * times
        asked = SimpleNamespace(create=self._create, get=lambda *_: SimpleNamespace(properties=None), activate=lambda *_: None)
        client = SimpleNamespace(application=SimpleNamespace(get=lambda *_: None), application_package=asked)
        monkeypatch.setattr(packages, "management_client", lambda *_: client)
        monkeypatch.setattr(Packages, "_upload", lambda *_: None)
        self._packages = Packages(cast(Any, None), ACCOUNT, sleep=self._sleep, clock=lambda: self.now)

    def push(self) -> None:
        self._packages.push("tool", "1", b"", self.said.append)

    def _create(self, *_: object) -> None:
        if self._refusals:
            raise self._refusals.pop()

    def _sleep(self, seconds: float) -> None:
        self.now += seconds


def test_a_role_that_does_not_work_yet_is_waited_for_and_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pushed = Pushed(monkeypatch, NO_ROLE_YET, 3)
    pushed.push()
    assert pushed.now == 3 * PAUSE_SECONDS
    assert [line for line in pushed.said if "doesn't work yet" in line] == pushed.said[:1]
    assert "is active" in pushed.said[-1]


def test_a_role_that_never_works_is_told_as_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    pushed = Pushed(monkeypatch, NO_ROLE_YET, 1000)
    with pytest.raises(AzureError, match=NO_ROLE_YET):
        pushed.push()
    assert pushed.now == packages.LIMIT_SECONDS


def test_a_login_that_may_not_push_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pushed = Pushed(monkeypatch, "AuthorizationFailed", 1)
    with pytest.raises(AzureError, match="the role Contributor on the Batch account"):
        pushed.push()
    assert pushed.now == 0


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
