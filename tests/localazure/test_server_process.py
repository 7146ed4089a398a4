"""The server as a process: started once however often, killed and started again, stopped without a trace."""

import json
import os
import shlex
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import trustme

from localazure import __main__ as command_line, tls
from localazure.entra import identity
from localazure.errors import CommandError
from localazure.folder import LocalFolder
from tests.localazure.conftest import GROUPS, new_group
from tests.support.embedded import CHECKOUT, SUBSCRIPTION, ServedAzure, until
from tests.support.patience import SECONDS

IDENTITIES = "providers/Microsoft.ManagedIdentity/userAssignedIdentities"


@pytest.fixture(scope="module")
def azure(served_azure: ServedAzure) -> ServedAzure:
    return served_azure


@pytest.fixture(scope="module")
def own(starts_processes: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedAzure]:
    """For the tests that end it and start it again; the last of them leaves it ended."""
    server = ServedAzure(tmp_path_factory.mktemp("own"))
    yield server
    server.command("stop")


def port_is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def servers_of(state: Path) -> list[str]:
    shown = subprocess.run(["ps", "-eww", "-o", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in shown.splitlines() if f"--state {state} " in line and "serve" in line]


@pytest.mark.slow
def test_two_starts_at_once_give_one_server(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "localazure", "--state", str(tmp_path / "state"), "start"]
    with ThreadPoolExecutor(2) as both:
        done = list(
            both.map(lambda _: subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False), range(2))
        )
    azure = ServedAzure(tmp_path / "state", weather="rough")  # as it starts where no weather is said
    try:
        assert [each.returncode for each in done] == [0, 0], [each.stderr for each in done]
        assert sorted(each.stdout.split(" at ")[0] for each in done) == [
            "embedded Azure already running",
            "embedded Azure started",
        ]
        assert len(servers_of(tmp_path / "state")) == 1
    finally:
        azure.stop()


def test_a_second_server_in_the_foreground_is_refused_in_one_line(azure: ServedAzure) -> None:
    done = azure.command("serve")
    assert done.returncode == 1
    assert done.stderr == f"localazure: a server already runs for {azure.state}\n"


def test_another_date_for_a_running_server_is_refused(azure: ServedAzure) -> None:
    done = azure.command("start", "--as-of", "2019-06-01")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "stop" in done.stderr


def test_a_kill_loses_nothing_and_keeps_the_port(own: ServedAzure) -> None:
    group, port = new_group(own), own.port
    stored = own.put(f"{group}/{IDENTITIES}/trainer", {"location": "westeurope"}, "2023-01-31").json()
    token = own.token()
    own.kill9()
    own.start()
    assert own.port == port
    assert own.get(stored["id"], "2023-01-31").json() == stored
    with own.http(headers={"Authorization": f"Bearer {token}"}) as client:
        assert client.get(group, params={"api-version": GROUPS}).status_code == 200


def test_a_group_that_was_being_deleted_when_the_server_was_killed_is_gone_afterwards(own: ServedAzure) -> None:
    group = new_group(own)
    for number in range(200):
        own.put(f"{group}/{IDENTITIES}/id-{number}", {"location": "westeurope"}, "2023-01-31")
    answer = own.delete(group, GROUPS)
    own.kill9()
    own.start()
    assert own.finished(answer)["status"] == "Succeeded"
    assert own.get(group, GROUPS).status_code == 404
    listed = own.get(f"/subscriptions/{SUBSCRIPTION}/{IDENTITIES}", "2023-01-31").json()["value"]
    assert [each["id"] for each in listed if each["id"].startswith(group)] == []


def test_a_process_that_has_the_last_servers_id_by_now_is_left_alone(own: ServedAzure) -> None:
    own.stop()
    file = own.state / "endpoint.json"
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as other:
        file.write_text(json.dumps({**json.loads(file.read_text()), "pid": other.pid}))
        assert own.command("stop").stdout == "embedded Azure was not running\n"
        own.start()
        assert own.pid != other.pid
        assert other.poll() is None
        other.kill()


def test_a_port_that_somebody_else_took_is_not_insisted_on(own: ServedAzure) -> None:
    port = own.port
    own.stop()
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        own.start()
    assert own.port != port
    assert new_group(own)


def test_stop_leaves_no_process_and_no_port(own: ServedAzure) -> None:
    assert not port_is_free(own.port)
    own.stop()
    assert port_is_free(own.port)
    assert servers_of(own.state) == []
    assert own.command("status").returncode == 3
    assert own.command("stop").stdout == "embedded Azure was not running\n"


def test_only_loopback_is_bound(azure: ServedAzure) -> None:
    listening = Path("/proc/net/tcp")
    if not listening.exists():
        pytest.skip("needs /proc/net/tcp")
    wanted = f"{azure.port:04X}"
    hosts = {
        line.split()[1].split(":")[0]
        for line in listening.read_text().splitlines()[1:]
        if line.split()[3] == "0A" and line.split()[1].endswith(f":{wanted}")
    }
    assert hosts == {"0100007F"}


