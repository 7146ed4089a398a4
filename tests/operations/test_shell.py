"""`operations shell` with an Azure CLI that notes how it is called; the real one is run by tests/stack."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from unittest import mock

import pytest

from azure_gpu_operations.__main__ import main
from azure_gpu_operations.connection import Connection
from azure_gpu_operations.shell import cli
from azure_gpu_operations.shell.environment import CUSTOM_CLOUD, cloud_of, configuration_folder
from tests.support.embedded import CHECKOUT
from tests.support.patience import SECONDS

SECRET = "-a secret = of 32 characters @ 123"
CONNECTED = {
    "ARM_SUBSCRIPTION_ID": "11111111-1111-1111-1111-111111111111",
    "ARM_TENANT_ID": "22222222-2222-2222-2222-222222222222",
    "ARM_CLIENT_ID": "33333333-3333-3333-3333-333333333333",
    "ARM_CLIENT_SECRET": SECRET,
    "ARM_METADATA_HOSTNAME": "localhost:8443",
    "ARM_DISABLE_INSTANCE_DISCOVERY": "true",
}
AZ = f"""#!/bin/sh
[ "$1" != version ] || echo '{{"azure-cli": "{cli.VERSION}"}}'
[ "$1" != group ] || echo groups
"""


class Became(BaseException):
    """The process has become a command."""

    def __init__(self, words: list[str], environment: dict[str, str]) -> None:
        super().__init__()
        self.words = words
        self.environment = environment


class Done(NamedTuple):
    """How `shell` ended: by a command, or with an exit code."""

    code: int | None
    said: str
    words: Sequence[str] = ()
    environment: Mapping[str, str] = MappingProxyType({})


class Shell:
    """`shell` in the test's process, with an Azure CLI that notes how it is called and a state folder of its own."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.state = folder / "state"
        self.state.mkdir()
        (folder / "az").write_text(AZ)
        (folder / "az").chmod(0o755)
        self.environment = {
            "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "SHELL": "/bin/sh",
        }
        self.fails = ""  # the command of `az` that is refused
        self._calls: list[dict[str, Any]] = []
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def run(self, *words: str, **changed: str) -> Done:
        with self._monkeypatch.context() as given, mock.patch.dict(os.environ, self.environment | changed, clear=True):
            given.setattr(subprocess, "run", self._az)
            given.setattr(os, "execvpe", self._become)
            try:
                code = main(["shell", "--config-folder", str(self.state), *words])
                return Done(code, self._capsys.readouterr().err)
            except Became as became:
                return Done(None, self._capsys.readouterr().err, became.words, became.environment)

    def _become(self, program: str, words: list[str], environment: dict[str, str]) -> None:
        if program == "no-such-command":
            raise FileNotFoundError(2, os.strerror(2))
        raise Became(words, environment)

    def _az(self, command: list[str], *, env: dict[str, str], input: str = "", **_: Any) -> "subprocess.CompletedProcess[str]":
        """The Azure CLI, as far as it is used."""
        words = command[1:]
        if words[0] == "version":
            return subprocess.CompletedProcess(command, 0, json.dumps({"azure-cli": cli.VERSION}), "")
        settings = {name: value for name, value in env.items() if name.startswith("AZURE_")}
        self._calls.append({"words": words, "given": input, "settings": settings})
        if words[0] == self.fails:
            return subprocess.CompletedProcess(command, 1, "", "ERROR: AADSTS7000215: Invalid client secret provided.\n")
        folder = Path(env["AZURE_CONFIG_DIR"])
        if words[:2] == ["cloud", "register"]:
            (folder / "clouds.config").write_text(f"[{words[3]}]\nendpoint_resource_manager = {words[5]}\n")
        if words[0] == "login":
            (folder / "azureProfile.json").write_text(json.dumps({"subscriptions": [{"id": "1"}]}), encoding="utf-8-sig")
        return subprocess.CompletedProcess(command, 0, "", "")

    def calls(self) -> list[dict[str, Any]]:
        """What `az` was called with since the last time."""
        calls, self._calls = self._calls, []
        return calls

    def commands(self) -> list[str]:
        """The first two words of each call."""
        return [" ".join(call["words"][:2]) for call in self.calls()]


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path, monkeypatch, capsys)


def test_the_cloud_is_registered_and_the_principal_signed_in_once(shell: Shell) -> None:
    done = shell.run("--", "az", "group", "list", **CONNECTED)
    assert done.words == ["az", "group", "list"]
    register, choose, login, account = shell.calls()
    assert register["words"][:6] == [
        *("cloud", "register", "--name", CUSTOM_CLOUD),
        *("--endpoint-resource-manager", "https://localhost:8443"),
    ]
    assert choose["words"][:4] == ["cloud", "set", "--name", CUSTOM_CLOUD]
    assert login["words"][:3] == ["login", "--service-principal", "--username"]
    assert account["words"][:4] == ["account", "set", "--subscription", CONNECTED["ARM_SUBSCRIPTION_ID"]]
    assert login["given"] == SECRET, "on standard input, and in no command line"
    assert SECRET not in json.dumps([call["words"] for call in (register, choose, login, account)]) + done.said

    shell.run("--", "az", "group", "list", **CONNECTED)
    assert shell.commands() == []
    shell.run("--", "true", **CONNECTED | {"ARM_CLIENT_SECRET": "another"})
    assert shell.commands() == ["login --service-principal", "account set"]


