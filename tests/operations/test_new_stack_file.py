"""`new`: a stack file from an example, checked by the program itself, never over another one."""

import subprocess
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from azure_gpu_operations import new, planned
from azure_gpu_operations.__main__ import main
from azure_gpu_operations.project import Project
from tests.support.embedded import CHECKOUT, SUBSCRIPTION

ACCOUNT = new.Account(SUBSCRIPTION, "11111111-1111-1111-1111-111111111111")
TEMPLATE = (CHECKOUT / "examples" / "t4-tonight" / "stack.yaml").read_text(encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's folder of the test's own, and an account in the environment."""
    monkeypatch.setattr(new, "project", lambda: Project(CHECKOUT, tmp_path))
    monkeypatch.setenv("ARM_SUBSCRIPTION_ID", ACCOUNT.subscription_id)
    monkeypatch.setenv("ARM_TENANT_ID", ACCOUNT.tenant_id)
    return tmp_path


def az(monkeypatch: pytest.MonkeyPatch, answer: str, code: int = 0) -> None:
    """An Azure CLI that answers so, and no account in the environment."""

    def run(words: list[str], **_: object) -> "subprocess.CompletedProcess[str]":
        assert words == ["az", "account", "show", "--output", "json"]
        return subprocess.CompletedProcess(words, code, answer, "")

    monkeypatch.setattr(new.subprocess, "run", run)
    monkeypatch.setattr(new.shutil, "which", lambda _: "/usr/bin/az")
    monkeypatch.delenv("ARM_SUBSCRIPTION_ID")
    monkeypatch.delenv("ARM_TENANT_ID")


def keys(project: Path, stack: str = "tonight") -> dict[str, object]:
    return yaml.safe_load((project / f"Pulumi.{stack}.yaml").read_text())["config"]


def test_the_file_has_account_team_region_and_an_end_so_many_days_ahead(project: Path) -> None:
    assert main(["new", "tonight", "--example", "t4-tonight", "--team", "vision", "--location", "West US 3", "--days", "3"]) == 0
    config = keys(project)
    assert config["azure-native:subscriptionId"] == ACCOUNT.subscription_id
    assert config["azure-native:tenantId"] == ACCOUNT.tenant_id
    assert (config["azure-gpu:team"], config["azure-gpu:location"]) == ("vision", "westus3")
    jobs = config["azure-gpu:jobs"]
    assert isinstance(jobs, dict)
    end = date.fromisoformat(jobs["tonight"]["expires_after"])
    assert end - datetime.now(UTC).date() in (timedelta(days=3), timedelta(days=2))  # the day may have changed meanwhile


def test_the_program_takes_what_is_written(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.tonight.yaml"
    file.write_text(new.filled(TEMPLATE, "vision", "eastus", ACCOUNT, datetime.now(UTC).date(), 7))
    assert planned.inventory(CHECKOUT, file, "tonight").problems == ()


def test_without_variables_the_azure_clis_login_counts(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    az(monkeypatch, '{"id": "sub", "tenantId": "ten"}')
    assert main(["new", "tonight", "--example", "t4-tonight", "--team", "x"]) == 0
    assert keys(project)["azure-native:subscriptionId"] == "sub"
    assert keys(project)["azure-native:tenantId"] == "ten"


@pytest.mark.parametrize(("answer", "code"), [("", 1), ("no json", 0)])
def test_without_a_login_the_fix_is_told(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: str, code: int
) -> None:
    az(monkeypatch, answer, code)
    assert main(["new", "tonight", "--example", "t4-tonight"]) == 2
    text = capsys.readouterr().err
    assert "the Azure CLI isn't signed in" in text
    assert "run `az login`, or set ARM_SUBSCRIPTION_ID and ARM_TENANT_ID" in text
    assert list(project.glob("Pulumi.*")) == []


@pytest.mark.parametrize("team", ["123", "on", "null", "1e3"])
def test_a_team_is_text_whatever_yaml_would_take_it_for(project: Path, team: str) -> None:
    assert main(["new", "tonight", "--example", "t4-tonight", "--team", team]) == 0
    assert keys(project)["azure-gpu:team"] == team


def test_without_a_team_it_is_the_users_own(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new.getpass, "getuser", lambda: "ada.lovelace")
    assert main(["new", "tonight", "--example", "t4-tonight"]) == 0
    assert keys(project)["azure-gpu:team"] == "ada-lovelace"


DEV = """\
# An environment.
encryptionsalt: v1:abc
config:
  azure-gpu:team: vision  # who owns it
  azure-gpu:location: westeurope
  azure-gpu:jobs:
    train:
      gpu: T4
      secret_environment:
        TOKEN:
          secure: v1:xyz
      args:
        - a
"""


def test_the_next_environment_is_a_copy_with_its_comments_and_without_what_only_the_first_can_read(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "Pulumi.dev.yaml").write_text(DEV)
    assert main(["new", "staging", "--from", "dev", "--location", "North Europe"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown == [
        "wrote Pulumi.staging.yaml: a copy of Pulumi.dev.yaml",
        "quota: GPU quota of Container Apps belongs to one environment: after `up`, `python -m operations preflight "
        "--stack staging` shows the quota and how to request more; `keep: true` of job_environment keeps it after `down`",
        "next: pulumi config set --secret --path 'azure-gpu:jobs.train.secret_environment.TOKEN' --stack staging",
        "next: python -m operations up --stack staging",
    ]
    text = (project / "Pulumi.staging.yaml").read_text()
    assert text.startswith(
        "# An environment.\nconfig:\n  azure-gpu:team: vision  # who owns it\n  azure-gpu:location: northeurope\n"
    )
    assert keys(project, "staging")["azure-gpu:jobs"] == {"train": {"gpu": "T4", "secret_environment": None, "args": ["a"]}}
    assert "v1:" not in text