def test_what_is_secret_is_readable_by_its_owner_alone(azure: ServedAzure) -> None:
    assert stat.S_IMODE(azure.state.stat().st_mode) == 0o700
    for name in ("identity.json", "env", "ca/ca.key", "ca/server.key", "azure.sqlite", "azure.sqlite-wal"):
        assert stat.S_IMODE((azure.state / name).stat().st_mode) == 0o600, name


def test_a_shell_that_reads_the_environment_reaches_the_server(azure: ServedAzure) -> None:
    script = f'eval "$({shlex.quote(sys.executable)} -m localazure --state {shlex.quote(str(azure.state))} env)" && env -0'
    kept = {"PATH": os.environ["PATH"], "HOME": "/nowhere"}
    shell = subprocess.run(["/bin/sh", "-c", script], cwd=CHECKOUT, env=kept, capture_output=True, text=True, check=True)
    found = dict(line.split("=", 1) for line in shell.stdout.split("\0") if "=" in line)
    assert found["PULUMI_HOME"] == str(azure.state / "pulumi")
    assert found["PULUMI_BACKEND_URL"] == f"file://{azure.state}/stacks?metadata=skip"
    assert found["ARM_CLIENT_SECRET"] == azure.client_secret
    assert found["SSL_CERT_FILE"] == found["REQUESTS_CA_BUNDLE"] == str(azure.ca_bundle)
    assert found["PULUMI_CONFIG_PASSPHRASE"]
    assert {"localhost", "127.0.0.1"} <= set(found["NO_PROXY"].split(","))
    assert found["PATH"].split(":")[0] == str(Path(sys.executable).parent)
    assert found["PATH"].endswith(kept["PATH"])


def test_the_bundle_holds_the_systems_authorities_and_ours(azure: ServedAzure) -> None:
    bundle = azure.ca_bundle.read_text()
    assert (azure.state / "ca" / "ca.pem").read_text().strip() in bundle
    assert bundle.count("BEGIN CERTIFICATE") > 10


def test_a_bundle_that_the_user_has_named_stays_in_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, named = LocalFolder(tmp_path / "state"), tmp_path / "company.pem"
    folder.create()
    named.write_text(trustme.CA().cert_pem.bytes().decode())
    for shells_bundle in (named, folder.ca_bundle):  # the second shell has read the environment that the first start wrote
        monkeypatch.setenv("SSL_CERT_FILE", str(shells_bundle))
        tls.write_bundle(folder)
        assert named.read_text().strip() in folder.ca_bundle.read_text()
        assert folder.ca_bundle.read_text().count("BEGIN CERTIFICATE") == 2


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["start", "--as-of", "soon"], ["connect"]])
def test_wrong_usage_ends_with_2(tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command_line.main(["--state", str(tmp_path / "none"), *arguments])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("usage: python -m localazure ")


@pytest.mark.parametrize("command", [["env"], ["connect", "local"], ["fault", "list"]])
def test_commands_in_a_folder_without_a_server_say_so_in_one_line(
    tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.main(["--state", str(tmp_path / "none"), *command]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "localazure start" in said
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("content", ["{", '{"port": 1}', "[]"])
def test_a_broken_file_is_named_in_one_line(tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "endpoint.json").write_text(content)
    assert command_line.main(["--state", str(tmp_path), "status"]) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"localazure: {tmp_path}/endpoint.json: ")


@pytest.mark.parametrize("content", ["{", "{}", "[]", '{"tenant": 1}'])
def test_a_broken_identity_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "identity.json").write_text(content)
    with pytest.raises(CommandError, match=f"^{tmp_path}/identity.json: "):
        identity.load(LocalFolder(tmp_path))


@pytest.mark.slow
def test_an_interrupt_ends_a_server_in_the_foreground_without_a_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "localazure", "--state", str(tmp_path / "state"), "serve"]
    with subprocess.Popen(command, cwd=CHECKOUT, stderr=subprocess.PIPE, text=True) as server:
        until(lambda: (tmp_path / "state" / "endpoint.json").exists(), "the server has a port")
        port = json.loads((tmp_path / "state" / "endpoint.json").read_text())["port"]
        until(lambda: not port_is_free(port), "the server listens")
        server.send_signal(signal.SIGINT)
        _, said = server.communicate(timeout=SECONDS)
    assert server.returncode == 0
    assert "Traceback" not in said
    assert port_is_free(port)


@pytest.mark.slow
def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (state / "azure.sqlite").write_text("this is no database, and long enough to be read as one" * 40)
    asked = [sys.executable, "-m", "localazure", "--state", str(state), "start"]
    done = subprocess.run(asked, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("localazure: the server failed to start: ")
    assert "not a database" in done.stderr
    assert servers_of(state) == []


def test_the_endpoint_file_says_where_and_which_process(azure: ServedAzure) -> None:
    endpoint = json.loads((azure.state / "endpoint.json").read_text())
    assert endpoint["url"] == f"https://localhost:{endpoint['port']}"
    assert until(lambda: Path(f"/proc/{endpoint['pid']}").exists() or sys.platform != "linux", "the process is there")
