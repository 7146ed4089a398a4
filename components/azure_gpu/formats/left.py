"""A setting of an imported file that the stack file doesn't have, or has with another meaning."""

from typing import NamedTuple


class Left(NamedTuple):
    """One setting that isn't taken, or not unchanged."""

    at: str  # file:line: path
    message: str  # why
    fix: str = ""  # what to write or do instead; "" if nothing is needed
    changed: bool = False  # it is taken, and means something else here

    def __str__(self) -> str:
        what = "changed" if self.changed else "left out"
        return f"{what}, {self.at}: {self.message}" + (f"; {self.fix}" if self.fix else "")
