"""The process that keeps the blobs: started when it is needed, gone with the server, and nothing lost on the way."""

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from localazure import lifecycle
from localazure.blobs import keeper as keepers
from localazure.folder import LocalFolder
from localazure.process import start_time
from tests.localazure.blobs.conftest import VERSION, Account, new_account
from tests.support.embedded import SUBSCRIPTION, ServedAzure, until

GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-blobs"


def in_its_group(azure: ServedAzure) -> Account:
    assert azure.put(GROUP, {"location": "westeurope"}, "2024-03-01").status_code in (200, 201)
    return new_account(azure, GROUP)


def keeper(azure: ServedAzure) -> int:
    """Its process id."""
    return int(json.loads((azure.state / "blobs" / "process.json").read_text())["pid"])


@pytest.fixture(scope="module")
def living(starts_processes: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedAzure]:
    """The tests on it follow each other: at first there is no keeper, and the last one ends the server."""
    server = ServedAzure(tmp_path_factory.mktemp("living"))
    yield server
    lifecycle.stop(LocalFolder(server.state))


def test_nothing_runs_before_a_blob_is_asked_for(living: ServedAzure) -> None:
    account = in_its_group(living)
    assert not (living.state / "blobs").exists()
    assert living.delete(account.id, VERSION).status_code == 200
    assert not (living.state / "blobs").exists()
    in_its_group(living).by_token().create_container("data")
    assert start_time(keeper(living))
    assert (living.state / "blobs").stat().st_mode & 0o077 == 0


def test_it_takes_nothing_from_anybody_but_the_server(living: ServedAzure) -> None:
    account = in_its_group(living)
    account.by_token().create_container("data").upload_blob("file", b"content")
    log = (living.state / "logs" / "azure.log").read_text()
    port = int(log.split("Azurite is process ")[1].split("on port ")[1].split()[0])
    for headers in ({}, {"Authorization": "Local x"}, {"Authorization": "SharedKey x:y"}):
        answer = httpx.get(f"http://127.0.0.1:{port}/{account.name}/data/file", headers=headers, trust_env=False)
        assert answer.status_code == 403


def test_a_killed_keeper_is_started_again_with_what_was_there(living: ServedAzure) -> None:
    account = in_its_group(living)
    account.by_token().create_container("data").upload_blob("kept.txt", b"content")
    until(lambda: "kept.txt" in (living.state / "blobs" / "blobs.json").read_text(), "the keeper has saved what it knows")
    killed = keeper(living)
    os.kill(killed, signal.SIGKILL)
    until(lambda: not start_time(killed), "it is gone")
    assert account.by_token().get_blob_client("data", "kept.txt").download_blob().readall() == b"content"
    assert keeper(living) != killed


def test_what_was_stored_outlives_stops_and_kills(living: ServedAzure) -> None:
    account = in_its_group(living)
    container = account.by_token().create_container("data")
    container.upload_blob("before", b"1" * 100_000)
    process = keeper(living)
    living.stop()
    assert not start_time(process), "nothing runs after the end"
    living.start()
    blob = account.by_token().get_blob_client("data", "before")
    assert blob.download_blob().readall() == b"1" * 100_000
    account.by_token().get_blob_client("data", "after").upload_blob(b"2")
    left = keeper(living)
    living.kill9()
    living.start()
    assert account.by_token().get_blob_client("data", "after").download_blob().readall() == b"2"
    assert not start_time(left)


def test_nothing_runs_after_the_end_where_the_server_was_killed_before(
    living: ServedAzure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keepers, "END_SECONDS", 1)
    in_its_group(living).by_token().create_container("data")
    process = keeper(living)
    os.kill(process, signal.SIGSTOP)  # so that it doesn't notice for itself
    living.kill9()
    until(lambda: start_time(process), "it is still there")
    lifecycle.stop(LocalFolder(living.state))
    assert not start_time(process)


@pytest.mark.slow
def test_where_node_is_missing_every_request_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("git", "sh", "ps"):
        found = shutil.which(name)
        if found:
            (tools / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(tools))
    azure = ServedAzure(tmp_path / "azure")
    try:
        account = in_its_group(azure)
        with azure.http(headers={"x-ms-version": "2025-11-05", "Authorization": f"Bearer {token_of(azure)}"}) as client:
            answer = client.put(f"/blob/{account.name}/data", params={"restype": "container"}, content=b"")
        assert (answer.status_code, answer.headers["x-ms-error-code"]) == (501, "NotImplemented")
        assert "Node.js 20 or later" in answer.text
        made = azure.put(f"{account.id}/blobServices/default/containers/data", {}, VERSION)
        assert made.status_code == 501
        assert "Node.js 20 or later" in made.json()["error"]["message"]
        assert azure.delete(account.id, VERSION).status_code == 200
    finally:
        azure.stop()


def token_of(azure: Any) -> str:
    return azure.token("https://storage.azure.com/.default")
