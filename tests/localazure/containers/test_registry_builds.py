"""Builds that a registry runs on a server, of the checkout or an upload: what they make, what they say when they fail."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from azure_gpu.formats.build_context import context_hash
from tests.localazure.containers.conftest import DOCKERFILE, write_workload
from tests.localazure.containers.sdk import TASK_RUN, Registry
from tests.localazure.containers.test_registries import run_of
from tests.localazure.containers.test_uploaded_builds import archive, ended, log_of, run_of as run_by_id, schedule, upload
from tests.support.embedded import EmbeddedAzure, ServedAzure, until

HASHED = DOCKERFILE + (
    'ARG CONTEXT_HASH=""\nRUN test -z "$CONTEXT_HASH" || test "$CONTEXT_HASH" = '
    '"$(find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c1-16)"\n'
)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkout")
    write_workload(folder / "workloads" / "hello", HASHED)
    write_workload(folder / "workloads" / "broken", "FROM python:3.11-slim\nRUN python -c \"raise SystemExit('no luck')\"\n")
    return folder


@pytest.fixture(scope="module")
def azure(starts_processes: None, tmp_path_factory: pytest.TempPathFactory, checkout: Path) -> Iterator[EmbeddedAzure]:
    server = ServedAzure(tmp_path_factory.mktemp("registries"), checkout=checkout)
    yield server
    server.stop()


@pytest.fixture
def registry(azure: EmbeddedAzure, group: str) -> Registry:
    return Registry(azure, group, f"Reg{uuid.uuid4().hex[:10]}")


@pytest.fixture
def name() -> str:
    return f"up-{uuid.uuid4().hex[:8]}"


def test_a_run_builds_the_image_and_tells_its_digest(azure: EmbeddedAzure, registry: Registry, checkout: Path) -> None:
    tag = context_hash(checkout / "workloads" / "hello")
    ended = registry.build("hello", f"team/hello:{tag}", arguments=[{"name": "CONTEXT_HASH", "value": tag}])
    assert ended["status"] == "Succeeded"
    properties = run_of(registry)
    assert properties["provisioningState"] == "Succeeded"
    run = properties["runResult"]["properties"]
    assert (run["runId"], run["status"]) == ("ca1", "Succeeded")
    (output,) = run["outputImages"]
    assert (output["registry"], output["repository"], output["tag"]) == (registry.server, "team/hello", tag)
    assert output["digest"].startswith("sha256:")


def test_a_failed_build_fails_the_resource_with_the_runs_message_and_a_log(azure: EmbeddedAzure, registry: Registry) -> None:
    ended = registry.build("broken", "broken:1")
    assert ended["status"] == "Failed"
    assert "line 2: RUN python" in ended["error"]["message"]
    assert "no luck" in ended["error"]["message"]
    properties = run_of(registry)
    assert properties["provisioningState"] == "Failed"
    run = properties["runResult"]["properties"]
    assert run["status"] == "Failed"
    assert "no luck" in run["runErrorMessage"]
    link = azure.post(f"{registry.id}/runs/{run['runId']}/listLogSasUrl", TASK_RUN).raise_for_status().json()["logLink"]
    with azure.http() as anybody:
        assert "no luck" in anybody.get(link).raise_for_status().text
        assert anybody.get(link.split("?")[0]).status_code == 404
        assert anybody.get(link.split("?")[0], params={"sig": "ümläut"}).status_code == 404


def test_a_run_that_succeeds_after_one_that_failed_forgets_its_message(registry: Registry) -> None:
    registry.build("broken", "hello:1")
    assert registry.build("hello", "hello:1")["status"] == "Succeeded"
    assert "runErrorMessage" not in run_of(registry)["runResult"]["properties"]


def test_a_build_longer_than_its_timeout_is_ended(azure: EmbeddedAzure, registry: Registry, checkout: Path) -> None:
    slow = 'FROM python:3.11-slim\nRUN python -c "import time; time.sleep(600)"\n'
    write_workload(checkout / "workloads" / "slow", slow)
    ended = registry.build("slow", "slow:1", timeout=1)
    assert "longer than 1 seconds" in ended["error"]["message"]


def test_an_uploaded_context_is_built_and_its_image_is_among_the_runs(registry: Registry, tmp_path: Path, name: str) -> None:
    location = upload(registry, archive(write_workload(tmp_path / "context", new__txt=name)))
    answer = schedule(registry, location, f"{name}:1")
    assert answer.json()["properties"]["status"] == "Running"
    found = ended(registry, answer)
    assert found["status"] == "Succeeded"
    (image,) = found["outputImages"]
    assert (image["registry"], image["repository"], image["tag"]) == (registry.server, name, "1")
    assert image["digest"].startswith("sha256:")
    assert "COPY . ." in log_of(registry, found["runId"])
    listed = registry.azure.get(f"{registry.id}/runs", TASK_RUN).json()["value"]
    assert found["runId"] in [one["name"] for one in listed]
    (newest,) = registry.azure.get(f"{registry.id}/runs", TASK_RUN, **{"$top": "1"}).json()["value"]
    assert newest["name"] == listed[0]["name"]
    assert not (registry.azure.state / "sources" / f"{registry.id.rsplit('/', 1)[1]}-{found['runId']}").exists()


def test_requirements_that_dont_resolve_fail_the_build_in_the_installers_words(
    registry: Registry, tmp_path: Path, name: str
) -> None:
    dockerfile = DOCKERFILE.replace("COPY . .\n", "COPY . .\nRUN pip install -r requirements.txt\n")
    context = write_workload(tmp_path / "context", dockerfile, requirements__txt="idna==3.6\nidna==3.7\n")
    found = ended(registry, schedule(registry, upload(registry, archive(context)), f"{name}:1"))
    assert found["status"] == "Failed"
    assert "outputImages" not in found
    for told in (log_of(registry, found["runId"]), found["runErrorMessage"]):
        assert "idna==3.6 and idna==3.7" in told.replace("\n", " ")
        assert "unsatisfiable" in told


def test_a_run_is_canceled(registry: Registry, tmp_path: Path, name: str) -> None:
    dockerfile = DOCKERFILE.replace(
        "COPY . .\n", 'COPY . .\nRUN python -c "import time; print(1, flush=True); time.sleep(999)"\n'
    )
    location = upload(registry, archive(write_workload(tmp_path / "context", dockerfile)))
    run = schedule(registry, location, f"{name}:1").json()["properties"]["runId"]
    until(lambda: "RUN python" in log_of(registry, run), "the build has begun")
    assert registry.azure.post(f"{registry.id}/runs/{run}/cancel", TASK_RUN).status_code == 200
    assert run_by_id(registry, run)["status"] == "Canceled"
