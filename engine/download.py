"""Downloads a publisher's archive and takes its programs out.

In: a `Pinned` archive. Out: its programs in a folder, or one of the two errors below. A download that broke off goes on where it
was, in this run or the next; what has another checksum than the pinned one is deleted and never unpacked.
"""

import hashlib
import http.client
import os
import shutil
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import IO

from engine.official import Pinned
from engine.progress import Progress

MIRROR = "AZURE_GPU_MIRROR"  # `https://host/path`: archives are at `<mirror>/<the publisher's host>/<path>`
_SECONDS = 3.0  # for an answer, and between two pieces of a file
_TRIES = 5  # in a row that bring nothing, once something came
_PIECE = 1 << 20
_PAGE = b"<"  # how HTML begins; no archive and no program does


class NotThereError(Exception):
    """The archive can't be had now; one line says why. It can be built instead."""


class WrongSumError(Exception):
    """The archive isn't what was pinned; one line names the file and both sums."""


def fetched(pinned: Pinned, folder: Path, progress: Progress) -> Path:
    """The archive in `folder`, downloaded and checked. Raises `NotThereError`, `WrongSumError`, and OSError of the disk."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = _place(pinned, folder)
    if whole.exists():
        return whole
    address, part = mirrored(pinned.address), whole.with_name(f"{whole.name}.part")
    _read(address, part, pinned.file, progress)
    with part.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        is_page = file.read(200).lstrip().startswith(_PAGE)
    if found != pinned.sha256:
        part.unlink()
        if is_page:
            raise NotThereError(f"{address} answers a page of HTML in place of the file: a proxy or a sign-in page is in between")
        raise WrongSumError(
            f"{address}: its SHA-256 is {found}, but {pinned.sha256} is pinned in engine/official.tsv; it was deleted. "
            "Try again, or set AZURE_GPU_TOOLS=build to build from source"
        )
    part.rename(whole)
    return whole


def forget(pinned: Pinned, folder: Path) -> None:
    """Removes an archive that has been unpacked."""
    _place(pinned, folder).unlink(missing_ok=True)


def _place(pinned: Pinned, folder: Path) -> Path:
    return folder / f"{pinned.sha256}-{pinned.file}"


def mirrored(address: str) -> str:
    """Where an archive is looked for. Raises `NotThereError` where the mirror is no address."""
    mirror = os.environ.get(MIRROR, "").rstrip("/")
    if mirror and not mirror.startswith(("https://", "http://")):
        raise NotThereError(f"{MIRROR} is {mirror!r}; it takes https://HOST/PATH")
    return f"{mirror}/{address.removeprefix('https://')}" if mirror else address


def text_of(address: str) -> str:
    """What a short file says. Raises `NotThereError`."""
    try:
        with _opened(mirrored(address)) as answer:
            return answer.read().decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as error:
        raise NotThereError(f"{address} {_reason(error)}") from None


def unpack(pinned: Pinned, archive: Path, folder: Path) -> None:
    """Puts the programs of an archive into `folder`. Raises `NotThereError` where one is missing in it."""
    if pinned.file.endswith(".zip"):
        with zipfile.ZipFile(archive) as zipped:
            for member in zipped.infolist():
                if not member.is_dir() and pinned.archive.takes(member.filename):
                    with zipped.open(member) as source:
                        _put(source, folder / Path(member.filename).name)
    elif pinned.file.endswith((".tar.gz", ".tgz")):
        with tarfile.open(archive) as packed:
            for entry in packed:
                if entry.isfile() and pinned.archive.takes(entry.name) and (content := packed.extractfile(entry)):
                    _put(content, folder / Path(entry.name).name)
    else:
        with archive.open("rb") as source:
            _put(source, folder / pinned.archive.programs[0])
    for pattern in pinned.archive.programs:
        if not any(folder.glob(pattern)):
            raise NotThereError(f"{pinned.address} has no {pattern} in it")


def _put(source: IO[bytes], target: Path) -> None:
    with target.open("wb") as file:
        shutil.copyfileobj(source, file)
    target.chmod(0o755)


def _opened(address: str, start: int = 0) -> http.client.HTTPResponse:
    headers = {"Range": f"bytes={start}-"} if start else {}
    request = urllib.request.Request(address, headers=headers)  # noqa: S310  a publisher's, or the mirror's
    return urllib.request.urlopen(request, timeout=_SECONDS)  # noqa: S310


def _read(address: str, part: Path, name: str, progress: Progress) -> None:
    """Reads on where `part` ends, until all of it is there. Raises `NotThereError`."""
    left = 1
    while True:
        before = part.stat().st_size if part.exists() else 0
        reason = _read_some(address, part, before, name, progress)
        if reason is None:
            return
        came = part.exists() and part.stat().st_size > before
        left = _TRIES if came else left - 1
        if not left:
            raise NotThereError(f"{address} {reason}")


def _read_some(address: str, part: Path, start: int, name: str, progress: Progress) -> str | None:
    """Reads until the connection ends; None, or why the file isn't whole. OSError of the disk is passed on."""
    try:
        answer = _opened(address, start)
    except (OSError, http.client.HTTPException) as error:
        if getattr(error, "code", None) == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return None  # all of it is there; its checksum says whether it is the file
        return _reason(error)
    goes_on = answer.status == HTTPStatus.PARTIAL_CONTENT
    length = answer.headers["Content-Length"]
    size = int(length) + (start if goes_on else 0) if length else None
    with answer, part.open("ab" if goes_on else "wb") as file:
        shown = time.monotonic()
        while True:
            try:
                piece = answer.read(_PIECE)
            except (OSError, http.client.HTTPException) as error:
                return _reason(error)
            if not piece:
                return None if size in (None, file.tell()) else "ends before the file does"
            file.write(piece)
            if time.monotonic() - shown >= progress.interval:
                shown = time.monotonic()
                progress.update(f"{name}: {file.tell() >> 20} of {size >> 20 if size else '?'} MB")


def _reason(error: Exception) -> str:
    """Why nothing came, to follow an address."""
    if isinstance(error, urllib.error.HTTPError):
        with suppress(Exception):
            error.close()
        return f"answers {error.code}"
    if isinstance(error, TimeoutError) or isinstance(getattr(error, "reason", None), TimeoutError):
        return "doesn't answer in time"
    return f"can't be reached ({getattr(error, 'reason', None) or error})"
