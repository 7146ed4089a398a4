"""The files that an image build sends along (its context), and a hash over them.

The hash has 16 hexadecimal digits, which a Dockerfile can compute again from what arrived in the image:
`find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c1-16`.

Left out is what a git checkout doesn't have (`__pycache__`) and what the folder's `.dockerignore` names. Of its patterns these
are read: `name`, `folder/`, `*`, `?`, `**/` for any depth, and `!` for what stays in after all; the last line that matches
decides."""

import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path

HASH_DIGITS = 16
IGNORE_FILE = ".dockerignore"
NEVER_IN_GIT = "**/__pycache__"


class BuildContextError(ValueError):
    """A folder that can't be sent along as it is."""


def context_files(folder: Path) -> list[str]:
    """The context's files as relative paths with `/`, in the order of the hash. Links are refused: a target may not arrive."""
    ignored = _ignored(folder)
    found: list[str] = []
    for parent, folders, names in os.walk(folder):
        relative = Path(parent).relative_to(folder).as_posix()
        prefix = "" if relative == "." else f"{relative}/"
        for name in [*names, *folders]:
            path = prefix + name
            if ignored(path):
                continue
            if (folder / path).is_symlink():
                raise BuildContextError(f"{path} is a link; put the file itself into {folder}, or name it in {IGNORE_FILE}")
            if name in names:
                found.append(_plain(path))
    return sorted(found, key=os.fsencode)


def context_hash(folder: Path) -> str:
    """The first 16 hexadecimal digits of the hash over all files of the context, as the shell line above computes it."""
    total = hashlib.sha256()
    for path in context_files(folder):
        digest = hashlib.sha256((folder / path).read_bytes()).hexdigest()
        total.update(f"{digest}  ./".encode() + os.fsencode(path) + b"\n")
    return total.hexdigest()[:HASH_DIGITS]


def _plain(path: str) -> str:
    if "\\" in path or "\n" in path or "\r" in path:  # sha256sum writes such names escaped, with a mark before the hash
        raise BuildContextError(f"the file name {path!r} holds a backslash or a line break; rename the file")
    return path


def _ignored(folder: Path) -> Callable[[str], bool]:
    file = folder / IGNORE_FILE
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    rules = [_rule(line.strip()) for line in lines if line.strip() and not line.startswith("#")]
    rules.append(_rule(NEVER_IN_GIT))

    def ignored(path: str) -> bool:
        state = False
        for pattern, out in rules:
            if pattern.fullmatch(path):
                state = out
        return state

    return ignored


def _rule(line: str) -> tuple[re.Pattern[str], bool]:
    """One line as a pattern that fits the path it names and everything below, and whether it leaves that out."""
    out = not line.startswith("!")
    text = line.removeprefix("!").strip().strip("/")
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", text)
    meaning = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(meaning.get(part, re.escape(part)) for part in parts) + "(?:/.*)?", re.DOTALL), out
