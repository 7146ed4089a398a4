"""Uploads files to a container of blob storage with the managed identity of the machine or container, without a secret."""

import logging
import os
from pathlib import Path
from urllib.parse import quote

from azure.core.exceptions import AzureError, HttpResponseError
from azure.identity import ManagedIdentityCredential
from azure.storage.blob import BlobClient

from .refusal import RefusedError

_SCOPE = "https://storage.azure.com/.default"
_QUICK = {"retry_total": 2, "connection_timeout": 5, "read_timeout": 30}  # so that a missing identity is found quickly


class Upload:
    def __init__(self, address: str) -> None:
        """`RefusedError` if the identity gets no token."""
        logging.getLogger("azure").setLevel(logging.CRITICAL)  # hides its warnings
        self._address = address.rstrip("/")
        # The variable selects one of several identities; Azure's containers and nodes set it, or have only one.
        try:
            self._credential = ManagedIdentityCredential(client_id=os.environ.get("AZURE_CLIENT_ID") or None, **_QUICK)
            self._credential.get_token(_SCOPE)
        except (AzureError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise RefusedError([f"--upload-to: no token from a managed identity: {reason}"]) from error

    def send(self, folder: Path) -> str:
        """Uploads every file below `folder`, and returns their common URL. `RefusedError` on failure."""
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            self._send(file, f"{self._address}/{quote(file.relative_to(folder).as_posix())}")
        return self._address

    def _send(self, file: Path, address: str) -> None:
        client = BlobClient.from_blob_url(address, credential=self._credential, **_QUICK)
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
