"""Terminals and outputs of running containers, over a websocket as the Azure CLI opens it."""

import socket
import ssl
from typing import Any

import pytest
from azure.mgmt.containerinstance import ContainerInstanceManagementClient
from azure.mgmt.containerinstance.models import ContainerExecRequest, ContainerExecRequestTerminalSize
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from localazure.process import start_time
from tests.localazure.containers.sdk import GROUP, Groups, group_path
from tests.support import management
from tests.support.embedded import SECONDS, ServedAzure, until


def open_socket(azure: ServedAzure, address: str) -> ClientConnection:
    trust = ssl.create_default_context(cafile=azure.state / "ca" / "ca.pem")
    return connect(address, ssl=trust, proxy=None, open_timeout=SECONDS, close_timeout=1)


def read_until(socket: ClientConnection, text: str) -> str:
    got = ""
    while text not in got:
        chunk = socket.recv(timeout=SECONDS)
        got += chunk.decode() if isinstance(chunk, bytes) else chunk
    return got


def asked(azure: ServedAzure, group: str, action: str = "exec", **body: Any) -> dict[str, str]:
    path = f"{group_path(group, 'one')}/containers/main/{action}"
    return azure.post(path, GROUP, body).raise_for_status().json()


@pytest.fixture
def running(groups: Groups) -> str:
    """The resource group of a container that waits."""
    variables = [{"name": "COLOUR", "value": "green"}]
    groups.create("one", groups.body(groups.container("say", "up", "wait", environmentVariables=variables)))
    return groups.group


def test_a_shell_runs_beside_the_container_with_its_variables_and_files(azure: ServedAzure, running: str) -> None:
    client, rg = management.client(ContainerInstanceManagementClient, azure), running.rsplit("/", 1)[-1]
    request = ContainerExecRequest(command="/bin/sh", terminal_size=ContainerExecRequestTerminalSize(rows=33, cols=99))
    answer = client.containers.execute_command(rg, "one", "main", request)
    assert answer.web_socket_uri is not None
    assert answer.password is not None
    assert answer.web_socket_uri.startswith(f"wss://localhost:{azure.port}/")
    with open_socket(azure, answer.web_socket_uri) as socket:
        socket.send(answer.password)
        socket.send(b"echo $((40+2)) $COLOUR; ls; stty size\r")
        assert "42 green" in read_until(socket, "33 99")
        socket.send(b"ls main.py; exit 3\r")
        with pytest.raises(ConnectionClosed):
            read_until(socket, "never said")


def test_the_password_opens_a_console_once(azure: ServedAzure, running: str) -> None:
    answer = asked(azure, running, command="/bin/sh")
    with open_socket(azure, answer["webSocketUri"]) as socket:
        socket.send("not the password")
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=SECONDS)
    with open_socket(azure, answer["webSocketUri"]) as socket:
        socket.send(answer["password"])
        socket.send(b"echo R=$((1+1))\r")
        read_until(socket, "R=2")
    with open_socket(azure, answer["webSocketUri"]) as socket:
        socket.send(answer["password"])
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=SECONDS)


def test_of_two_connections_one_is_opened_by_the_password(azure: ServedAzure, running: str) -> None:
    answer = asked(azure, running, command="/bin/sh")
    with open_socket(azure, answer["webSocketUri"]) as first, open_socket(azure, answer["webSocketUri"]) as second:
        first.send(answer["password"])
        first.send(b"echo R=$((1+1))\r")
        read_until(first, "R=2")
        second.send(answer["password"])
        with pytest.raises(ConnectionClosed):
            second.recv(timeout=SECONDS)


def test_no_session_ticket_comes_while_a_client_writes(azure: ServedAzure) -> None:
    """Clients that read in one thread and write in another hang now and then where one does."""
    trust = ssl.create_default_context(cafile=azure.state / "ca" / "ca.pem")
    with (
        socket.create_connection(("localhost", azure.port), SECONDS) as plain,
        trust.wrap_socket(plain, server_hostname="localhost") as opened,
    ):
        opened.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert opened.recv(64).startswith(b"HTTP/1.1 ")
        assert opened.version() == "TLSv1.3"
        assert opened.session is not None
        assert not opened.session.has_ticket


