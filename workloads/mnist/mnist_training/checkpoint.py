"""Checkpoints: everything that a run needs to continue as if it had never stopped, in one NumPy archive."""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from . import storage
from .refusal import RefusedError

NAME = "checkpoint.npz"
_HEADER = "header"
_FORMAT, _EARLIER = "mnist_training checkpoint 2", "mnist_training checkpoint 1"


def save(path: Path, arrays: Mapping[str, np.ndarray], step: int, identity: Mapping[str, str]) -> None:
    """Writes the checkpoint of `step`; an earlier one is replaced only by a complete file. `identity`: what it belongs to."""
    header = json.dumps({"format": _FORMAT, "step": step, **identity})

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            np.savez(file, **{_HEADER: np.array(header)}, **arrays)

    storage.write_whole(path, write)


def load(path: Path, expected: Mapping[str, np.ndarray], identity: Mapping[str, str]) -> tuple[int, dict[str, np.ndarray]]:
    """The step of the checkpoint, and its arrays, with the names and shapes of `expected`; a size of 0 there matches any.
    `RefusedError` if the file isn't a checkpoint, or belongs to something else."""
    header, arrays = _read(path)
    problems = [
        f"{path}: made for {what} {header.get(what)!r}; expected {value!r}"
        for what, value in identity.items()
        if header.get(what) != value
    ]
    if not problems:
        problems = _shape_problems(path, arrays, expected)
    if problems:
        raise RefusedError([f"{problem}; leave --resume out or choose another --output-dir" for problem in problems])
    return int(header["step"]), arrays


def _read(path: Path) -> tuple[dict[str, object], dict[str, np.ndarray]]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(str(arrays.pop(_HEADER)))
        if header["format"] == _EARLIER:
            raise RefusedError([f"{path}: made by an earlier version of this program; leave --resume out"])
        if header["format"] != _FORMAT or not isinstance(header["step"], int):
            raise ValueError(header["format"])
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise RefusedError([f"{path}: not a whole checkpoint of this program; delete it or leave --resume out"]) from error
    except OSError as error:
        raise RefusedError([f"{path}: can't be read: {error.strerror or error}"]) from error
    return header, arrays


def _shape_problems(path: Path, arrays: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> list[str]:
    found = {name: array.shape for name, array in arrays.items()}
    shapes = {name: array.shape for name, array in expected.items()}
    return [
        f"{path}: variable {name!r} has shape {found.get(name, 'none')}; expected {shapes.get(name, 'none')}"
        for name in sorted(found.keys() | shapes.keys())
        if not (name in found and name in shapes and _fits(found[name], shapes[name]))
    ]


def _fits(found: tuple[int, ...], expected: tuple[int, ...]) -> bool:
    return len(found) == len(expected) and all(size == most or not most for size, most in zip(found, expected, strict=True))
