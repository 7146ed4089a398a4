"""`Blobs`: what the rest of the embedded Azure does with blobs, in the name of identities with their roles."""

import asyncio
import http.server
import threading
import uuid
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from azure_gpu.catalog import roles
from localazure.arm.store import Body, Resource, Store
from localazure.blobs.errors import BlobError
from localazure.blobs.service import Blobs
from localazure.subscriptions import SUBSCRIPTION
from tests.localazure.coroutines import within
from tests.localazure.parts import arm_id, services_in

GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg"
ACCOUNT = f"{GROUP}/providers/Microsoft.Storage/storageAccounts/results"
IDENTITY = f"{GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/trainer"
PRINCIPAL = "11111111-1111-1111-1111-111111111111"
CALLER = "22222222-2222-2222-2222-222222222222"


class Place:
    """A store with one account and one identity in it, and blob storage on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "logs").mkdir()
        self.services = services_in(folder, CALLER)
        self.store = self.services.store
        self.blobs = Blobs(self.services)
        keys = {name: {"value": "a2V5", "creationTime": ""} for name in ("key1", "key2")}
        self.put(ACCOUNT, {"location": "westeurope", "sku": {"name": "Standard_LRS"}}, private={"keys": keys})
        self.put(IDENTITY, {"location": "westeurope"}, service={"properties": {"principalId": PRINCIPAL, "clientId": "c"}})

    def put(self, resource_id: str, body: Body, **more: Any) -> None:
        self.store.put(Resource(id=arm_id(resource_id), body=body, **more))

    def assign(self, role: str, scope: str, principal: str = PRINCIPAL) -> None:
        properties = {"principalId": principal, "roleDefinitionId": roles.definition_id(SUBSCRIPTION, role)}
        self.put(f"{scope}/providers/Microsoft.Authorization/roleAssignments/{uuid.uuid4()}", {"properties": properties})

    async def container(self, name: str = "out") -> str:
        await self.blobs.ensure_container("results", name)
        return self.blobs.container_url("results", name)

    def file(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content)
        return path


def scenario(folder: Path, play: Callable[[Place], Awaitable[None]]) -> None:
    async def run() -> None:
        place = Place(folder)
        try:
            await play(place)
        finally:
            await place.blobs.stop()
            place.store.close()

    asyncio.run(run())


at_place = within(scenario, "tmp_path")


@pytest.mark.slow
@at_place
async def test_an_identity_writes_with_the_role_of_a_contributor_and_reads_with_that_of_a_reader(
    place: Place, tmp_path: Path
) -> None:
    url = await place.container()
    file = place.file("model.bin", b"weights" * 100_000)
    with pytest.raises(BlobError, match="AuthorizationPermissionMismatch"):
        await place.blobs.upload(file, url, "run-1/model.bin", IDENTITY)
    place.assign(roles.STORAGE_BLOB_DATA_READER, GROUP)
    assert place.blobs.may(IDENTITY, "results", write=False)
    assert not place.blobs.may(IDENTITY, "results", write=True)
    with pytest.raises(BlobError, match="AuthorizationPermissionMismatch"):
        await place.blobs.upload(file, url, "run-1/model.bin", IDENTITY)
    place.assign(roles.STORAGE_BLOB_DATA_CONTRIBUTOR, ACCOUNT)
    await place.blobs.upload(file, url, "run-1/model.bin", IDENTITY)
    (fetched,) = await place.blobs.fetch(f"{url}/run-1/model.bin", "", tmp_path / "in" / "model.bin", IDENTITY)
    assert fetched.read_bytes() == file.read_bytes()


@pytest.mark.parametrize(
    "role", [roles.OWNER, roles.CONTRIBUTOR, roles.READER, roles.ACR_PULL, roles.STORAGE_ACCOUNT_CONTRIBUTOR]
)
def test_a_role_over_the_account_that_says_nothing_of_data_opens_no_blob(tmp_path: Path, role: str) -> None:
    place = Place(tmp_path)
    place.assign(role, f"/subscriptions/{SUBSCRIPTION}")
    assert not place.blobs.may(IDENTITY, "results", write=False)
    place.store.close()


@pytest.mark.slow
@at_place
async def test_a_role_at_one_container_opens_that_one(place: Place) -> None:
    await place.container("out")
    await place.container("other")
    place.assign(roles.STORAGE_BLOB_DATA_CONTRIBUTOR, f"{ACCOUNT}/blobServices/default/containers/out")
    assert place.blobs.may(IDENTITY, "results", write=True, container="out")
    assert not place.blobs.may(IDENTITY, "results", write=True, container="other")
    assert not place.blobs.may(IDENTITY, "results", write=True)
    assert not place.blobs.may(IDENTITY, "elsewhere", write=True, container="out")
    assert not place.blobs.may(IDENTITY.replace("trainer", "nobody"), "results", write=True, container="out")


@pytest.mark.slow
@at_place
async def test_a_container_is_fetched_by_prefix_with_the_names_of_its_blobs(place: Place, tmp_path: Path) -> None:
    url = await place.container()
    place.assign(roles.STORAGE_BLOB_DATA_CONTRIBUTOR, ACCOUNT)
    for number in range(12):
        await place.blobs.upload(place.file("x", b"%d" % number), url, f"set/part {number}.txt", IDENTITY)
    await place.blobs.upload(place.file("x", b"no"), url, "other.txt", IDENTITY)
    written = await place.blobs.fetch(url, "set/", tmp_path / "in", IDENTITY)
    assert len(written) == 12
    assert (tmp_path / "in" / "set" / "part 7.txt").read_bytes() == b"7"
    assert not (tmp_path / "in" / "other.txt").exists()
    assert len(await place.blobs.fetch(url, "", tmp_path / "all", IDENTITY)) == 13
    assert await place.blobs.fetch(url, "nothing", tmp_path / "none", IDENTITY) == []
    with pytest.raises(BlobError, match="ContainerNotFound"):
        await place.blobs.fetch(f"{url}x", "", tmp_path / "none", IDENTITY)
    with pytest.raises(BlobError, match="BlobNotFound"):
        await place.blobs.fetch(f"{url}/nothing", "", tmp_path / "none", IDENTITY)
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.slow
@at_place
async def test_an_address_with_a_signature_needs_no_identity_and_does_what_it_says(place: Place, tmp_path: Path) -> None:
    await place.container("packages")
    soon = datetime.now(UTC) + timedelta(hours=1)
    place.store.put(_without_keys(place.store, ACCOUNT))
    writing = place.blobs.sas_url("results", "packages", "app/1.0.zip", "w", soon)
    reading = place.blobs.sas_url("results", "packages", "", "rl", soon)
    assert writing.startswith("https://localhost:1/blob/results/packages/app/1.0.zip?")
    base, query = reading.split("?")
    await place.blobs.upload(place.file("x", b"zip"), _within(writing), "1.0.zip")
    (fetched,) = await place.blobs.fetch(reading, "app/", tmp_path / "in")
    assert fetched.read_bytes() == b"zip"
    assert await place.blobs.fetch(f"{base}/app/1.0.zip?{query}", "", tmp_path / "one") == [tmp_path / "one"]
    with pytest.raises(BlobError, match="AuthorizationPermissionMismatch"):
        await place.blobs.fetch(writing, "", tmp_path / "two")
    over = place.blobs.sas_url("results", "packages", "", "rl", datetime.now(UTC) - timedelta(seconds=1))
    with pytest.raises(BlobError, match="AuthenticationFailed"):
        await place.blobs.fetch(over, "", tmp_path / "three")
    with pytest.raises(BlobError, match="NoAuthenticationInformation"):
        await place.blobs.fetch(base, "", tmp_path / "four")
    assert await place.blobs.exists("results", "packages", "app/1.0.zip")
    await place.blobs.delete("results", "packages", "app/1.0.zip")
    await place.blobs.delete("results", "packages", "app/1.0.zip")
    assert not await place.blobs.exists("results", "packages", "app/1.0.zip")


@pytest.mark.slow
@at_place
async def test_azures_own_address_of_an_account_that_is_here_means_that_account(place: Place, tmp_path: Path) -> None:
    url = await place.container()
    place.assign(roles.STORAGE_BLOB_DATA_CONTRIBUTOR, ACCOUNT)
    await place.blobs.upload(place.file("x", b"here"), url, "file", IDENTITY)
    azures = "https://results.blob.core.windows.net/out/file"
    (fetched,) = await place.blobs.fetch(azures, "", tmp_path / "fetched", IDENTITY)
    assert fetched.read_bytes() == b"here"


@pytest.mark.slow
@at_place
async def test_an_upload_goes_to_containers_alone(place: Place) -> None:
    file = place.file("x", b"")
    for url in ("https://example.org/c", "https://localhost:1/blob/results", "https://localhost:1/local/faults", "nothing"):
        with pytest.raises(BlobError, match="InvalidUri"):
            await place.blobs.upload(file, f"{url}?sig=hidden", "x", IDENTITY)
    url = await place.container()
    for name in ("../other/x", "a/../../x", ""):
        with pytest.raises(BlobError, match="InvalidUri"):
            await place.blobs.upload(file, url, name, IDENTITY)


@pytest.fixture
def outside() -> Iterator[str]:
    """A web server with one file."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/data.txt" else 404)
            self.end_headers()
            self.wfile.write(b"from outside")

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
@at_place
async def test_a_file_is_fetched_from_outside_without_saying_who_asks(place: Place, tmp_path: Path, outside: str) -> None:
    assert await place.blobs.fetch(f"{outside}/data.txt", "", tmp_path / "in" / "data.txt") == [tmp_path / "in" / "data.txt"]
    assert (tmp_path / "in" / "data.txt").read_bytes() == b"from outside"
    with pytest.raises(BlobError, match="answered 404") as error:
        await place.blobs.fetch(f"{outside}/missing?sig=hidden", "", tmp_path / "no")
    assert "hidden" not in str(error.value)
    with pytest.raises(BlobError, match="InvalidUri"):
        await place.blobs.fetch("file:///etc/passwd", "", tmp_path / "no")
    assert not (tmp_path / "no").exists()


def _without_keys(store: Store, account: str) -> Resource:
    resource = store.get(account)
    assert resource is not None
    resource.body["properties"] = {"allowSharedKeyAccess": False}
    return resource


def _within(url: str) -> str:
    """The address of the folder above a blob, with the blob's signature."""
    address, _, query = url.partition("?")
    return f"{address.rpartition('/')[0]}?{query}"
