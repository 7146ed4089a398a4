"""The way to an API server by kubectl: what comes of a login that fails, and that nothing is left of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from localazure.kubernetes_plugin.api import Api, UnreachableError
from localazure.kubernetes_plugin.kubeconfig import access, parsed
from tests.localazure.kubernetes_plugin.conftest import kubeconfig
from tests.support.embedded import until

pytestmark = pytest.mark.slow
VERSION = "client.authentication.k8s.io/v1"
_ASK = f"from {__name__} import asked; print(asked(token='t'), flush=True); input()"


def asked(**user: object) -> str:
    """What is said of a server that isn't there, to a user with this login."""
    given = kubeconfig(**user)
    api = Api(access(parsed(given), given=given))
    with pytest.raises(UnreachableError) as failed:
        api.look()
    return str(failed.value)


@pytest.fixture(autouse=True)
def _kubectl(kubernetes_bin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(kubernetes_bin), prepend=os.pathsep)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)


@pytest.mark.parametrize(
    ("user", "said"),
    [
        ({"token": "t"}, 'Get "https://127.0.0.1:1/version": dial tcp 127.0.0.1:1: connect: connection refused'),
        ({"command": "no-such-login", "installHint": "from there"}, "exec: executable no-such-login not found"),
        ({"command": "no-such-login", "installHint": "from there"}, "from there"),
        ({"command": "sh", "args": ["-c", "echo AADSTS700016 >&2; exit 1"]}, "sh failed with exit code 1 AADSTS700016"),
        ({"command": "echo", "args": ["{}"]}, f"configured to use API version {VERSION}, plugin returned version"),
        ({"command": "echo", "args": ["hush-token"]}, "decoding stdout"),
        ({"command": "sh", "interactiveMode": "Always"}, "standard input is not a terminal"),
    ],
)
def test_a_server_or_a_login_that_does_not_answer_is_told_with_its_reason(user: dict[str, str], said: str) -> None:
    login = {"apiVersion": VERSION, "interactiveMode": "Never", **user}
    told = asked(**(user if "token" in user else {"exec": login}))
    assert said in told
    assert "hush" not in told


def test_without_kubectl_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert asked(token="t").endswith("kubectl isn't on PATH, by which this plugin reaches clusters")


def test_nothing_is_left_of_a_plugin_that_was_killed(tmp_path: Path) -> None:
    ask = [sys.executable, "-c", _ASK]
    with subprocess.Popen(ask, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as plugin:
        assert plugin.stdout is not None
        assert "connection refused" in plugin.stdout.readline()
        (folder,) = tmp_path.glob("kubectl-*")
        assert folder.stat().st_mode & 0o777 == 0o700
        assert not (folder / "config").exists(), "which may hold a secret"
        plugin.kill()
    until(lambda: not folder.exists(), "its folder is removed")
    assert str(folder) not in subprocess.run(["ps", "-eww", "-o", "args="], capture_output=True, text=True, check=True).stdout
