"""The stack of a pull request: its file, and which are past."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from azure_gpu.formats import bounded_yaml
from azure_gpu_operations import project as projects
from azure_gpu_operations.project import Project
from azure_gpu_operations.review import own_stack

FILE = """\
config:
  azure-native:subscriptionId: 00000000-0000-0000-0000-000000000000
  azure-gpu:team: vision
  azure-gpu:location: westeurope
  azure-gpu:extends: Pulumi.common.yaml
  azure-gpu:as_of: "2026-01-01"
  azure-gpu:lock_data: true
  azure-gpu:batch_account: {create: true, keep: true}
  azure-gpu:pools:
    train: {size: Standard_NC4as_T4_v3, expires_after: "2026-11-30"}
"""
COMMON = """\
config:
  azure-gpu:tags: {owner: ada}
  azure-gpu:ml_workspace: {computes: {gpu: {size: Standard_NC4as_T4_v3, expires_after: "2026-12-31"}}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    here = Project(tmp_path, tmp_path)
    for module in (projects, own_stack, own_stack.planned):
        monkeypatch.setattr(module, "project", lambda: here)
    (tmp_path / "Pulumi.yaml").write_text("name: azure-gpu\nruntime: python\n")
    (tmp_path / "Pulumi.dev.yaml").write_text(FILE)
    (tmp_path / "Pulumi.common.yaml").write_text(COMMON)
    return tmp_path


def test_everything_ends_and_nothing_is_protected_or_kept(folder: Path) -> None:
    assert own_stack.main(["write", "pr-7", "--from", "dev", "--days", "3"]) == 0
    written: Any = bounded_yaml.load((folder / "Pulumi.pr-7.yaml").read_text())
    config = written["config"]
    ends = config["azure-gpu:pools"]["train"]["expires_after"]
    assert 2 <= (datetime.fromisoformat(ends).replace(tzinfo=UTC) - datetime.now(UTC)).days + 1 <= 3
    assert config["azure-gpu:ml_workspace"]["computes"]["gpu"]["expires_after"] == ends
    assert config["azure-gpu:protect_data"] is False
    assert config["azure-gpu:tags"] == {"owner": "ada", "review": "pr-7"}
    assert config["azure-gpu:batch_account"] == {"create": True}
    assert config["azure-native:subscriptionId"].endswith("0000")
    assert config.keys().isdisjoint({"azure-gpu:extends", "azure-gpu:as_of", "azure-gpu:lock_data"})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (FILE.replace("vision", "{secure: v1:abc}"), "has encrypted values, which only its stack can decrypt: azure-gpu:team"),
        ("[", "Pulumi.dev.yaml"),
        (FILE.replace("common", "missing"), "file not found"),
    ],
)
def test_a_file_that_another_stack_can_t_have_is_refused_in_a_line(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, told: str
) -> None:
    (folder / "Pulumi.dev.yaml").write_text(text)
    assert own_stack.main(["write", "pr-7", "--from", "dev", "--days", "3"]) == 2
    said = capsys.readouterr().err
    assert (told in said, said.count("\n")) == (True, 1)
    assert not (folder / "Pulumi.pr-7.yaml").exists()


def test_a_file_that_is_not_there_is_a_line_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert own_stack.main(["write", "pr-7", "--from", "other", "--days", "3"]) == 2
    assert "Pulumi.other.yaml" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["write", "prod", "--from", "dev", "--days", "3"], ["past", "--days", "-1"], ["past", "--days", "x"]]
)
def test_only_stacks_of_pull_requests_are_taken(words: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        own_stack.main(words)


def test_past_is_what_nobody_has_updated_since() -> None:
    stacks = [
        {"name": "organization/azure-gpu/pr-1", "lastUpdate": "2026-11-20T10:00:00.000Z"},
        {"name": "pr-2", "lastUpdate": "2026-11-20T10:00:00.000Z"},
        {"name": "pr-3", "lastUpdate": "2026-11-25T10:00:00.000Z"},
        {"name": "pr-4", "lastUpdate": "2026-11-20T10:00:00.000Z", "updateInProgress": True},
        {"name": "pr-5"},
        {"name": "prod", "lastUpdate": "2026-11-20T10:00:00.000Z"},
        {"name": "pr-6-prod", "lastUpdate": "2026-11-20T10:00:00.000Z"},
    ]
    assert list(own_stack.past(stacks, datetime(2026, 11, 22, tzinfo=UTC))) == ["pr-1", "pr-2", "pr-5"]
