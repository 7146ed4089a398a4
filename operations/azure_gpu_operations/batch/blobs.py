"""Client of a stack's storage account for `run` and `upload`, with the stack's login and without keys.

A refusal is raised as a one-line AzureError that names the required role.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from azure.core.exceptions import HttpResponseError, ResourceExistsError, ResourceNotFoundError
from azure.storage.blob import BlobServiceClient

from azure_gpu.catalog import roles
from azure_gpu.shared import role_command
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations import signed_in
from azure_gpu_operations.azure import Arm, AzureError, SignIn, refused_as
from azure_gpu_operations.closed import Transport

API_VERSION = "2023-05-01"  # of the account in ARM
HASH = "sha256"  # the name of a blob's metadata
WRITER_ROLE = roles.NAMES[roles.STORAGE_BLOB_DATA_CONTRIBUTOR]  # reads, writes and deletes blobs; the role Owner doesn't


class Blobs:
    """One storage account. AzureError if it doesn't exist."""

    def __init__(self, arm: Arm, account_id: str) -> None:
        body = arm.get(account_id, API_VERSION)
        self.name = account_id.rsplit("/", 1)[-1]
        if body is None:
            raise AzureError(f"the storage account {self.name} doesn't exist; it was deleted outside the stack", 404)
        self.endpoint = str(body["properties"]["primaryEndpoints"]["blob"])
        self._id, self._login = account_id, arm.login
        way = Transport(arm, body, f"the storage account {self.name}")
        self._client: Any = BlobServiceClient(self.endpoint.rstrip("/"), credential=arm.login.credential, transport=way)

    def close(self) -> None:
        self._client.close()

    def make_container(self, name: str) -> None:
        """An existing one is fine."""
        with suppress(ResourceExistsError), self._refused("make a container in", ResourceExistsError):
            self._client.create_container(name)

    def put(self, container: str, path: str, content: bytes, *, again: bool = True) -> None:
        """`again` False keeps an existing blob, for names that are derived from the content."""
        with suppress(*(() if again else (ResourceExistsError,))), self._refused("write to", ResourceExistsError):
            self._client.get_blob_client(container, path).upload_blob(content, overwrite=again)

    def put_file(self, container: str, path: str, file: Path, sha256: str) -> None:
        """Uploads a file with its hash as metadata. ResourceExistsError if the blob exists: it is never overwritten."""
        with self._refused("write to", ResourceExistsError), file.open("rb") as content:
            client = self._client.get_blob_client(container, path)
            client.upload_blob(content, overwrite=False, metadata={HASH: sha256}, max_concurrency=4)

    def sizes_and_hashes(self, container: str, prefix: str) -> dict[str, tuple[int, str]]:
        """Size and hash of each blob below a prefix, by the rest of its name; the hash is "" if it has none. None of a container
        that doesn't exist."""
        listed: list[Any] = []
        with suppress(ResourceNotFoundError), self._refused("list blobs of", ResourceNotFoundError):
            listed += self._client.get_container_client(container).list_blobs(name_starts_with=prefix, include=["metadata"])
        return {str(blob.name)[len(prefix) :]: (int(blob.size), (blob.metadata or {}).get(HASH, "")) for blob in listed}

    def names(self, container: str, prefix: str) -> Iterator[str]:
        """The names of the blobs below a prefix; none if the container doesn't exist."""
        with suppress(ResourceNotFoundError), self._refused("list blobs of", ResourceNotFoundError):
            yield from self._client.get_container_client(container).list_blob_names(name_starts_with=prefix)

    def all_sizes(self) -> Iterator[int]:
        """The size of each blob of the account, in bytes."""
        with self._refused("list blobs of"):
            for container in self._client.list_containers():
                for blob in self._client.get_container_client(container.name).list_blobs():
                    yield int(blob.size)

    def read(self, container: str, path: str) -> bytes | None:
        """A blob's content; None if it doesn't exist."""
        with suppress(ResourceNotFoundError), self._refused("read from", ResourceNotFoundError):
            return self._client.get_blob_client(container, path).download_blob().readall()
        return None

    def read_from(self, container: str, path: str, start: int) -> bytes | None:
        """A blob's content from a byte on, empty at its end; None if the blob doesn't exist."""
        client = self._client.get_blob_client(container, path)
        with suppress(ResourceNotFoundError), self._refused("read from", ResourceNotFoundError):
            # The client drops a connection on which a range behind the end was refused.
            return client.download_blob(offset=start).readall() if client.get_blob_properties().size > start else b""
        return None

    def hash_of(self, container: str, path: str) -> str:
        """Computes the hash by reading the blob."""
        found = hashlib.sha256()
        with self._refused("read from"):
            for part in self._client.get_blob_client(container, path).download_blob().chunks():
                found.update(part)
        return found.hexdigest()

    def delete(self, container: str, path: str) -> None:
        """Deletes a blob and, if the account keeps versions, the version that the deletion creates. Soft-deleted blobs stay for
        their retention time. A missing blob is fine."""
        # Source: Microsoft Learn, articles/storage/blobs/versioning-overview.md, "Versioning on delete operations".
        with suppress(ResourceNotFoundError), self._refused("take a blob from", ResourceNotFoundError):
            client = self._client.get_blob_client(container, path)
            version = client.get_blob_properties().version_id  # None where the account keeps no versions
            client.delete_blob()
            if version:
                client.delete_blob(version_id=version)

    def fetch(self, container: str, prefix: str, folder: Path) -> Iterator[Path]:
        """Every blob below a prefix into a folder, each under the rest of its name. Yields each file once it is there."""
        client = self._client.get_container_client(container)
        with self._refused("read from"):
            for blob in client.list_blobs(name_starts_with=prefix):
                file = _inside(folder, str(blob.name)[len(prefix) :])
                if file is None:
                    continue
                file.parent.mkdir(parents=True, exist_ok=True)
                with file.open("wb") as target:
                    client.download_blob(blob.name).readinto(target)
                yield file

    def is_open(self) -> bool:
        """Whether this login may read the account's data, which the role of `WRITER_ROLE` allows."""
        try:
            next(iter(self._client.list_containers()), None)
        except HttpResponseError as error:  # a refusal of its network is an AzureError, which the transport raises
            if error.status_code == 403:
                return False
            with self._refused("list containers of"):
                raise
        return True

    def _refused(self, what: str, *passed: type[Exception]) -> AbstractContextManager[None]:
        return refused_as(self._why, f"{what} the storage account {self.name}", *passed)

    def _why(self, error: HttpResponseError, what: str) -> str:
        return why(error, what, self._fix)

    def _fix(self) -> str:
        return f"`{grant_command(self._id, self._login)}`, or `{COMMAND} access --grant --stack <stack>`"


def grant_command(account_id: str, login: SignIn) -> str:
    """The command that assigns the role to the signed-in identity, for somebody who may assign roles."""
    try:
        who = signed_in.of(login)
    except AzureError:
        who = signed_in.Principal("$(az ad signed-in-user show --query id --output tsv)", "User")
    return role_command.command(roles.STORAGE_BLOB_DATA_CONTRIBUTOR, scope=account_id, principal_id=who.object_id, kind=who.kind)


def why(error: HttpResponseError, what: str, fix: Callable[[], str]) -> str:
    """A refusal of the blob service in one line, with the required role and the command for it if it is missing."""
    code = str(getattr(error, "error_code", "") or f"HTTP {error.status_code}")
    if error.status_code == 403:
        return f"this login may not {what}; it needs the role {WRITER_ROLE} on it ({code}); fix: {fix()}"
    message = str(error.message or "").strip().splitlines()
    return f"Azure refused to {what}: {code}" + (f": {message[0]}" if message else "")


def _inside(folder: Path, name: str) -> Path | None:
    """None for a name with a path outside the folder: blob names aren't trusted."""
    parts = PurePosixPath(name.lstrip("/")).parts
    return folder.joinpath(*parts) if parts and ".." not in parts else None
