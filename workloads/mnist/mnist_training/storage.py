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
    """Lets `write` write a temporary file beside `path` and renames it, so that no incomplete file is visible.

    `RefusedError` if the disk is full or not writable; the temporary file is deleted, and `path` is unchanged.
    """
    try:
        # The ending stays last because Keras tells formats apart by it.
        descriptor, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
    except OSError as error:
        raise _unwritable(path, error) from error
    os.close(descriptor)
    temporary = Path(name)
    try:
        write(temporary)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.chmod(0o644)  # mkstemp makes it readable only for its owner
        temporary.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_whole_folder(path: Path, write: Callable[[Path], None]) -> None:
    """Lets `write` write a temporary folder beside `path`, which then replaces the existing one.

    `RefusedError` if the disk is full or not writable; `path` is unchanged.
    """
    try:
        temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    except OSError as error:
        raise _unwritable(path, error) from error
    made = temporary / "new"
    try:
        write(made)
        if path.exists():
            path.replace(temporary / "old")
        made.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _unwritable(path: Path, error: OSError) -> RefusedError:
    # h5py raises OSError without a number; then its text is the reason.
    reason = error.strerror or str(error)
    return RefusedError([f"{path}: can't be written: {reason}; nothing was kept; free some space or choose another folder"])
