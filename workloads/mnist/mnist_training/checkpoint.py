"""A checkpoint: everything that a run needs to go on as if it had never stopped, in one NumPy archive.

In: the variables of model and optimiser, and the step. Out: the file, whole or not at all; or the step that it was made at.
A checkpoint says what it belongs to; one of another model, image size or data set is refused by name.
"""

import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from . import storage
from .refusal import RefusedError

NAME = "checkpoint.npz"
_HEADER = "header"
_FORMAT = "mnist_training checkpoint 1"


class Variable(Protocol):
    """What is used of a Keras variable."""

    def numpy(self) -> np.ndarray: ...
    def assign(self, value: np.ndarray) -> object: ...


@dataclass(frozen=True, slots=True)
class Identity:
    """What a checkpoint belongs to."""

    model: str
    image: str  # such as "28 x 28"
    dataset: str


def save(path: Path, variables: Mapping[str, Variable], step: int, identity: Identity) -> None:
    """Writes the checkpoint of `step`, replacing an earlier one only when the new one is whole."""
    header = json.dumps({"format": _FORMAT, "step": step, **asdict(identity)})
    arrays = {name: variable.numpy() for name, variable in variables.items()}

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            np.savez(file, **{_HEADER: np.array(header)}, **arrays)

    storage.write_whole(path, write)


def restore(path: Path, variables: Mapping[str, Variable], identity: Identity) -> int:
    """Fills `variables` and returns the step at which the checkpoint was made.

    Errors: `RefusedError` where the file isn't a checkpoint or belongs to something else; no variable has changed then.
    """
    header, arrays = _read(path)
    problems = [
        f"{path}: made for {what} {header.get(what)!r}; expected {expected!r}"
        for what, expected in asdict(identity).items()
        if header.get(what) != expected
    ]
    if not problems:
        problems = _shape_problems(path, arrays, variables)
    if problems:
        raise RefusedError([f"{problem}; leave --resume out or choose another --output-dir" for problem in problems])
    for name, variable in variables.items():
        variable.assign(arrays[name])
    return int(header["step"])


def _read(path: Path) -> tuple[dict[str, object], dict[str, np.ndarray]]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(str(arrays.pop(_HEADER)))
        if header["format"] != _FORMAT or not isinstance(header["step"], int):
            raise ValueError(header["format"])
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise RefusedError([f"{path}: not a whole checkpoint of this program; delete it or leave --resume out"]) from error
    except OSError as error:
        raise RefusedError([f"{path}: can't be read: {error.strerror or error}"]) from error
    return header, arrays


def _shape_problems(path: Path, arrays: Mapping[str, np.ndarray], variables: Mapping[str, Variable]) -> list[str]:
    found = {name: array.shape for name, array in arrays.items()}
    expected = {name: tuple(variable.numpy().shape) for name, variable in variables.items()}
    return [
        f"{path}: variable {name!r} has shape {found.get(name, 'none')}; expected {expected.get(name, 'none')}"
        for name in sorted(found.keys() | expected.keys())
        if found.get(name) != expected.get(name)
    ]
