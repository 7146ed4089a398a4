"""Reads files that a stack file names."""

import errno
from collections.abc import Callable
from pathlib import Path

Reader = Callable[[str], str]


def read_text(file: str) -> str:
    """Returns the text of a file. A relative path starts at the project's folder, in which the engine runs the program."""
    path = Path(file)
    if path.exists() and not path.is_file():  # reading a device or a pipe may not end
        raise OSError(errno.EINVAL, "not a regular file")
    return path.read_text(encoding="utf-8")
