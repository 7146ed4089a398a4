"""`operations shell` with a stand-in for the Azure CLI that notes how it is called; the real one is run by tests/stack."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from azure_gpu_operations.connection import Connection, connection_from
from azure_gpu_operations.shell import cli, clouds
from azure_gpu_operations.shell.environment import configuration_folder
from tests.support.embedded import CHECKOUT

SECRET = "-a secret = of 32 characters @ 123"
CONNECTED = {
    "ARM_SUBSCRIPTION_ID": "11111111-1111-1111-1111-111111111111",
    "ARM_TENANT_ID": "22222222-2222-2222-2222-222222222222",
    "ARM_CLIENT_ID": "33333333-3333-3333-3333-333333333333",
    "ARM_CLIENT_SECRET": SECRET,
    "ARM_METADATA_HOSTNAME": "localhost:8443",
    "ARM_DISABLE_INSTANCE_DISCOVERY": "true",
}
AZ = f"""#!{sys.executable}
import json, os, sys
from pathlib import Path
words = sys.argv[1:]
if words[0] == "version":
    print(json.dumps({{"azure-cli": os.environ["FAKE_VERSION"]}}))
    sys.exit()
given = sys.stdin.read() if "--password=@-" in words else ""
settings = {{name: value for name, value in os.environ.items() if name.startswith("AZURE_")}}
with open(os.environ["FAKE_CALLS"], "a") as calls:
    calls.write(json.dumps({{"words": words, "given": given, "settings": settings}}) + "\\n")
if words[0] == os.environ.get("FAKE_FAILS"):
    sys.exit("ERROR: AADSTS7000215: Invalid client secret provided.")
folder = Path(os.environ["AZURE_CONFIG_DIR"])
if words[:2] == ["cloud", "register"]:
    (folder / "clouds.config").write_text(f"[{{words[3]}}]\\nendpoint_resource_manager = {{words[5]}}\\n")
if words[0] == "login":
    (folder / "azureProfile.json").write_text(json.dumps({{"subscriptions": [{{"id": "1"}}]}}), encoding="utf-8-sig")
if words[0] == "group":
    print("groups")
    sys.exit(3)
"""


class Shell:
    """`python -m operations shell`, with a stand-in for `az` on PATH and a state folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        self.state.mkdir()
        tools = folder / "tools"
        tools.mkdir()
        (tools / "az").write_text(AZ)
        (tools / "az").chmod(0o755)
        self._calls = folder / "calls"
        self.environment = {
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "FAKE_CALLS": str(self._calls),
            "FAKE_VERSION": cli.VERSION,
            "SHELL": "/bin/sh",
        }

    def run(self, *words: str, given: str = "", **changed: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "operations", "shell", "--config-folder", str(self.state), *words],
            cwd=CHECKOUT,
            env=self.environment | changed,
            input=given,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def calls(self) -> list[dict[str, Any]]:
        """What `az` was called with since the last time."""
        if not self._calls.exists():
            return []
        calls = [json.loads(line) for line in self._calls.read_text().splitlines()]
        self._calls.unlink()
        return calls

    def commands(self) -> list[str]:
        """The first two words of each call."""
        return [" ".join(call["words"][:2]) for call in self.calls()]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_the_cloud_is_registered_and_the_principal_signed_in_once(shell: Shell) -> None:
    done = shell.run("--", "az", "group", "list", **CONNECTED)
    assert (done.returncode, done.stdout) == (3, "groups\n"), done.stderr
    register, choose, login, account, group = shell.calls()
    assert register["words"][:6] == [
        *("cloud", "register", "--name", clouds.CUSTOM_CLOUD),
        *("--endpoint-resource-manager", "https://localhost:8443"),
    ]
    assert choose["words"][:4] == ["cloud", "set", "--name", clouds.CUSTOM_CLOUD]
    assert login["words"][:3] == ["login", "--service-principal", "--username"]
    assert account["words"][:4] == ["account", "set", "--subscription", CONNECTED["ARM_SUBSCRIPTION_ID"]]
    assert group["words"] == ["group", "list"]

    shell.run("--", "az", "group", "list", **CONNECTED)
    assert shell.commands() == ["group list"]


def test_a_folder_that_is_not_there_is_not_made(shell: Shell) -> None:
    shell.state.rmdir()
    done = shell.run("--", "true", **CONNECTED)
    assert (done.returncode, done.stderr) == (1, f"error: folder {shell.state} not found\n")
    assert not shell.state.exists()


def test_the_secret_is_given_on_standard_input_and_stands_in_no_command_line(shell: Shell) -> None:
    done = shell.run("--", "true", **CONNECTED)
    assert done.returncode == 0, done.stderr
    calls = shell.calls()
    assert [call["given"] for call in calls if call["words"][0] == "login"] == [SECRET]
    assert SECRET not in json.dumps([call["words"] for call in calls])
    assert SECRET not in done.stdout + done.stderr


@pytest.mark.slow
def test_another_secret_is_signed_in_anew(shell: Shell) -> None:
    shell.run("--", "true", **CONNECTED)
    shell.calls()
    shell.run("--", "true", **CONNECTED | {"ARM_CLIENT_SECRET": "another"})
    assert shell.commands() == ["login --service-principal", "account set"]


def test_nothing_is_sent_or_installed_unasked_and_the_users_own_configuration_is_left_alone(shell: Shell) -> None:
    shell.run("--", "az", "group", "list", **CONNECTED, AZURE_CONFIG_DIR="/nowhere", AZURE_EXTENSION_DIR="/nowhere")
    settings = shell.calls()[-1]["settings"]
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


