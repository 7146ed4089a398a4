"""The files that an image build sends along (its context), a hash over them, and how they are packed.

The hash has 16 hexadecimal digits, which a Dockerfile can compute again from what arrived in the image:
`find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c1-16`.

The patterns of `Dockerfile.dockerignore`, else of `.dockerignore`, mean what they mean to Docker; a pattern that Docker refuses
is refused. Never sent: `.git`, as `az acr build` does, and `__pycache__`. Always sent: the Dockerfile, which the builder needs.

Sources: moby/patternmatcher, patternmatcher.go (the rules) and ignorefile.go (the lines); docs.docker.com, "Build context",
"Filename and location" (2025-03); azure-cli, command_modules/acr/_archive_utils.py. The packages of PyPI didn't fit: gitignore's
patterns (pathspec) match in any folder, and docker's own reader takes `\\` and bad patterns literally.
"""

import gzip
import hashlib
import io
import itertools
import os
import posixpath
import re
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

HASH_DIGITS = 16
HASH_ARGUMENT = "CONTEXT_HASH"  # by which a workload's Dockerfile verifies the received context
BUILD_MINUTES = 60.0  # the service's own default
DOCKERFILE = "Dockerfile"
IGNORE_FILE = ".dockerignore"
IGNORE_FILES = (f"{DOCKERFILE}{IGNORE_FILE}", IGNORE_FILE)  # the first that exists counts alone
_NEVER_SENT = ("**/__pycache__", "**/.git")
_IN_CLASS = r"(?:\\.|[^]\\-])"
# The pieces of a pattern: a class such as [0-5], an escaped character, `**` at the end, `**`, `*`, `?`, any other character.
_PIECE = re.compile(rf"\[(\^?+(?:{_IN_CLASS}(?:-{_IN_CLASS})?)+)\]|\\(.)|(\*\*/?$)|(\*\*/?)|(\*)|(\?)|([^\[\\])", re.DOTALL)


class BuildContextError(ValueError):
    """A folder that can't be sent along as it is."""


class Context(NamedTuple):
    """The files of one build, by path with `/`, and the image's repository."""

    repository: str
    files: Mapping[str, bytes]
    described: str
    executable: frozenset[str] = frozenset()  # executable files; not part of the tag
    script: str = ""  # the file that is the user's script; "" for a folder
    build_minutes: float = BUILD_MINUTES  # its build's limit
    dockerfile: str = DOCKERFILE

    @property
    def tag(self) -> str:
        """The same for the same files: an existing image of this tag needn't be built again."""
        return content_hash(self.files)

    @property
    def image(self) -> str:
        """Its name inside the registry."""
        return f"{self.repository}:{self.tag}"


def contents(folder: Path) -> tuple[dict[str, bytes], frozenset[str]]:
    """The files of a folder's context, and which are executable. BuildContextError, OSError."""
    files = {name: (folder / name).read_bytes() for name in context_files(folder)}
    return files, frozenset(name for name in files if os.access(folder / name, os.X_OK))


def archive(context: Context) -> bytes:
    """The context as tar.gz. The same files give the same bytes: no times, no owners, one order."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", filename="", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in sorted(context.files, key=os.fsencode):
            entry = tarfile.TarInfo(path)
            entry.size = len(context.files[path])
            entry.mode = 0o755 if path in context.executable else 0o644
            tar.addfile(entry, io.BytesIO(context.files[path]))
    return packed.getvalue()


def content_hash(files: Mapping[str, bytes]) -> str:
    """As `context_hash` over a folder with these files."""
    total = hashlib.sha256()
    for path in sorted(files, key=os.fsencode):
        total.update(f"{hashlib.sha256(files[path]).hexdigest()}  ./".encode() + os.fsencode(path) + b"\n")
    return total.hexdigest()[:HASH_DIGITS]


def context_files(folder: Path) -> list[str]:
    """The context's files as relative paths with `/`, in the order of the hash. Links are refused: a target may not arrive."""
    rules = _rules(folder)
    found: list[str] = []
    folders = [""]
    while folders:
        prefix = folders.pop()
        with os.scandir(folder / prefix) as entries:
            for entry in entries:
                path = prefix + entry.name
                is_out = rules.leave_out(path)
                if entry.is_dir(follow_symlinks=False):
                    if not is_out or rules.may_keep_below(path):
                        folders.append(f"{path}/")
                elif not is_out:
                    if entry.is_symlink():
                        raise BuildContextError(
                            f"{path} is a link; put the file itself into {folder}, or name it in {IGNORE_FILE}"
                        )
                    found.append(_plain(path))
    return sorted(found, key=os.fsencode)


