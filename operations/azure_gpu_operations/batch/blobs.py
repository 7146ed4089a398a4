"""A stack's storage account as `run`, `package push` and `upload-model` use it: with the token of the stack's login, by no key.

In: a signed-in `Arm`, the account's ARM id. Out: `Blobs`. A refusal is an AzureError in a line, with the role that allows it.
"""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.storage.blob import BlobServiceClient

from azure_gpu.catalog import roles
from azure_gpu.shared import role_command
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations import signed_in
from azure_gpu_operations.azure import Arm, AzureError, SignIn

API_VERSION = "2023-05-01"  # of the account in ARM
HASH = "sha256"  # the name of a blob's metadata
WRITER_ROLE = roles.NAMES[roles.STORAGE_BLOB_DATA_CONTRIBUTOR]  # reads, writes and deletes blobs; an owner has no such right


class Blobs:
    """One storage account. AzureError where ARM doesn't know it."""

    def __init__(self, arm: Arm, account_id: str) -> None:
        body = arm.get(account_id, API_VERSION)
        self.name = account_id.rsplit("/", 1)[-1]
        if body is None:
            raise AzureError(f"the storage account {self.name} isn't there: somebody has deleted it", 404)
        self.endpoint = str(body["properties"]["primaryEndpoints"]["blob"])
        self._id, self._login = account_id, arm.login
        self._client: Any = BlobServiceClient(self.endpoint.rstrip("/"), credential=arm.login.credential)

    def close(self) -> None:
        self._client.close()

    def make_container(self, name: str) -> None:
        """One that is there already is no error."""
        try:
            self._client.create_container(name)
        except ResourceExistsError:
            return
        except HttpResponseError as error:
            raise self._refused(error, "make a container in") from error

    def put(self, container: str, path: str, content: bytes, *, again: bool = True) -> None:
        """`again` False leaves a blob as it is where one is there: its name says its content."""
        try:
            self._client.get_blob_client(container, path).upload_blob(content, overwrite=again)
        except ResourceExistsError:
            if again:
                raise
        except HttpResponseError as error:
            raise self._refused(error, "write to") from error

    def put_file(self, container: str, path: str, file: Path, sha256: str) -> None:
        """With its hash beside it. ResourceExistsError where a blob is there: nothing is ever overwritten."""
        try:
            with file.open("rb") as content:
                client = self._client.get_blob_client(container, path)
                client.upload_blob(content, overwrite=False, metadata={HASH: sha256}, max_concurrency=4)
        except ResourceExistsError:
            raise
        except HttpResponseError as error:
            raise self._refused(error, "write to") from error

    def sizes_and_hashes(self, container: str, prefix: str) -> dict[str, tuple[int, str]]:
        """Size and hash of each blob below a prefix, by the rest of its name; the hash is "" where none stands beside it."""
        client = self._client.get_container_client(container)
        try:
            listed = list(client.list_blobs(name_starts_with=prefix, include=["metadata"]))
        except ResourceNotFoundError:  # no such container yet
            return {}
        except HttpResponseError as error:
            raise self._refused(error, "list blobs of") from error
        return {str(blob.name)[len(prefix) :]: (int(blob.size), (blob.metadata or {}).get(HASH, "")) for blob in listed}

    def names(self, container: str, prefix: str) -> Iterator[str]:
        """The names of the blobs below a prefix; none where there is no such container."""
        try:
            yield from self._client.get_container_client(container).list_blob_names(name_starts_with=prefix)
        except ResourceNotFoundError:
            return
        except HttpResponseError as error:
            raise self._refused(error, "list blobs of") from error

    def all_sizes(self) -> Iterator[int]:
        """The size of each blob of the account, in bytes."""
        try:
            for container in self._client.list_containers():
                for blob in self._client.get_container_client(container.name).list_blobs():
                    yield int(blob.size)
        except HttpResponseError as error:
            raise self._refused(error, "list blobs of") from error

    def read(self, container: str, path: str) -> bytes | None:
        """A blob's content; None where there is none."""
        try:
            return self._client.get_blob_client(container, path).download_blob().readall()
        except ResourceNotFoundError:
            return None
        except HttpResponseError as error:
            raise self._refused(error, "read from") from error

    def read_from(self, container: str, path: str, start: int) -> bytes | None:
        """A blob's content from a byte on, which is nothing where it is no longer; None where there is no blob."""
        try:
            return self._client.get_blob_client(container, path).download_blob(offset=start).readall()
        except ResourceNotFoundError:
            return None
        except HttpResponseError as error:
            if error.status_code == 416:  # nothing behind that byte
                return b""
            raise self._refused(error, "read from") from error

    def hash_of(self, container: str, path: str) -> str:
        """By reading the blob."""
        found = hashlib.sha256()
        try:
            for part in self._client.get_blob_client(container, path).download_blob().chunks():
                found.update(part)
        except HttpResponseError as error:
            raise self._refused(error, "read from") from error
        return found.hexdigest()

    def delete(self, container: str, path: str) -> None:
        """Deletes a blob and, where the account keeps versions, the older version that this makes of it. What soft delete keeps
        stays for its days. One that isn't there is no error."""
        # Source: Microsoft Learn, articles/storage/blobs/versioning-overview.md, "Versioning on delete operations".
        try:
            client = self._client.get_blob_client(container, path)
            version = client.get_blob_properties().version_id  # None where the account keeps no versions
            client.delete_blob()
            if version:
                client.delete_blob(version_id=version)
        except ResourceNotFoundError:
            return
        except HttpResponseError as error:
            raise self._refused(error, "take a blob from") from error

    def fetch(self, container: str, prefix: str, folder: Path) -> Iterator[Path]:
        """Every blob below a prefix into a folder, each under the rest of its name. Yields each file once it is there."""
        client = self._client.get_container_client(container)
        try:
            for blob in client.list_blobs(name_starts_with=prefix):
                file = _inside(folder, str(blob.name)[len(prefix) :])
                if file is None:
                    continue
                file.parent.mkdir(parents=True, exist_ok=True)
                with file.open("wb") as target:
                    client.download_blob(blob.name).readinto(target)
                yield file
        except HttpResponseError as error:
            raise self._refused(error, "read from") from error

    def is_open(self) -> bool:
        """Whether this login may read the account's data, which the role of `WRITER_ROLE` allows."""
        try:
            for _ in self._client.list_containers():
                break
        except HttpResponseError as error:
            if error.status_code == 403:
                return False
            raise self._refused(error, "list containers of") from error
        return True

    def _refused(self, error: HttpResponseError, what: str) -> AzureError:
        return AzureError(why(error, f"{what} the storage account {self.name}", self._fix), error.status_code or 0)

    def _fix(self) -> str:
        return f"`{grant_command(self._id, self._login)}`, or `{COMMAND} access --grant --stack <stack>`, gives it"


def grant_command(account_id: str, login: SignIn) -> str:
    """What gives whoever is signed in the role, run by somebody who may give roles."""
    try:
        who = signed_in.of(login)
    except AzureError:
        who = signed_in.Principal("$(az ad signed-in-user show --query id --output tsv)", "User")
    return role_command.command(roles.STORAGE_BLOB_DATA_CONTRIBUTOR, scope=account_id, principal_id=who.object_id, kind=who.kind)


def why(error: HttpResponseError, what: str, fix: Callable[[], str]) -> str:
    """A refusal of the blob service in a line, with the role that allows it and how to get that where it is a right."""
    code = str(getattr(error, "error_code", "") or f"HTTP {error.status_code}")
    if error.status_code == 403:
        return f"this login may not {what}; the role {WRITER_ROLE} on it allows that ({code}): {fix()}"
    message = str(error.message or "").strip().splitlines()
    return f"Azure refused to {what}: {code}" + (f": {message[0]}" if message else "")


def _inside(folder: Path, name: str) -> Path | None:
    """None for a name that leads out of the folder: whoever wrote the blob named it."""
    parts = PurePosixPath(name.lstrip("/")).parts
    return folder.joinpath(*parts) if parts and ".." not in parts else None
