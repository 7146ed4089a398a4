"""Finds the file and line of a key of a stack.

A path has the form of a problem's path, such as `pools.train.size`. A missing key gets the line of the nearest key around it; a
path without a section in the files gets no line.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from azure_gpu.formats import located_yaml
from azure_gpu.stack.keys import config_key
from azure_gpu_operations.review.model import SourceLocation

NOWHERE = SourceLocation("", 0)


class Text(NamedTuple):
    """A file of configuration."""

    file: str  # from the root of the repository
    text: str


class SourceLocations:
    """The lines of a stack's files, its own first."""

    def __init__(self, texts: Sequence[Text], project: str) -> None:
        self._prefix = f"config.{config_key('', project)}"
        self._files = [(each.file, _lines(each)) for each in texts]

    def of(self, path: str) -> SourceLocation:
        """The location of a problem's path; NOWHERE if no file has its section."""
        around = path
        while around:
            for file, lines in self._files:
                line = lines.get(f"{self._prefix}{around}") or lines.get(f"config.{around}")
                if line:
                    return SourceLocation(file, line)
            around = re.sub(r"(\.[^.\[\]]+|\[[^\]]*\]|^[^.\[\]]+)$", "", around)
        return NOWHERE


def _lines(text: Text) -> dict[str, int]:
    document, _ = located_yaml.read(text.text, text.file)
    return dict(document.lines) if document is not None else {}
