"""Files and folders that are either whole or not there.

In: a path and a function that writes it. Out: the file or folder under its name, or `RefusedError` and nothing left behind.
"""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from .refusal import RefusedError


def make_folder(folder: Path) -> None:
    """Makes `folder` and its parents where they are missing. Errors: `RefusedError` with the system's reason."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RefusedError([f"{folder}: can't be created: {error.strerror}; choose another --output-dir"]) from error


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Lets `write` write a temporary file beside `path` and renames it, so that nobody ever reads half a file.

    Errors: `RefusedError` where the disk is full or can't be written; the temporary file is gone then and `path` is as it was.
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
        temporary.chmod(0o644)  # mkstemp makes it readable for its owner alone
        temporary.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_whole_folder(path: Path, write: Callable[[Path], None]) -> None:
    """Lets `write` write a temporary folder beside `path`, which then takes the place of what was there.

    Errors: `RefusedError` where the disk is full or can't be written; `path` is as it was then.
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
    # h5py raises OSError without a number, so the text stands in for the system's reason.
    reason = error.strerror or str(error)
    return RefusedError([f"{path}: can't be written: {reason}; nothing was kept; free some space or choose another folder"])
