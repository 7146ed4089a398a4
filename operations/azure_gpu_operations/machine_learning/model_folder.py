"""A SavedModel in a folder of this machine, and what of it a storage account has already.

In: a folder; sizes and hashes of blobs. Out: `ModelFile`s; a `Plan` of what is to be uploaded. Reads files, asks nobody.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

HEADS = ("saved_model.pb", "saved_model.pbtxt")  # without one of them TensorFlow knows no SavedModel


class WrongModelError(ValueError):
    """The folder is no SavedModel, or not the one that was uploaded before. The text is for the user."""


class ModelFile(NamedTuple):
    """One file. `name` is its path below the folder, with slashes."""

    name: str
    path: Path
    size: int
    sha256: str


class Plan(NamedTuple):
    missing: tuple[ModelFile, ...]  # the model's head last: until it is there nobody takes the folder for a model
    there: tuple[ModelFile, ...]


def read(folder: Path) -> list[ModelFile]:
    """Every file below the folder. WrongModelError where that isn't a SavedModel, or leads out of the folder."""
    if not folder.is_dir():
        raise WrongModelError(f"{folder} is no folder; name the one that holds {HEADS[0]}")
    if not any((folder / head).is_file() for head in HEADS):
        inner = sorted(path.parent for head in HEADS for path in folder.glob(f"*/{head}"))
        meant = f"; did you mean {inner[0]}?" if inner else f": it has no {HEADS[0]}"
        raise WrongModelError(f"{folder} is no SavedModel{meant}")
    root = folder.resolve()
    found: list[ModelFile] = []
    for path in sorted(folder.rglob("*")):
        if not path.resolve().is_relative_to(root):
            raise WrongModelError(f"{path} is a link that leads out of the folder")
        if path.is_file():
            found.append(ModelFile(path.relative_to(folder).as_posix(), path, path.stat().st_size, _hash(path)))
    return found


def plan(files: Sequence[ModelFile], blobs: Mapping[str, tuple[int, str]], hash_of: Callable[[str], str], version: str) -> Plan:
    """What is missing. WrongModelError where the version holds something else already: a version never changes.

    `blobs` are sizes and hashes by name; `hash_of` reads the blob of a name that has no hash beside it.
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
            f"{version} is there with another content ({shown}), and a version never changes; give this model a new --version"
        )
    missing = sorted((file for file in files if file.name not in blobs), key=lambda file: (file.name in HEADS, file.name))
    return Plan(tuple(missing), tuple(there))


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
