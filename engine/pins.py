"""The pinned versions, read from the Go modules that hold them: `engine/<name>/go.mod` is their only home.

In: the folder of a Go module. Out: `GoModule`, and whether what was built out of such folders still fits them.
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

_DIRECTIVE = re.compile(r"^(go|tool) (\S+)$", re.MULTILINE)
_SOURCES = "sources"  # the file with the digest, beside what was built
_REQUIRE = re.compile(r"^(?:require )?\t?(\S+/\S+) (v\S+)(?: // indirect)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class GoModule:
    """A Go module that pins one tool."""

    folder: Path
    tool: str  # the package of the program, such as github.com/pulumi/pulumi/pkg/v3/cmd/pulumi; "." where it is the module's own
    go: tuple[int, int]  # the oldest Go that builds it
    requires: dict[str, str]  # module path -> version, such as v3.259.0


def read(folder: Path) -> GoModule:
    """The module whose go.mod lies in `folder`; it has one `go` line, and one `tool` line or a program of its own."""
    text = (folder / "go.mod").read_text(encoding="utf-8")
    directives = dict(_DIRECTIVE.findall(text))
    major, minor = directives["go"].split(".")[:2]
    return GoModule(folder, directives.get("tool", "."), (int(major), int(minor)), dict(_REQUIRE.findall(text)))


def note(folder: Path, *modules: GoModule) -> None:
    """Writes into `folder` what it was built out of: the modules' own files, programs and pins."""
    (folder / _SOURCES).write_text(digest(*modules), encoding="ascii")


def made_of(folder: Path, *modules: GoModule) -> bool:
    """Whether `folder` was built out of the modules as they are now."""
    note = folder / _SOURCES
    return note.exists() and note.read_text(encoding="ascii") == digest(*modules)


def digest(*modules: GoModule) -> str:
    """Of the modules' own files, programs, pins and edits."""
    files = sorted(file for module in modules for file in module.folder.rglob("*") if file.suffix in (".go", ".mod", ".toml"))
    return hashlib.sha256(b"\0".join(file.name.encode() + b"\0" + file.read_bytes() for file in files)).hexdigest()
