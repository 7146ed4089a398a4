"""Downloads MNIST, and verifies the published checksums.

Existing files with the right checksum are kept, so an interrupted download continues file by file. `RefusedError` names every
file that fails.
"""

import hashlib
import http.client
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from . import storage
from .files import KINDS, FileKind
from .refusal import RefusedError

# The copy of the Common Visual Data Foundation. Any other mirror works too: the checksums are verified.
MIRROR = "https://storage.googleapis.com/cvdf-datasets/mnist/"
_TIMEOUT = 30  # seconds without a byte
_CHUNK = 1 << 16  # bytes
_BAR = 40  # characters


class _WrongChecksumError(Exception):
    """The downloaded bytes aren't the published ones; the message has both checksums."""


def _shown(name: str, total: int | None, stream: TextIO) -> Callable[[int], None]:
    """Draws a progress bar on a terminal, and writes a line per quarter to a log; nothing if the server sent no total."""
    quarters, drawn = 0, 0.0

    def show(received: int) -> None:
        nonlocal quarters, drawn
        share, now = min(received / total, 1.0) if total else 0.0, time.monotonic()
        if not stream.isatty() and int(share * 4) > quarters:
            quarters = int(share * 4)
            stream.write(f"{name}: {share:.0%} of {(total or 0) / 1e6:.1f} MB\n")
        elif stream.isatty() and total and (share == 1.0 or now - drawn > 0.1):
            drawn, end = now, "\n" if share == 1.0 else ""
            stream.write(f"\r{name} [{'#' * round(share * _BAR):<{_BAR}}] {share:4.0%} of {total / 1e6:.1f} MB{end}")
            stream.flush()

    return show


def download(folder: Path, mirror: str = MIRROR, kinds: tuple[FileKind, ...] = KINDS) -> None:
    """Downloads those of `kinds` that `folder` lacks. `mirror` is the address of a folder."""
    problems: list[str] = []
    for kind in kinds:
        path = folder / f"{kind.name}.gz"
        if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == kind.gzip_sha256:
            continue
        url = mirror.rstrip("/") + f"/{kind.name}.gz"
        try:
            storage.write_whole(path, lambda temporary, url=url, kind=kind: _fetch(url, kind, temporary))
        except _WrongChecksumError as error:
            problems.append(f"{path}: {url} has the wrong checksum: {error}")
        except _UnreachableError as error:
            problems.append(f"{path}: {url} can't be downloaded: {error}; check the network, or give the files with --data-dir")
        except RefusedError as error:
            problems += error.problems
        else:
            print(f"Successfully downloaded {path.name} {path.stat().st_size} bytes.", flush=True)
    if problems:
        raise RefusedError(problems)


class _UnreachableError(Exception):
    """The server can't be reached, or broke the connection. Not an OSError, which would be taken for a full disk."""


def _fetch(url: str, kind: FileKind, temporary: Path) -> None:
    digest = hashlib.sha256()
    received = 0
    try:
        response = urllib.request.urlopen(url, timeout=_TIMEOUT)  # noqa: S310 - options.py allows only http and https
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise _UnreachableError(_reason(error)) from error
    with response, temporary.open("wb") as file:
        length = response.headers.get("Content-Length", "")
        total = int(length) if length.isdecimal() and int(length) > 0 else None
        show = _shown(f"{kind.name}.gz", total, sys.stderr)
        while chunk := _next_chunk(response):
            file.write(chunk)
            digest.update(chunk)
            received += len(chunk)
            show(received)
    if total is not None and received < total:
        raise _UnreachableError(f"the connection ended after {received} of {total} bytes")
    if digest.hexdigest() != kind.gzip_sha256:
        raise _WrongChecksumError(f"SHA-256 {digest.hexdigest()} of {received} bytes, expected {kind.gzip_sha256}")


def _next_chunk(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read(_CHUNK)
    except (OSError, http.client.HTTPException) as error:
        raise _UnreachableError(_reason(error)) from error


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code} {error.reason}"
    return str(getattr(error, "reason", "") or error)