def context_hash(folder: Path) -> str:
    """The first 16 hexadecimal digits of the hash over all files of the context, as the shell line above computes it."""
    return content_hash(contents(folder)[0])


def _plain(path: str) -> str:
    if "\\" in path or "\n" in path or "\r" in path:  # sha256sum writes such names escaped, with a mark before the hash
        raise BuildContextError(f"the file name {path!r} holds a backslash or a line break; rename the file")
    return path


class _Rule(NamedTuple):
    """A pattern that matches the path it names and everything below."""

    expression: str
    keeps: bool  # `!`
    start: str  # the part before its first wildcard
    is_literal: bool

    def reaches_below(self, path: str) -> bool:
        return self.start.startswith(f"{path}/") or (not self.is_literal and f"{path}/".startswith(self.start))


class _Rules:
    """The last rule that matches a path decides."""

    def __init__(self, rules: list[_Rule]) -> None:
        together = [
            (keeps, [each.expression for each in alike]) for keeps, alike in itertools.groupby(rules, lambda each: each.keeps)
        ]
        self._newest_first = [(re.compile("|".join(each), re.DOTALL), keeps) for keeps, each in reversed(together)]
        self._keeping = [each for each in rules if each.keeps]

    def leave_out(self, path: str) -> bool:
        return next((not keeps for pattern, keeps in self._newest_first if pattern.fullmatch(path)), False)

    def may_keep_below(self, path: str) -> bool:
        """Whether a file below a folder that is left out may stay in; else nobody has to look there."""
        return any(each.reaches_below(path) for each in self._keeping)


def _rules(folder: Path) -> _Rules:
    file = next((folder / name for name in IGNORE_FILES if (folder / name).is_file()), None)
    rules = list(_read(file)) if file else []
    return _Rules([*rules, _rule(DOCKERFILE, keeps=True), *(_rule(each, keeps=False) for each in _NEVER_SENT)])


def _read(file: Path) -> Iterator[_Rule]:
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise BuildContextError(f"{file.name} isn't UTF-8 text") from error
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text and not line.startswith("#"):
            try:
                yield _rule(text.removeprefix("!").strip(), keeps=text.startswith("!"))
            except re.error as error:
                raise BuildContextError(
                    f"{file.name}, line {number}: {text!r} is no pattern; Docker refuses it as well"
                ) from error


def _rule(text: str, *, keeps: bool) -> _Rule:
    """A pattern without its `!`. re.error if it isn't one."""
    if not text:
        raise re.error("no pattern")
    clean = posixpath.normpath(text).lstrip("/")
    expression, start, place = "", "", 0
    while place < len(clean):
        piece = _PIECE.match(clean, place)
        if piece is None:
            raise re.error("an open bracket, or a backslash at the end")
        expression += _expression(*piece.groups())
        start += piece[7] or "" if place == len(start) else ""
        place = piece.end()
    if clean.startswith("**") and re.fullmatch(r"[^/*?[\\]+", clean[2:]):  # `**.log`: whatever ends so
        expression = f".*{re.escape(clean[2:])}"
    re.compile(expression)
    return _Rule(f"{expression}(?:/.*)?", keeps, start, is_literal=start == clean)


def _expression(inside: str, escaped: str, rest: str, depth: str, star: str, one: str, plain: str) -> str:
    """One piece of a pattern, of which one argument is set, as a regular expression."""
    if inside:
        taken = re.sub(r"\\(.)|([^-])", lambda each: re.escape(each[1] or each[2]), inside.removeprefix("^"))
        return f"[^{taken}]" if inside.startswith("^") else f"[{taken}]"
    wildcard = ".*" if rest else "(?:.*/)?" if depth else "[^/]*" if star else "[^/]" if one else ""
    return wildcard or re.escape(escaped or plain)
