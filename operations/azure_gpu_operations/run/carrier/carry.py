"""Downloads a program's input files, runs it, and uploads its output files. Runs in the container, with Python 3.8 or later.

    python3 carry.py PROGRAM ARGUMENT ...

AZURE_GPU_FILES is one JSON object: `container_url`, `client_id` of the identity, `inputs` (`from` a prefix in the storage
container, `to` a path below the working folder), `outputs` (patterns relative to the working folder), `prefix` for uploads,
`under_way` (marker blob, deleted after the upload; "" for none).
Exits with the program's exit code, after uploading its output in any case; with 125, and one line with the reason, if files can't
be transferred.

Tokens come from the service's identity endpoint, in the order of Azure's libraries: workload identity of AKS
(AZURE_FEDERATED_TOKEN_FILE), Container Apps and App Service (IDENTITY_ENDPOINT), nodes of Azure ML (MSI_ENDPOINT), the instance
metadata service of machines. Forms: azure-identity 1.25, WorkloadIdentityCredential and ManagedIdentityCredential; Microsoft
Learn, container-apps/managed-identity.
"""

from __future__ import annotations  # which Python 3.8 needs

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

VARIABLE = "AZURE_GPU_FILES"
MARK = "azure-gpu: "  # prefix of the carrier's lines
FAILED = 125
RESOURCE = "https://storage.azure.com/"
_BLOB_VERSION = "2021-08-06"
_TRIES = 6
_WAIT_SECONDS = 5.0  # before a retry: a role takes minutes to work, a service may be busy
# A new federated credential takes some seconds to work: Microsoft Learn, aks/workload-identity-overview, limitations.
# The numbers: Azure/azure-workload-identity issues 616 and 1200.
_NOT_KNOWN_YET = ("AADSTS70021:", "AADSTS700211:", "AADSTS700213:")
_PART_BYTES = 64 * 1024 * 1024  # of a blob that is sent in blocks
_TIMEOUT_SECONDS = 300


class CarryError(Exception):
    """Files can't be transferred. The text is for the user."""


def main(words: Sequence[str]) -> int:
    requested: Mapping[str, Any] = json.loads(os.environ.pop(VARIABLE))
    try:
        store = Store(requested["container_url"], requested["client_id"])
        count = sum(store.fetch(each["from"], each["to"]) for each in requested["inputs"])
        if requested["inputs"]:
            say(f"fetched {_files(count, 'input ')}")
        code = run(words)
        files = left(requested["outputs"])
        for path in files:
            store.put(Path(path), f"{requested['prefix']}/{path}")
        if requested["outputs"]:
            say(f"uploaded {_files(len(files))}")
        if requested["under_way"]:
            store.delete(requested["under_way"])
    except CarryError as error:
        say(str(error))
        return FAILED
    return code


def _files(count: int, kind: str = "") -> str:
    return f"{count} {kind}file{'' if count == 1 else 's'}"


def run(words: Sequence[str]) -> int:
    """Returns the program's exit code, as in a shell. Signals are forwarded to the program."""
    try:
        process = subprocess.Popen(words)
    except OSError as error:
        raise CarryError(f"{words[0]} can't be started: {error.strerror or error}") from error
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda number, _: process.send_signal(number))
    code = process.wait()
    return 128 - code if code < 0 else code


def left(patterns: Sequence[str]) -> list[str]:
    """The matching files below the working folder, each once; a matching folder stands for all its files."""
    here = Path()
    found: set[str] = set()
    for pattern in patterns:
        for path in here.glob(pattern):
            files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
            found.update(each.as_posix() for each in files)
    return sorted(found)


