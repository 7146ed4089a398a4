"""`az storage blob`, signed in, with an account's key and with a signature, as its users move files."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.azure_cli import AzureCli

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def group(az: AzureCli) -> Iterator[str]:
    with az.group("eastus") as name:
        yield name


@pytest.fixture(scope="module")
def endpoint(az: AzureCli, group: str) -> tuple[str, str]:
    """An account's name and its endpoint for blobs, which `az` has to be told in a cloud of its own."""
    name = f"s{uuid.uuid4().hex[:12]}"
    made = az.answer("storage", "account", "create", "--resource-group", group, "--name", name, "--sku", "Standard_LRS")
    return name, made["primaryEndpoints"]["blob"]


def test_files_are_uploaded_listed_and_downloaded_by_who_is_signed_in(
    az: AzureCli, endpoint: tuple[str, str], tmp_path: Path
) -> None:
    signed_in = ("--blob-endpoint", endpoint[1], "--auth-mode", "login")
    assert az.answer("storage", "container", "create", "--name", "data", *signed_in) == {"created": True}
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("a")
    (tmp_path / "in" / "b.txt").write_text("b" * 100_000)
    az.answer("storage", "blob", "upload-batch", "--destination", "data", "--source", str(tmp_path / "in"), *signed_in)
    listed = az.answer("storage", "blob", "list", "--container-name", "data", *signed_in)
    assert [(each["name"], each["properties"]["contentLength"]) for each in listed] == [("a.txt", 1), ("b.txt", 100_000)]
    blob = ("--container-name", "data", "--name", "b.txt")
    az.answer("storage", "blob", "download", *blob, "--file", str(tmp_path / "out"), *signed_in)
    assert (tmp_path / "out").read_text() == "b" * 100_000
    az.answer("storage", "blob", "delete", *blob, *signed_in)
    assert az.answer("storage", "blob", "exists", *blob, *signed_in) == {"exists": False}


def test_a_key_and_a_signature_made_with_it_open_what_they_should(
    az: AzureCli, group: str, endpoint: tuple[str, str], tmp_path: Path
) -> None:
    name, url = endpoint
    key = az.answer("storage", "account", "keys", "list", "--resource-group", group, "--account-name", name)[0]["value"]
    by_key = ("--blob-endpoint", url, "--account-name", name, "--account-key", key)
    az.answer("storage", "container", "create", "--name", "signed", *by_key)
    (tmp_path / "in").write_text("content")
    blob = ("--container-name", "signed", "--name", "file")
    az.answer("storage", "blob", "upload", *blob, "--file", str(tmp_path / "in"), *by_key)
    span = ("--permissions", "r", "--expiry", "2099-01-01T00:00Z")
    signature = az.answer("storage", "blob", "generate-sas", *blob, *span, "--account-name", name, "--account-key", key)
    by_signature = ("--blob-endpoint", url, "--sas-token", signature)
    az.answer("storage", "blob", "download", *blob, "--file", str(tmp_path / "out"), *by_signature)
    assert (tmp_path / "out").read_text() == "content"
    _, said = az.refusal("storage", "blob", "delete", *blob, *by_signature)
    assert "You do not have the required permissions" in said  # az's words for AuthorizationPermissionMismatch
    _, said = az.refusal("storage", "blob", "list", "--container-name", "signed", *by_key[:4], "--account-key", "AAAA")
    assert "Authentication" in said
