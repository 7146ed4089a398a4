"""Registry builds from an uploaded context, as `az acr build` makes them: address, upload, run, log, and what fails."""

import io
import tarfile
import uuid
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest

from tests.localazure.containers.conftest import write_workload
from tests.localazure.containers.sdk import TASK_RUN, Registry
from tests.support.embedded import EmbeddedAzure

pytestmark = pytest.mark.usefixtures("judged")


@pytest.fixture
def name() -> str:
    return f"up-{uuid.uuid4().hex[:8]}"


def archive(folder: Path) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as packed:
        for path in sorted(folder.iterdir()):
            packed.add(path, arcname=path.name)
    return content.getvalue()


def with_members(*members: tarfile.TarInfo) -> bytes:
    """An archive of members without content."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as packed:
        for member in members:
            packed.addfile(member, io.BytesIO(b""))
    return content.getvalue()


def offered(registry: Registry) -> dict[str, str]:
    return registry.azure.post(f"{registry.id}/listBuildSourceUploadUrl", TASK_RUN).raise_for_status().json()


def upload(registry: Registry, content: bytes) -> str:
    """Uploads without a token. The location that a build calls it by."""
    place = offered(registry)
    with registry.azure.http() as client:
        answer = client.put(place["uploadUrl"], content=content, headers={"x-ms-blob-type": "BlockBlob"})
    assert answer.status_code == 201, answer.text
    return place["relativePath"]


def schedule(registry: Registry, location: str, image: str, **changed: Any) -> httpx.Response:
    body = {**registry.request("unused", image), "sourceLocation": location, **changed}
    return registry.azure.post(f"{registry.id}/scheduleRun", TASK_RUN, body)


def run_of(registry: Registry, run: str) -> dict[str, Any]:
    return registry.azure.get(f"{registry.id}/runs/{run}", TASK_RUN).raise_for_status().json()["properties"]


def ended(registry: Registry, answer: httpx.Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    run = answer.json()["properties"]["runId"]
    return registry.azure.until(
        lambda: (found := run_of(registry, run))["status"] not in ("Queued", "Running") and found, f"the run {run} ends"
    )


def log_of(registry: Registry, run: str) -> str:
    link = registry.azure.post(f"{registry.id}/runs/{run}/listLogSasUrl", TASK_RUN).json()["logLink"]
    with registry.azure.http() as client:
        return client.get(link).raise_for_status().text


def test_a_task_run_builds_it_too(registry: Registry, tmp_path: Path, name: str) -> None:
    location = upload(registry, archive(write_workload(tmp_path / "context")))
    assert registry.build("unused", f"{name}:1", run=name, sourceLocation=location)["status"] == "Succeeded"


def test_an_address_takes_its_own_upload_alone(registry: Registry, azure: EmbeddedAzure) -> None:
    place = offered(registry)
    other = offered(registry)
    signature = other["uploadUrl"].rsplit("sig=", 1)[1]
    with azure.http() as client:
        for address in (
            place["uploadUrl"].rsplit("&sig=", 1)[0],
            place["uploadUrl"].rsplit("sig=", 1)[0] + f"sig={signature}",
            place["uploadUrl"].replace(place["relativePath"], other["relativePath"]),
            place["uploadUrl"].replace(".tar.gz", ".tar.gz/../../x"),
        ):
            assert client.put(address, content=b"x").status_code in (403, 404)
        assert client.get(place["uploadUrl"]).status_code in (401, 405)
        assert client.put(f"{place['uploadUrl']}&comp=block&blockid=x", content=b"x").status_code == 501
    assert not list((azure.state / "sources").glob("*/*.tar.gz")) or place["relativePath"].replace("/", "-") not in {
        file.name for file in (azure.state / "sources").glob("*/*")
    }


def damaged(mode: Literal["w:gz", "w:xz"]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode=mode) as packed:
        text = " ".join(str(number * number) for number in range(50_000)).encode()
        data = tarfile.TarInfo("data")
        data.size = len(text)
        packed.addfile(data, io.BytesIO(text))
    whole = bytearray(content.getvalue())
    middle = len(whole) // 2
    whole[middle : middle + 400] = b"\xff" * 400
    return bytes(whole)


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.mode, made.linkname = kind, 0o755, target
    return made


def link(target: str) -> tarfile.TarInfo:
    return member("link", tarfile.SYMTYPE, target)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (with_members(member("../outside")), "the uploaded archive can't be unpacked"),
        (with_members(member("folder/../../outside")), "the uploaded archive can't be unpacked"),
        (with_members(link("/etc/passwd")), "the uploaded archive can't be unpacked"),
        (with_members(link("../../outside")), "the uploaded archive can't be unpacked"),
        (with_members(member("device", tarfile.CHRTYPE)), "the uploaded archive can't be unpacked"),
        (b"no archive at all", "the uploaded archive can't be unpacked"),
        (damaged("w:gz"), "the uploaded archive can't be unpacked"),
        (damaged("w:xz"), "the uploaded archive can't be unpacked"),
        (
            with_members(member("folder", tarfile.DIRTYPE), link("folder"), member("./link/./file")),
            "lies behind the link 'link'",
        ),
    ],
    ids=["above", "folder", "link", "link above", "device", "none", "damaged", "damaged xz", "behind a link"],
)
def test_an_archive_that_leads_outside_fails_the_build(registry: Registry, content: bytes, message: str, name: str) -> None:
    found = ended(registry, schedule(registry, upload(registry, content), f"{name}:1"))
    assert found["status"] == "Failed"
    assert message in found["runErrorMessage"]
    assert not list(registry.azure.state.glob("**/outside"))


def test_numbers_that_no_machine_counts_to_upset_nothing(registry: Registry, name: str) -> None:
    run = ended(registry, schedule(registry, upload(registry, b"no archive"), f"{name}:1"))["runId"]
    many = "9" * 5000
    assert registry.azure.get(f"{registry.id}/runs", TASK_RUN, **{"$top": many}).status_code == 200
    link = registry.azure.post(f"{registry.id}/runs/{run}/listLogSasUrl", TASK_RUN).json()["logLink"]
    with registry.azure.http() as client:
        assert client.get(link, headers={"Range": f"bytes={many}-"}).status_code == 200


def test_what_was_never_uploaded_fails_the_build(registry: Registry, name: str) -> None:
    found = ended(registry, schedule(registry, offered(registry)["relativePath"], f"{name}:1"))
    assert "nothing was uploaded" in found["runErrorMessage"]


def test_what_if_tells_no_secret_build_argument(registry: Registry, name: str) -> None:
    arguments = [{"name": "KEY", "value": "hunter2", "isSecret": True}]
    failed = registry.build("nowhere", f"{name}:1", run=name, arguments=arguments)
    assert failed["status"] == "Failed"
    resource = {
        "type": "Microsoft.ContainerRegistry/registries/taskRuns",
        "apiVersion": TASK_RUN,
        "name": f"{registry.id.rsplit('/', 1)[1]}/{name}",
        "properties": {"runRequest": {**registry.request("hello", f"{name}:2"), "arguments": arguments}},
    }
    schema = "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#"
    template = {"$schema": schema, "contentVersion": "1.0.0.0", "resources": [resource]}
    path = f"{registry.group}/providers/Microsoft.Resources/deployments/{name}/whatIf"
    answer = registry.azure.post(path, "2025-04-01", {"properties": {"mode": "Incremental", "template": template}})
    change = next(one for one in answer.json()["properties"]["changes"] if one["resourceId"].endswith(name))
    assert change["changeType"] == "Modify"
    assert "hunter2" not in answer.text
