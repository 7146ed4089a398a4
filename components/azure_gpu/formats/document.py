"""A file that was read, with the line of each value, for the paths of problems.

`Document`, the same for YAML and JSON; `line_of`, which finds the line of a path or of what it lies in.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

_LAST_STEP = re.compile(r"(\.[^.\[\]]+|\[[^\[\]]*\]|[^.\[\]]+)$")


class Document(NamedTuple):
    """One file. Paths are `properties.containers[0].name`; "" is the whole file."""

    file: str  # as the user named it
    value: Any  # dicts, lists and scalars
    lines: Mapping[str, int]  # by path, from 1 on

    def line_of(self, path: str) -> int:
        """The line of the value at `path`; of the innermost thing around it that is there, where it isn't."""
        while path and path not in self.lines:
            around = _LAST_STEP.sub("", path)
            path = around if around != path else ""
        return self.lines.get(path, 1)

    def at(self, path: str) -> str:
        """Where a problem is, as its `path`: `gpudeploy.json:34: resources[0].properties.osType`."""
        return f"{self.file}:{self.line_of(path)}: {path}" if path else f"{self.file}:{self.line_of(path)}"
