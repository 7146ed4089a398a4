"""Reads a file that a stack file names."""

import errno
from collections.abc import Callable
from pathlib import Path

Reader = Callable[[str], str]


def read_text(file: str) -> str:
    """The text of a file. A relative path starts at the project's folder, in which the engine runs the program."""
    path = Path(file)
    if path.exists() and not path.is_file():  # a device or a pipe may never end
        raise OSError(errno.EINVAL, "it is no file")
    return path.read_text(encoding="utf-8")
