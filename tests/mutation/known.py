"""Mutants that once survived: every test of the library passed with each of them. All have to die.

They are edits of the text of a package, wherever in it the text is: one that isn't found any more has to be written anew.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

import yaml

from tests.mutation.mutants import modules


@dataclass(frozen=True, kw_only=True)
class Known:
    """One edit."""

    name: str
    package: str
    found: str  # a regular expression that matches once in the package
    replaced: str

    @property
    def module(self) -> str:
        return self._place()[0]

    def code(self) -> CodeType:
        _, path, text = self._place()
        return compile(text, str(path), "exec")

    def _place(self) -> tuple[str, Path, str]:
        """The module, its file, and its text with the edit."""
        places: list[tuple[str, Path, str]] = []
        for module, path in modules((self.package,)):
            text, number = re.subn(self.found, self.replaced, path.read_text(encoding="utf-8"))
            places += [(module, path, text)] * number
        if len(places) != 1:
            raise LookupError(f"{self.name}: its place is there {len(places)} times in {self.package}")
        return places[0]


KNOWN = tuple(Known(**each) for each in yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")))
