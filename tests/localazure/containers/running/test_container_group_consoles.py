"""Terminals and outputs of running containers, over a websocket as the Azure CLI opens it."""

import re
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from azure.mgmt.containerinstance import ContainerInstanceManagementClient
from azure.mgmt.containerinstance.models import ContainerExecRequest, ContainerExecRequestTerminalSize
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from localazure.process import start_time
from tests.localazure.containers.sdk import GROUP, Groups
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


def asked(groups: Groups, action: str = "exec", **body: Any) -> dict[str, str]:
    path = f"{groups.path('one')}/containers/main/{action}"
    return groups.azure.post(path, GROUP, body).raise_for_status().json()


@pytest.fixture
def running(groups: Groups) -> Groups:
    """A container that waits."""
    variables = [{"name": "COLOUR", "value": "green"}]
    groups.create("one", groups.body(groups.container("say", "up", "wait", environmentVariables=variables)))
    return groups


@contextmanager
def opened(azure: ServedAzure, answer: dict[str, str], *typed: bytes, password: str = "") -> Iterator[ClientConnection]:
    """The console, once its password was sent and something typed."""
    with open_socket(azure, answer["webSocketUri"]) as socket:
        socket.send(password or answer["password"])
        for each in typed:
            socket.send(each)
        yield socket


def is_closed(socket: ClientConnection) -> None:
    with pytest.raises(ConnectionClosed):
        read_until(socket, "never said")


def test_a_shell_runs_beside_the_container_with_its_variables_and_files(azure: ServedAzure, running: Groups) -> None:
    client, rg = management.client(ContainerInstanceManagementClient, azure), running.group.rsplit("/", 1)[-1]
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
        is_closed(socket)


CALCULATE = b"echo R=$((1+1))\r"


def test_the_password_opens_a_console_once(azure: ServedAzure, running: Groups) -> None:
    answer = asked(running, command="/bin/sh")
    with opened(azure, answer, password="not the password") as socket:
        is_closed(socket)
    with open_socket(azure, answer["webSocketUri"]) as second, opened(azure, answer, CALCULATE) as socket:
        read_until(socket, "R=2")
        second.send(answer["password"])
        is_closed(second)
    with opened(azure, answer) as socket:
        is_closed(socket)


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


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("x" * 200_000, "Argument list too long"),
        ("echo hi", 'exec "echo hi": No such file or directory'),
    ],  # one word, no arguments
    ids=["too long", "not there"],
)
def test_a_program_that_cannot_be_started_says_so(azure: ServedAzure, running: Groups, command: str, said: str) -> None:
    with opened(azure, asked(running, command=command)) as socket:
        read_until(socket, said)


def pid_typed(socket: ClientConnection) -> int:
    text = ""
    while not (found := re.search(r"pid=(\d+)=", text)):
        text += read_until(socket, "=")
    return int(found[1])


def goes(socket: ClientConnection, running: Groups) -> None:
    socket.close()


def stops(socket: ClientConnection, running: Groups) -> None:
    assert running.azure.post(f"{running.path('one')}/stop", GROUP).status_code == 204
    is_closed(socket)
    refused = running.azure.post(f"{running.path('one')}/containers/main/exec", GROUP, {"command": "/bin/sh"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "ContainerGroupStopped")


@pytest.mark.parametrize("end", [goes, stops])
def test_what_runs_in_a_terminal_ends_with_its_client_and_with_its_container(
    azure: ServedAzure, running: Groups, end: Callable[[ClientConnection, Groups], None]
) -> None:
    with opened(azure, asked(running, command="/bin/sh"), b"sleep 600 & echo pid=$!=\r") as socket:
        pid = pid_typed(socket)
        assert start_time(pid)
        end(socket, running)
    until(lambda: not start_time(pid), "the terminal's process is gone")


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
        with opened(azure, asked(groups, command="/bin/sh"), b"touch go\r"):
            assert first + read_until(socket, "second\n") == "first\rhalf\nsecond\n"
        is_closed(socket)


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
