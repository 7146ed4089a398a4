"""The pinned versions, read from the Go modules that hold them: `engine/<name>/go.mod` is their only home.

In: the folder of a Go module. Out: `GoModule`.
"""

import re
from dataclasses import dataclass
from pathlib import Path

_DIRECTIVE = re.compile(r"^(go|tool) (\S+)$", re.MULTILINE)
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