def test_a_command_that_is_too_long_for_this_machine_is_told(azure: ServedAzure, running: str) -> None:
    answer = asked(azure, running, command="x" * 200_000)
    with open_socket(azure, answer["webSocketUri"]) as terminal:
        terminal.send(answer["password"])
        assert "Argument list too long" in read_until(terminal, "long")


def test_what_runs_in_a_terminal_ends_with_its_client(azure: ServedAzure, running: str) -> None:
    answer = asked(azure, running, command="/bin/sh")
    with open_socket(azure, answer["webSocketUri"]) as socket:
        socket.send(answer["password"])
        socket.send(b"sleep 600 & echo pid=$!=\r")
        text = read_until(socket, "=\r\n")
        while "pid=" not in text or not text.split("pid=")[-1].split("=")[0].isdigit():
            text += read_until(socket, "=")
        pid = int(text.split("pid=")[-1].split("=")[0])
        assert start_time(pid)
    until(lambda: not start_time(pid), "the terminal's process is gone")


def test_a_terminal_ends_with_its_container(azure: ServedAzure, running: str) -> None:
    answer = asked(azure, running, command="/bin/sh")
    with open_socket(azure, answer["webSocketUri"]) as socket:
        socket.send(answer["password"])
        socket.send(b"echo R=$((1+1))\r")
        read_until(socket, "R=2")
        assert azure.post(f"{group_path(running, 'one')}/stop", GROUP).status_code == 204
        with pytest.raises(ConnectionClosed):
            read_until(socket, "never said")
    stopped = azure.post(f"{group_path(running, 'one')}/containers/main/exec", GROUP, {"command": "/bin/sh"})
    assert (stopped.status_code, stopped.json()["error"]["code"]) == (409, "ContainerGroupStopped")


def test_a_program_that_is_not_there_says_so(azure: ServedAzure, running: str) -> None:
    answer = asked(azure, running, command="echo hi")  # the service takes a program without arguments
    with open_socket(azure, answer["webSocketUri"]) as socket:
        socket.send(answer["password"])
        assert 'exec "echo hi": No such file or directory' in read_until(socket, "directory")


def test_attach_follows_the_output_to_the_containers_end(azure: ServedAzure, groups: Groups) -> None:
    line = "printf 'first\\rhalf\\n'; until [ -e go ]; do sleep 0.1; done; echo second"  # only a running container is attached to
    groups.create("one", groups.body(groups.container(command=["/bin/sh", "-c", line])))
    answer = management.client(ContainerInstanceManagementClient, groups.azure).containers.attach(
        groups.group.rsplit("/", 1)[-1], "one", "main"
    )
    assert answer.web_socket_uri is not None
    assert answer.password is not None
    with open_socket(azure, answer.web_socket_uri) as socket:
        socket.send(answer.password)
        first = read_until(socket, "half\n")
        beside = asked(azure, groups.group, command="/bin/sh")
        with open_socket(azure, beside["webSocketUri"]) as terminal:
            terminal.send(beside["password"])
            terminal.send(b"touch go\r")
            assert first + read_until(socket, "second\n") == "first\rhalf\nsecond\n"
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=SECONDS)


def test_what_cannot_be_run_is_refused(groups: Groups) -> None:
    groups.create("one", groups.body(groups.container("exit", "0")))
    groups.wait_for("one", "Succeeded")
    path = f"{groups.path('one')}/containers"
    for name, body, status, code in (
        ("main", {}, 400, "InvalidRequestContent"),
        ("main", {"command": "sh", "terminalSize": {"rows": -1, "cols": 80}}, 400, "InvalidRequestContent"),
        ("main", {"command": "sh", "terminalSize": "80x24"}, 400, "InvalidRequestContent"),
        ("main", {"command": "sh"}, 409, "ContainerNotRunning"),
        ("other", {"command": "sh"}, 404, "ContainerNotFound"),
    ):
        answer = groups.azure.post(f"{path}/{name}/exec", GROUP, body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def test_a_websocket_that_nothing_serves_is_refused(azure: ServedAzure) -> None:
    with pytest.raises(InvalidStatus):
        open_socket(azure, f"wss://localhost:{azure.port}/subscriptions")
