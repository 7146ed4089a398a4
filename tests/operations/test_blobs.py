"""A blob that is deleted for good, on an account that keeps versions and on one that keeps none; one that is read as it grows."""

from types import SimpleNamespace
from typing import Any

import pytest
from azure.core.exceptions import ResourceNotFoundError

from azure_gpu_operations.batch import blobs as module
from azure_gpu_operations.batch.blobs import Blobs

_CONTENT = b"first\nsecond\n"


class Blob:
    """One blob, as Azure's client has it."""

    def __init__(self, version: str | None) -> None:
        self.version = version
        self.deleted: list[str | None] = []

    def get_blob_properties(self) -> Any:
        if self.deleted:
            raise ResourceNotFoundError
        return SimpleNamespace(version_id=self.version, size=len(_CONTENT))

    def download_blob(self, offset: int) -> Any:
        assert offset < len(_CONTENT), "the service refuses a range behind the end, and the client drops the connection"
        return SimpleNamespace(readall=lambda: _CONTENT[offset:])

    def delete_blob(self, version_id: str | None = None) -> None:
        self.deleted.append(version_id)


@pytest.mark.parametrize(("version", "deleted"), [(None, [None]), ("2026-11-23T00:00:00.1Z", [None, "2026-11-23T00:00:00.1Z"])])
def test_the_older_version_that_a_deletion_makes_is_deleted_too(
    monkeypatch: pytest.MonkeyPatch, version: str | None, deleted: list[str | None]
) -> None:
    blob = Blob(version)
    held = _held(monkeypatch, blob)
    held.delete("runs", "secret")
    assert blob.deleted == deleted
    held.delete("runs", "secret")  # it is gone, which is no error
    assert blob.deleted == deleted


def test_a_log_is_read_on_from_where_it_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    blob = Blob(None)
    held = _held(monkeypatch, blob)
    assert [held.read_from("runs", "log", start) for start in (0, 6, len(_CONTENT))] == [_CONTENT, b"second\n", b""]
    held.delete("runs", "log")
    assert held.read_from("runs", "log", 0) is None


def _held(monkeypatch: pytest.MonkeyPatch, blob: Blob) -> Blobs:
    service = SimpleNamespace(get_blob_client=lambda container, path: blob)
    monkeypatch.setattr(module, "BlobServiceClient", lambda *_, **__: service)
    account = {"properties": {"primaryEndpoints": {"blob": "https://a.blob.core.windows.net/"}}}
    arm: Any = SimpleNamespace(get=lambda *_: account, login=SimpleNamespace(credential=None))
    return Blobs(arm, "/subscriptions/0/a")
