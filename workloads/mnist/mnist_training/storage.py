"""Writes files and folders atomically: completely, or not at all with a `RefusedError`."""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from .refusal import RefusedError


def make_folder(folder: Path) -> None:
    """Creates `folder` and missing parents. `RefusedError` with the system's reason."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RefusedError([f"{folder}: can't be created: {error.strerror}; choose another --output-dir"]) from error


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Lets `write` write a temporary file or folder beside `path`, which then replaces it, so that nothing incomplete is visible.
    `RefusedError` if the disk is full or not writable; `path` is unchanged then."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{path.stem}-", dir=path.parent))
        try:
            made = folder / f"new{path.suffix}"  # Keras tells formats apart by the ending
            write(made)
            if made.is_dir() and path.exists():
                path.replace(folder / "old")
            elif made.is_file():
                with made.open("rb+") as file:
                    os.fsync(file.fileno())
            made.replace(path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        reason = error.strerror or error  # h5py raises OSError without a number
        fix = "nothing was kept; free some space or choose another folder"
        raise RefusedError([f"{path}: can't be written: {reason}; {fix}"]) from error
