"""A server with --nothing-runs in a process of its own: its commands, and that it starts no other process."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.localazure.conftest import new_group
from tests.support import ml_resources as ml
from tests.support.embedded import ServedAzure


@pytest.fixture
def own_still_azure(starts_processes: None, tmp_path: Path) -> Iterator[ServedAzure]:
    server = ServedAzure(tmp_path / "state", nothing_runs=True)
    yield server
    server.stop()


def test_status_says_so_and_a_second_start_in_rough_weather_is_refused(still_azure: ServedAzure) -> None:
    done = still_azure.command("status")
    assert done.stdout.splitlines()[0].endswith("in calm weather, with --nothing-runs")
    assert still_azure.command("start", "--nothing-runs").returncode == 0
    assert "rough" in still_azure.command("start", "--weather", "rough").stderr


def test_kubelogin_is_there_and_hands_out_a_token(still_azure: ServedAzure) -> None:
    done = subprocess.run([still_azure.state / "still" / "kubelogin", "get-token"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["status"]["token"]
    config = yaml.safe_load((still_azure.state / "still" / "kubeconfig").read_text())
    assert still_azure.client.get(config["clusters"][0]["cluster"]["server"] + "/version").status_code == 200


def test_blobs_are_kept_once_somebody_uploads_one(own_still_azure: ServedAzure) -> None:
    group = new_group(own_still_azure)
    account = ml.put_storage(own_still_azure, group)
    containers = f"{account}/blobServices/default/containers"
    own_still_azure.made(f"{containers}/before", {}, ml.STORAGE)
    assert not (own_still_azure.state / "blobs").exists()
    name = account.rsplit("/", 1)[-1]
    headers = {
        "authorization": f"Bearer {own_still_azure.token('https://storage.azure.com/.default')}",
        "x-ms-version": "2023-11-03",
    }
    with own_still_azure.http(headers=headers) as client:
        sent = client.put(f"/blob/{name}/before/one", content=b"x", headers={"x-ms-blob-type": "BlockBlob"})
        assert sent.status_code == 201, sent.text
        own_still_azure.made(f"{containers}/after", {}, ml.STORAGE)
        sent = client.put(f"/blob/{name}/after/one", content=b"x", headers={"x-ms-blob-type": "BlockBlob"})
        assert sent.status_code == 201, sent.text
