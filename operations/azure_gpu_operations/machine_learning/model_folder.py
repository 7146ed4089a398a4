"""Reads a local SavedModel folder, and plans its upload from the blobs that already exist."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

HEADS = ("saved_model.pb", "saved_model.pbtxt")  # a SavedModel has one of them


class WrongModelError(ValueError):
    """The folder isn't a SavedModel, or differs from the uploaded one. The text is for the user."""


class ModelFile(NamedTuple):
    """One file. `name` is its path below the folder, with slashes."""

    name: str
    path: Path
    size: int
    sha256: str


class Plan(NamedTuple):
    missing: tuple[ModelFile, ...]  # saved_model.pb last, so that an incomplete upload isn't taken for a model
    there: tuple[ModelFile, ...]


def read(folder: Path) -> list[ModelFile]:
    """Every file below the folder. WrongModelError if it isn't a SavedModel, or has links to the outside."""
    if not folder.is_dir():
        raise WrongModelError(f"{folder} is not a folder; name the folder with {HEADS[0]}")
    if not any((folder / head).is_file() for head in HEADS):
        inner = sorted(path.parent for head in HEADS for path in folder.glob(f"*/{head}"))
        meant = f"; did you mean {inner[0]}?" if inner else f": it has no {HEADS[0]}"
        raise WrongModelError(f"{folder} is not a SavedModel{meant}")
    root = folder.resolve()
    found: list[ModelFile] = []
    for path in sorted(folder.rglob("*")):
        if not path.resolve().is_relative_to(root):
            raise WrongModelError(f"{path} links to a path outside the folder")
        if path.is_file():
            found.append(ModelFile(path.relative_to(folder).as_posix(), path, path.stat().st_size, _hash(path)))
    return found


def plan(files: Sequence[ModelFile], blobs: Mapping[str, tuple[int, str]], hash_of: Callable[[str], str], version: str) -> Plan:
    """What is missing. WrongModelError if the version exists with other content: versions are immutable.

    `blobs`: sizes and hashes by name; `hash_of` computes the hash of a blob without one.
    """
    known = {file.name: file for file in files}
    other = [name for name in blobs if name not in known]
    there: list[ModelFile] = []
    for name, (size, sha256) in blobs.items():
        file = known.get(name)
        if file is None:
            continue
        if size != file.size or (sha256 or hash_of(name)) != file.sha256:
            other.append(name)
        else:
            there.append(file)
    if other:
        shown = ", ".join(sorted(other)[:3]) + (f" and {len(other) - 3} more" if len(other) > 3 else "")
        raise WrongModelError(
            f"{version} exists with different content ({shown}), and versions are immutable; choose a new --version"
        )
    missing = sorted((file for file in files if file.name not in blobs), key=lambda file: (file.name in HEADS, file.name))
    return Plan(tuple(missing), tuple(there))


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