class Store:
    """One container of a storage account."""

    def __init__(self, url: str, client_id: str) -> None:
        self._url, self._client_id = url.rstrip("/"), client_id
        self._token, self._until = "", 0.0

    def fetch(self, prefix: str, to: str) -> int:
        """Downloads every blob below a prefix, or the blob of this name. Returns their number."""
        names = list(self._names(prefix))
        for name in names:
            rest = name[len(prefix) :].lstrip("/")
            path = PurePosixPath(to) / rest if rest else PurePosixPath(to)
            if path.is_absolute() or ".." in path.parts:
                raise CarryError(f"the path of input {name} is outside the working folder")
            file = Path(path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(self._ask("GET", self._blob(name)))
        return len(names)

    def put(self, file: Path, name: str) -> None:
        """Uploads a large file in blocks; their ids have the same length and are valid base64."""
        with file.open("rb") as content:
            part = content.read(_PART_BYTES)
            if len(part) < _PART_BYTES:
                self._ask("PUT", self._blob(name), part, {"x-ms-blob-type": "BlockBlob"})
                return
            blocks: list[str] = []
            while part:
                blocks.append(f"{len(blocks):08d}".encode().hex())
                query = urllib.parse.urlencode({"comp": "block", "blockid": blocks[-1]})
                self._ask("PUT", f"{self._blob(name)}?{query}", part)
                part = content.read(_PART_BYTES)
        listed = "".join(f"<Latest>{block}</Latest>" for block in blocks)
        body = f'<?xml version="1.0" encoding="utf-8"?><BlockList>{listed}</BlockList>'
        self._ask("PUT", f"{self._blob(name)}?comp=blocklist", body.encode())

    def delete(self, name: str) -> None:
        """A missing blob is fine."""
        self._ask("DELETE", self._blob(name))

    def _names(self, prefix: str) -> Iterator[str]:
        marker = ""
        while True:
            query = urllib.parse.urlencode({"restype": "container", "comp": "list", "prefix": prefix, "marker": marker})
            tree = ElementTree.fromstring(self._ask("GET", f"{self._url}?{query}"))  # noqa: S314 - of the blob service
            yield from (each.findtext("Name") or "" for each in tree.iter("Blob"))
            marker = tree.findtext("NextMarker") or ""
            if not marker:
                return

    def _blob(self, name: str) -> str:
        return f"{self._url}/{urllib.parse.quote(name)}"

    def _ask(self, method: str, url: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> bytes:
        common = {"x-ms-version": _BLOB_VERSION, **(headers or {})}
        for last in _tries():
            request = urllib.request.Request(url, body, {**common, "Authorization": f"Bearer {self._bearer()}"}, method=method)  # noqa: S310
            try:
                with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:  # noqa: S310 - of the storage account
                    return answer.read()
            except urllib.error.HTTPError as error:
                if method == "DELETE" and error.code == 404:
                    return b""
                if last or error.code not in (403, 429, 500, 503):
                    raise CarryError(self._refused(error)) from error
            except OSError as error:
                if last:
                    raise CarryError(f"{self._url} can't be reached: {getattr(error, 'reason', error)}") from error
        raise AssertionError

    def _refused(self, error: urllib.error.HTTPError) -> str:
        code = error.headers.get("x-ms-error-code") or f"HTTP {error.code}"
        fix = "; assign its identity the role Storage Blob Data Contributor on the account" if error.code == 403 else ""
        return f"{self._url} rejects the request: {code}{fix}"

    def _bearer(self) -> str:
        if time.time() > self._until:
            self._token, lasts = token(self._client_id)
            self._until = time.time() + lasts / 2
        return self._token


def token(client_id: str) -> tuple[str, float]:
    """An access token for blobs, and its lifetime in seconds."""
    url, headers, body = _source(client_id)
    for last in _tries():
        try:
            with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=60) as answer:  # noqa: S310
                content = json.loads(answer.read())
                return str(content["access_token"]), float(content.get("expires_in") or 3600)
        except urllib.error.HTTPError as error:
            refused = _reason(error.read())
            if last or not refused.startswith(_NOT_KNOWN_YET):
                raise CarryError(f"the container's identity gets no token: {refused}") from error
        except OSError as error:
            if last:
                raise CarryError(f"the container's managed identity endpoint can't be reached: {error}") from error
    raise AssertionError


def _source(client_id: str) -> tuple[str, dict[str, str], bytes | None]:
    """URL, headers and body of the token request."""
    known = os.environ
    if known.get("AZURE_FEDERATED_TOKEN_FILE"):
        form = {
            "grant_type": "client_credentials",
            "client_id": known.get("AZURE_CLIENT_ID") or client_id,
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            "client_assertion": Path(known["AZURE_FEDERATED_TOKEN_FILE"]).read_text(encoding="utf-8"),
            "scope": f"{RESOURCE}.default",
        }
        authority = known.get("AZURE_AUTHORITY_HOST", "https://login.microsoftonline.com/").rstrip("/")
        return f"{authority}/{known['AZURE_TENANT_ID']}/oauth2/v2.0/token", {}, urllib.parse.urlencode(form).encode()
    if known.get("IDENTITY_ENDPOINT") and known.get("IDENTITY_HEADER"):
        query = {"resource": RESOURCE, "api-version": "2019-08-01", **({"client_id": client_id} if client_id else {})}
        return _with(known["IDENTITY_ENDPOINT"], query), {"X-IDENTITY-HEADER": known["IDENTITY_HEADER"]}, None
    if known.get("MSI_ENDPOINT") and known.get("MSI_SECRET"):
        client = client_id or known.get("DEFAULT_IDENTITY_CLIENT_ID", "")
        query = {"resource": RESOURCE, "api-version": "2017-09-01", **({"clientid": client} if client else {})}
        return _with(known["MSI_ENDPOINT"], query), {"secret": known["MSI_SECRET"]}, None
    host = known.get("AZURE_POD_IDENTITY_AUTHORITY_HOST", "http://169.254.169.254").rstrip("/")
    query = {"resource": RESOURCE, "api-version": "2018-02-01", **({"client_id": client_id} if client_id else {})}
    return _with(f"{host}/metadata/identity/oauth2/token", query), {"Metadata": "true"}, None


def _tries() -> Iterator[bool]:
    """Yields whether it is the last try; waits before each retry."""
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_WAIT_SECONDS)
        yield attempt + 1 == _TRIES


def _with(url: str, query: Mapping[str, str]) -> str:
    return f"{url}?{urllib.parse.urlencode(query)}"


def _reason(body: bytes) -> str:
    """The error description of Entra or an identity endpoint; else the first line."""
    try:
        content = json.loads(body)
    except ValueError:
        return _first(body)
    described = content.get("error_description") if isinstance(content, dict) else None
    return _first(str(described).encode()) if described else _first(body)


def _first(body: bytes) -> str:
    lines = body.decode("utf-8", errors="replace").strip().splitlines()
    return lines[0][:300] if lines else "an empty answer"


def say(line: str) -> None:
    print(f"{MARK}{line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