def test_a_folder_that_is_not_there_is_not_made(shell: Shell) -> None:
    shell.state.rmdir()
    assert shell.run("--", "true", **CONNECTED) == Done(1, f"error: folder {shell.state} not found\n")
    assert not shell.state.exists()


def test_nothing_is_sent_or_installed_unasked_and_the_users_own_configuration_is_left_alone(shell: Shell) -> None:
    users = {"AZURE_CONFIG_DIR": "/nowhere", "AZURE_EXTENSION_DIR": "/nowhere", "AAD_LOGIN_METHOD": "spn"}
    done = shell.run("--", "az", "group", "list", **CONNECTED, **users)
    settings = shell.calls()[-1]["settings"]
    assert settings == {name: value for name, value in done.environment.items() if name.startswith("AZURE_")}
    folder = Path(settings.pop("AZURE_CONFIG_DIR"))
    assert shell.state in folder.parents
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert settings == {
        "AZURE_EXTENSION_DIR": str(folder / "cliextensions"),
        "AZURE_CORE_COLLECT_TELEMETRY": "no",
        "AZURE_CORE_SURVEY_MESSAGE": "no",
        "AZURE_EXTENSION_USE_DYNAMIC_INSTALL": "no",
        "AZURE_CORE_INSTANCE_DISCOVERY": "false",
    }
    assert "AAD_LOGIN_METHOD" not in done.environment, "kubelogin asks the CLI there, however it logs in elsewhere"
    assert done.environment["ARM_CLIENT_ID"] == CONNECTED["ARM_CLIENT_ID"]


def test_without_a_secret_it_is_left_to_az_login(shell: Shell) -> None:
    stack = "config:\n  azure-native:subscriptionId: aaaa\n  azure-native:tenantId: bbbb\n"
    (shell.state / "Pulumi.dev.yaml").write_text(stack)
    done = shell.run("--stack", "dev", "--", "true")
    assert done.words == ["true"]
    assert "`az login --tenant bbbb`, then `az account set --subscription aaaa`" in done.said
    (choose,) = shell.calls()
    assert choose["words"][:4] == ["cloud", "set", "--name", "AzureCloud"]
    assert "AZURE_CORE_INSTANCE_DISCOVERY" not in choose["settings"]


def test_who_signed_in_by_hand_stays_signed_in(shell: Shell) -> None:
    folder = shell.run("--", "az", "login").environment["AZURE_CONFIG_DIR"]
    shell.calls()
    (Path(folder) / "azureProfile.json").write_text(json.dumps({"subscriptions": [{"id": "1"}]}), encoding="utf-8-sig")
    assert shell.run("--", "az", "group", "list").said == ""
    assert shell.commands() == []


def test_a_shell_is_opened_where_no_command_is_given(shell: Shell) -> None:
    done = shell.run(**CONNECTED)
    assert done.words == ["/bin/sh"]
    assert "signed in to https://localhost:8443, in this shell only" in done.said


