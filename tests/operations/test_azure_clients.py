"""What the clients of Azure of one process have in common."""

import logging

import pytest
from azure.core.exceptions import ClientAuthenticationError

from azure_gpu_operations import azure
from azure_gpu_operations.connection import Connection
from azure_gpu_operations.errors import told
from azure_gpu_operations.preflight import fetching


def test_a_login_that_fails_is_one_line() -> None:
    failed = ClientAuthenticationError("No credential has a token.\nAttempted credentials:\n\tAzureCliCredential: not found")
    line = "not signed in, or the login has expired: run `az login` (No credential has a token.)"
    assert (told(failed), told(ValueError("a")), fetching.why(failed)) == (line, "a", line)
    azure._credential(Connection("s"), "login.microsoftonline.com", "")
    assert logging.getLogger("azure.identity").handlers, "else Python prints its warnings"


def test_a_process_signs_in_once_and_its_clients_share_their_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def endpoints(host: str) -> tuple[str, str, str, str]:
        asked.append(host)
        return "https://arm", "https://login", "https://arm", "https://batch"

    monkeypatch.setattr(azure, "_endpoints", endpoints)
    monkeypatch.setenv("ARM_CLIENT_SECRET", "one")
    one = Connection("s", "t", "c", "signs-in-once")
    first, second = azure.Arm(one), azure.Arm(one)
    assert first.login is second.login
    assert asked == ["signs-in-once"]
    monkeypatch.setenv("ARM_CLIENT_SECRET", "another")
    assert azure.Arm(one).login is not first.login, "another secret is another login"
    session, closed = azure.transport().session, list[bool]()
    assert session is not None
    assert session is azure.transport().session
    monkeypatch.setattr(session, "close", lambda: closed.append(True))
    first.close()
    assert not closed, "the other clients need the connections"
