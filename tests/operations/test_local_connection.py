"""A stack of the embedded Azure is found without `eval`; any other is left to the environment."""

import argparse
import os
from pathlib import Path

import pytest

from azure_gpu_operations import local_connection
from azure_gpu_operations.local_connection import use, variables

ENV = """\
export PULUMI_BACKEND_URL=file:///a/stacks
export PULUMI_CONFIG_PASSPHRASE='it'"'"'s one'
export PATH=/engine/bin:/venv/bin:"$PATH"
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    state = tmp_path / ".local"
    state.mkdir()
    (state / "env").write_text(ENV)
    (state / "Pulumi.local.yaml").write_text("config: {}\n")
    monkeypatch.setattr(local_connection, "CHECKOUT", tmp_path)
    monkeypatch.delenv("PULUMI_BACKEND_URL", raising=False)
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "")  # so that it is put back
    monkeypatch.setenv("PATH", "/usr/bin")
    return tmp_path


def test_a_stack_that_make_up_has_brought_up_is_connected_and_that_is_said(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = argparse.Namespace(stack="local", config_folder=None)
    use(options)
    assert options.config_folder == checkout / ".local"
    assert os.environ["PULUMI_CONFIG_PASSPHRASE"] == "it's one"
    assert os.environ["PATH"] == "/engine/bin:/venv/bin:/usr/bin"
    assert os.environ.pop("PULUMI_BACKEND_URL") == "file:///a/stacks"
    assert capsys.readouterr().err == (
        "stack local: using the embedded Azure (.local/env); set PULUMI_BACKEND_URL to use another backend\n"
    )


@pytest.mark.parametrize(
    "options",
    [
        argparse.Namespace(stack="prod", config_folder=None),
        argparse.Namespace(stack=None, config_folder=None),
        argparse.Namespace(stack="local", config_folder=Path("elsewhere")),
        argparse.Namespace(stack="local"),  # of `new`, where it is the name of a stack to come
    ],
    ids=["not there", "no stack", "a folder of its own", "no option for a folder"],
)
def test_anything_else_is_left_alone(checkout: Path, capsys: pytest.CaptureFixture[str], options: argparse.Namespace) -> None:
    before = vars(options).copy()
    use(options)
    assert (vars(options), os.environ["PATH"], capsys.readouterr().err) == (before, "/usr/bin", "")
    assert "PULUMI_BACKEND_URL" not in os.environ


def test_a_backend_that_is_set_is_the_one_that_is_meant(checkout: Path) -> None:
    assert variables(checkout / ".local", "local", {"PULUMI_BACKEND_URL": "https://api.pulumi.com"}) is None


def test_a_stack_file_without_a_connection_is_not_enough(checkout: Path) -> None:
    (checkout / ".local" / "env").unlink()
    assert variables(checkout / ".local", "local", {}) is None
