"""The console for tables: standard output, as wide as the terminal; colours only on a terminal, and none with NO_COLOR set."""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

_WIDTH_WITHOUT_TERMINAL = 200  # a file or a pipe has no width; rich would assume 80 columns and wrap every row


def console() -> "Console":
    from rich.console import Console  # here: `--help` needs none

    return Console(width=None if sys.stdout.isatty() else _WIDTH_WITHOUT_TERMINAL, highlight=False)


def add_wide(parser: Any) -> None:
    """The option of every command that prints a table."""
    parser.add_argument("--wide", action="store_true", help="print all columns, also in a narrow terminal")