def test_kubelogin_asks_the_cli_there_however_it_logs_in_elsewhere(shell: Shell) -> None:
    done = shell.run("--", "sh", "-c", 'echo "${AAD_LOGIN_METHOD-unset} $ARM_CLIENT_ID"', **CONNECTED, AAD_LOGIN_METHOD="spn")
    assert done.stdout == f"unset {CONNECTED['ARM_CLIENT_ID']}\n", done.stderr


def test_without_a_secret_it_is_left_to_az_login(shell: Shell) -> None:
    stack = "config:\n  azure-native:subscriptionId: aaaa\n  azure-native:tenantId: bbbb\n"
    (shell.state / "Pulumi.dev.yaml").write_text(stack)
    done = shell.run("--stack", "dev", "--", "true")
    assert done.returncode == 0
    assert "`az login --tenant bbbb`, then `az account set --subscription aaaa`" in done.stderr
    (choose,) = shell.calls()
    assert choose["words"][:4] == ["cloud", "set", "--name", "AzureCloud"]
    assert "AZURE_CORE_INSTANCE_DISCOVERY" not in choose["settings"]


@pytest.mark.slow
def test_who_signed_in_by_hand_stays_signed_in(shell: Shell) -> None:
    shell.run("--", "az", "login")
    shell.calls()
    done = shell.run("--", "az", "group", "list")
    assert done.stderr == ""
    assert shell.commands() == ["group list"]


def test_a_shell_is_opened_where_no_command_is_given_and_its_exit_code_returned(shell: Shell) -> None:
    done = shell.run(given="az group list; exit 7\n", **CONNECTED)
    assert (done.returncode, done.stdout) == (7, "groups\n")
    assert "signed in to https://localhost:8443" in done.stderr


@pytest.mark.slow
def test_a_command_that_is_not_there_is_127(shell: Shell) -> None:
    done = shell.run("--", "no-such-command", **CONNECTED)
    assert done.returncode == 127
    assert done.stderr.splitlines()[-1] == "error: no-such-command: No such file or directory"


@pytest.mark.slow
def test_a_refused_sign_in_is_said_in_the_clis_words_and_tried_again_the_next_time(shell: Shell) -> None:
    done = shell.run("--", "true", **CONNECTED, FAKE_FAILS="login")
    assert done.returncode == 1
    wanted = "error: `az login --service-principal` failed: AADSTS7000215: Invalid client secret provided."
    assert done.stderr.splitlines()[-1] == wanted
    shell.calls()
    assert shell.run("--", "true", **CONNECTED).returncode == 0
    assert shell.commands() == ["login --service-principal", "account set"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "words"),
    [(None, "not found"), ("config: [1]", "a stack file is a mapping"), ("config: {", "not YAML")],
)
def test_a_stack_file_that_cannot_be_read_is_said_in_a_line(shell: Shell, text: str | None, words: str) -> None:
    if text is not None:
        (shell.state / "Pulumi.dev.yaml").write_text(text)
    done = shell.run("--stack", "dev", "--", "true")
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert shell.calls() == []


def test_the_stacks_configuration_goes_before_the_environment_key_by_key() -> None:
    configuration = {"azure-native:subscriptionId": "configured", "azure-native:metadataHost": "host:1", "azure-gpu:team": "x"}
    assert connection_from(configuration, CONNECTED) == Connection(
        subscription_id="configured",
        tenant_id=CONNECTED["ARM_TENANT_ID"],
        client_id=CONNECTED["ARM_CLIENT_ID"],
        metadata_host="host:1",
        disable_instance_discovery=True,
    )


@pytest.mark.parametrize(
    ("host", "cloud"),
    [
        ("", ("AzureCloud", "")),
        ("management.azure.com", ("AzureCloud", "")),
        ("https://management.usgovcloudapi.net/", ("AzureUSGovernment", "")),
        ("management.chinacloudapi.cn", ("AzureChinaCloud", "")),
        ("localhost:8443", (clouds.CUSTOM_CLOUD, "https://localhost:8443")),
        ("https://localhost:8443/", (clouds.CUSTOM_CLOUD, "https://localhost:8443")),
    ],
)
def test_a_cloud_that_the_cli_knows_is_not_registered(host: str, cloud: tuple[str, str]) -> None:
    assert clouds.cloud_of(Connection("s", metadata_host=host)) == cloud


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
    """Asks for `az` where PATH has none, with a stand-in for `uv` that makes the environment's folder."""
    uv = tmp_path / "uv"
    uv.write_text(
        '#!/bin/sh\necho "$2" >> "$UV_CALLS"\n[ "$2" != "$UV_FAILS" ] || exit 2\nfor last; do :; done\n'
        '[ "$2" != venv ] || /bin/mkdir -p "$last/bin"\n'
    )
    uv.chmod(0o755)
    monkeypatch.setattr("uv.find_uv_bin", lambda: str(uv))
    calls = tmp_path / "uv-calls"

    def ask(fails: str = "") -> tuple[Path | None, list[str]]:
        calls.write_text("")
        said: list[str] = []
        environment = {"XDG_CACHE_HOME": str(tmp_path), "PATH": "/nowhere", "UV_CALLS": str(calls), "UV_FAILS": fails}
        try:
            found = cli.folder_of_az(environment, said.append)
        finally:
            said.extend(calls.read_text().split())
        return found, said

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