@pytest.mark.slow
def test_the_exit_code_is_that_of_the_shell(shell: Shell) -> None:
    words = [sys.executable, "-m", "operations", "shell", "--config-folder", str(shell.state)]
    given = "az group list; exit 7\n"
    done = subprocess.run(
        words, cwd=CHECKOUT, env=shell.environment, input=given, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert (done.returncode, done.stdout) == (7, "groups\n"), done.stderr


def test_a_command_that_is_not_there_is_127(shell: Shell) -> None:
    done = shell.run("--", "no-such-command", **CONNECTED)
    assert done.code == 127
    assert done.said.splitlines()[-1] == "error: no-such-command: No such file or directory"


def test_a_refused_sign_in_is_said_in_the_clis_words_and_tried_again_the_next_time(shell: Shell) -> None:
    shell.fails = "login"
    done = shell.run("--", "true", **CONNECTED)
    assert done.code == 1
    expected = "error: `az login --service-principal` failed: AADSTS7000215: Invalid client secret provided."
    assert done.said.splitlines()[-1] == expected
    shell.calls()
    shell.fails = ""
    assert shell.run("--", "true", **CONNECTED).words == ["true"]
    assert shell.commands() == ["login --service-principal", "account set"]


@pytest.mark.parametrize(
    ("text", "words"),
    [(None, "not found"), ("config: [1]", "a stack file is a mapping"), ("config: {", "not YAML")],
)
def test_a_stack_file_that_cannot_be_read_is_said_in_a_line(shell: Shell, text: str | None, words: str) -> None:
    if text is not None:
        (shell.state / "Pulumi.dev.yaml").write_text(text)
    done = shell.run("--stack", "dev", "--", "true")
    assert done.code == 1
    assert done.said.startswith("error: ")
    assert words in done.said
    assert len(done.said.splitlines()) == 1
    assert shell.calls() == []


@pytest.mark.parametrize(
    ("host", "cloud"),
    [
        ("", ("AzureCloud", "")),
        ("management.azure.com", ("AzureCloud", "")),
        ("https://management.usgovcloudapi.net/", ("AzureUSGovernment", "")),
        ("management.chinacloudapi.cn", ("AzureChinaCloud", "")),
        ("localhost:8443", (CUSTOM_CLOUD, "https://localhost:8443")),
        ("https://localhost:8443/", (CUSTOM_CLOUD, "https://localhost:8443")),
    ],
)
def test_a_cloud_that_the_cli_knows_is_not_registered(host: str, cloud: tuple[str, str]) -> None:
    assert cloud_of(Connection("s", metadata_host=host)) == cloud


def test_each_tenant_and_principal_of_a_cloud_has_a_configuration_of_its_own(tmp_path: Path) -> None:
    found = [
        Connection("s", "t", "c", "h"),
        Connection("s", "u", "c", "h"),
        Connection("s", "t", "d", "h"),
        Connection("s", "t", "c", "i"),
    ]
    assert len({configuration_folder(tmp_path, one) for one in found}) == 4
    assert configuration_folder(tmp_path, found[0]) == configuration_folder(tmp_path, Connection("another", "t", "c", "h"))


# The Azure CLI itself


@pytest.mark.parametrize(
    ("version", "recent"),
    [("2.91.0", True), ("2.100.1", True), ("3.0.0", True), ("2.90.9", False), ("2.9.100", False), ("", False), ("2.x", False)],
)
def test_a_version_is_recent_from_the_pinned_one_on(version: str, recent: bool) -> None:
    assert cli.is_recent(version) is recent


def test_the_lock_pins_that_version_with_hashes() -> None:
    lines = cli.LOCK.read_text().splitlines()
    assert f"azure-cli=={cli.VERSION} \\" in lines
    assert f"azure-cli=={cli.VERSION}" in cli.LOCK.with_suffix(".in").read_text().splitlines()
    assert all("--hash=sha256:" in lines[number + 1] for number, line in enumerate(lines) if line[:1].isalpha())


Installing = Callable[[], tuple[Path | None, list[str]]]


@pytest.fixture
def installing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installing:
    """Requests `az` where PATH has none, with a `uv` that makes the environment's folder."""

    def ask(fails: str = "") -> tuple[Path | None, list[str]]:
        said: list[str] = []

        def uv(words: list[str], **_: Any) -> "subprocess.CompletedProcess[str]":
            said.append(words[2])
            if words[2] == "venv":
                (Path(words[-1]) / "bin").mkdir(parents=True)
            return subprocess.CompletedProcess(words, 2 if words[2] == fails else 0)

        monkeypatch.setattr("uv.find_uv_bin", lambda: "uv")
        monkeypatch.setattr(subprocess, "run", uv)
        return cli.folder_of_az({"XDG_CACHE_HOME": str(tmp_path), "PATH": "/nowhere"}, said.append), said

    return ask


def test_it_is_installed_once(installing: Installing, tmp_path: Path) -> None:
    folder, said = installing()
    final = tmp_path / "azure-gpu" / f"azure-cli-{cli.VERSION}"
    assert folder == final / "az"
    assert os.access(final / "az" / "az", os.X_OK)
    assert [each.name for each in (final / "az").iterdir()] == ["az"]
    assert said[1:] == ["venv", "pip"]
    assert installing() == (folder, [])


def test_what_a_killed_installation_left_is_replaced(installing: Installing, tmp_path: Path) -> None:
    final = tmp_path / "azure-gpu" / f"azure-cli-{cli.VERSION}"
    (final / "bin").mkdir(parents=True)  # no `az` in it
    (final.parent / f"{final.name}.installing-killed").mkdir()
    assert installing()[1][1:] == ["venv", "pip"]
    assert sorted(each.name for each in final.parent.iterdir()) == [final.name, f"{final.name}.lock"]


def test_an_installation_that_fails_leaves_nothing_and_says_so(installing: Any, tmp_path: Path) -> None:
    with pytest.raises(cli.ShellError, match="`uv pip` ended with exit code 2"):
        installing("pip")
    assert [each.name for each in (tmp_path / "azure-gpu").iterdir()] == [f"azure-cli-{cli.VERSION}.lock"]
