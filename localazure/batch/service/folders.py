"""A folder's files as clients may see them: only what lies below it, regardless of names and links that a task has made.

Links that lead out of the folder are as if they weren't there. A file is opened step by step without following links, so that one
that is swapped meanwhile leads nowhere.
"""

import mimetypes
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_MOST_DEEP = 64
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # not waiting for the other end of a pipe


class Entry(NamedTuple):
    """A file or a folder. `name` is its path below the folder."""

    name: str
    is_directory: bool
    size: int
    changed_at: float  # seconds since 1970
    mode: int

    @property
    def content_type(self) -> str:
        return mimetypes.guess_type(self.name)[0] or "application/octet-stream"


def entries(root: Path, *, recursive: bool) -> Iterator[Entry]:
    """What lies in the folder, by name; with `recursive` what lies below it too."""
    yield from _entries(root.resolve(), "", recursive)


def find(root: Path, name: str) -> tuple[Entry, int] | None:
    """A file, open for reading, or a folder, with its entry. None where there is none below the root. The caller closes it."""
    base = root.resolve()
    target = _inside(base, name)
    if target is None:
        return None
    try:
        handle = _open(base, target.relative_to(base).parts)
    except (OSError, ValueError):
        return None
    about = os.fstat(handle)
    if not (stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode)):
        os.close(handle)
        return None
    return _entry(name.strip("/"), about), handle


def _inside(base: Path, name: str) -> Path | None:
    """Where a path leads, links followed; None where it leads out of the base, or nowhere."""
    parts = [each for each in name.split("/") if each]
    if "\0" in name or ".." in parts or len(parts) > _MOST_DEEP:
        return None
    try:
        target = base.joinpath(*parts).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        return None
    return target if target.is_relative_to(base) else None


def _open(base: Path, parts: tuple[str, ...]) -> int:
    handle = os.open(base, _FOLDER)
    for index, part in enumerate(parts):
        try:
            last = index == len(parts) - 1
            inner = os.open(part, _FILE if last else _FOLDER, dir_fd=handle)
        finally:
            os.close(handle)
        handle = inner
    return handle


def _entries(base: Path, below: str, recursive: bool, depth: int = 0) -> Iterator[Entry]:
    try:
        with os.scandir(base / below) as found:
            listed = sorted(found, key=lambda each: each.name)
    except OSError:
        return
    for each in listed:
        name = f"{below}/{each.name}" if below else each.name
        try:
            name.encode()
            about = _about(base, name, each)
        except (OSError, UnicodeEncodeError):
            continue  # gone meanwhile, or a name that can't be written
        if about is None:
            continue
        entry = _entry(name, about)
        yield entry
        if recursive and entry.is_directory and not each.is_symlink() and depth < _MOST_DEEP:
            yield from _entries(base, name, recursive, depth + 1)


def _about(base: Path, name: str, entry: "os.DirEntry[str]") -> os.stat_result | None:
    if entry.is_symlink() and _inside(base, name) is None:
        return None
    about = entry.stat()
    return about if stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode) else None


def _entry(name: str, about: os.stat_result) -> Entry:
    is_directory = stat.S_ISDIR(about.st_mode)
    return Entry(name, is_directory, 0 if is_directory else about.st_size, about.st_mtime, about.st_mode)
