"""Where a key of a stack is written: the file and the line.

In: the texts of the stack file and of the one that it extends. Out: a `Place` by the path that problems have, such as
`pools.train.size`. A key that isn't there gets the nearest one around it; a path that begins nowhere gets no line.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from azure_gpu.formats import located_yaml
from azure_gpu.stack.keys import config_key
from azure_gpu_operations.review.model import Place

NOWHERE = Place("", 0)


class Text(NamedTuple):
    """A file of configuration."""

    file: str  # from the root of the repository
    text: str


class Places:
    """The lines of a stack's files, its own first."""

    def __init__(self, texts: Sequence[Text], project: str) -> None:
        self._prefix = f"config.{config_key('', project)}"
        self._files = [(each.file, _lines(each)) for each in texts]

    def of(self, path: str) -> Place:
        """`path`: of a problem. NOWHERE where no file has its section."""
        around = path
        while around:
            for file, lines in self._files:
                line = lines.get(f"{self._prefix}{around}") or lines.get(f"config.{around}")
                if line:
                    return Place(file, line)
            around = re.sub(r"(\.[^.\[\]]+|\[[^\]]*\]|^[^.\[\]]+)$", "", around)
        return NOWHERE


def _lines(text: Text) -> dict[str, int]:
    document, _ = located_yaml.read(text.text, text.file)
    return dict(document.lines) if document is not None else {}
