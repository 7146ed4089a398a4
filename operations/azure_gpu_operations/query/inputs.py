"""Reads the files to send, each as a request body with its content type.

Images aren't decoded: the server rejects broken ones.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

BYTES = "application/octet-stream"
JSON = "application/json"
NUMPY = "application/x-npy"
LARGEST = 256 * 1024 * 1024  # bytes; no endpoint takes as much
_NUMPY_BEGINS = b"\x93NUMPY"
_IMAGES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}


class Input(NamedTuple):
    """One body."""

    name: str  # of its file
    body: bytes
    content_type: str = BYTES


class WrongInputError(ValueError):
    """A file that can't be sent. The text is for the user."""


def read(paths: Iterable[Path]) -> list[Input]:
    """All files, or WrongInputError with all their problems."""
    found: list[Input] = []
    wrong: list[str] = []
    for path in paths:
        try:
            found.append(_read(path))
        except WrongInputError as error:
            wrong.append(f"{path}: {error}")
        except OSError as error:
            wrong.append(f"{path}: {error.strerror or error}")
    if wrong:
        raise WrongInputError("; ".join(wrong))
    return found


def _read(path: Path) -> Input:
    size = path.stat().st_size
    if path.is_dir():
        raise WrongInputError("is a folder; name the files in it")
    if size == 0:
        raise WrongInputError("the file is empty")
    if size > LARGEST:
        raise WrongInputError(f"the file has {size} bytes, and no endpoint takes more than {LARGEST}")
    body = path.read_bytes()
    if path.suffix.lower() == ".json":
        try:
            json.loads(body)
        except (ValueError, RecursionError) as error:
            raise WrongInputError(f"not JSON: {error}") from error
        return Input(path.name, body, JSON)
    if path.suffix.lower() == ".npy":
        if not body.startswith(_NUMPY_BEGINS):
            raise WrongInputError("not an array written by numpy.save")
        return Input(path.name, body, NUMPY)
    return Input(path.name, body, next((kind for begins, kind in _IMAGES.items() if body.startswith(begins)), BYTES))
