"""Where tables for people are written: standard output, as wide as the terminal, and wide enough where there is none.

In a narrow terminal a value goes on in the next line of its cell, so that nothing is cut off.
"""

import sys

from rich.console import Console
from rich.table import Column

_WIDTH_WITHOUT_TERMINAL = 200  # a file or a pipe has no width; rich would take 80 columns and wrap every row


def console() -> Console:
    return Console(width=None if sys.stdout.isatty() else _WIDTH_WITHOUT_TERMINAL, highlight=False)


def columns(*headings: str) -> list[Column]:
    """The columns of a table, in this order."""
    return [Column(heading, overflow="fold") for heading in headings]
