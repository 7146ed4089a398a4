"""Files into a container of blob storage, by the managed identity of wherever this runs.

In: the address of a container and what the blobs' names begin with, and a folder. Out: a blob for each file. Nothing secret is
given to this program: the identity is asked for a token, and needs the role Storage Blob Data Contributor.
"""

import logging
import os
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from azure.core.exceptions import AzureError, HttpResponseError
from azure.identity import ManagedIdentityCredential
from azure.storage.blob import BlobClient

from .refusal import RefusedError

_SCOPE = "https://storage.azure.com/.default"
_QUICK = {"retry_total": 2, "connection_timeout": 5, "read_timeout": 30}  # a machine without an identity should say so soon


class Upload:
    """An upload that is allowed: the identity has given a token when this has been made."""

    def __init__(self, address: str) -> None:
        """Errors: `RefusedError` where there is no identity."""
        logging.getLogger("azure").setLevel(logging.CRITICAL)  # its warnings would stand among this program's lines
        self._address = address.rstrip("/")
        # Of several identities the variable says which; Azure's own containers and nodes set it, or have one alone.
        try:
            self._credential = ManagedIdentityCredential(client_id=os.environ.get("AZURE_CLIENT_ID") or None, **_QUICK)
            self._credential.get_token(_SCOPE)
        except (AzureError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise RefusedError([f"--upload-to: no token from a managed identity: {reason}"]) from error

    def send(self, folder: Path) -> str:
        """Uploads every file below `folder`, and returns the address they lie under. Errors: `RefusedError`."""
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            self._send(file, f"{self._address}/{quote(file.relative_to(folder).as_posix())}")
        return self._address

    def _send(self, file: Path, address: str) -> None:
        parts = urlsplit(address)
        # An account's address may itself have a path. Only the whole address counts, so any cut of it serves.
        container, _, blob = parts.path.lstrip("/").partition("/")
        client = BlobClient(
            f"{parts.scheme}://{parts.netloc}", unquote(container), unquote(blob), credential=self._credential, **_QUICK
        )
        try:
            with client, file.open("rb") as content:
                client.upload_blob(content, overwrite=True)
        except HttpResponseError as error:
            code = getattr(error, "error_code", None) or error.reason
            raise RefusedError([f"--upload-to: {address}: {error.status_code} {code}; {_fix(error)}"]) from error
        except AzureError as error:
            raise RefusedError([f"--upload-to: {address}: {str(error).splitlines()[0]}"]) from error


def _fix(error: HttpResponseError) -> str:
    if error.status_code == 403:
        return "the identity needs the role Storage Blob Data Contributor, which takes minutes to work"
    return "check the account and the container" if error.status_code == 404 else "try again"
