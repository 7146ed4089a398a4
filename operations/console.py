"""Where tables for people are written: standard output, as wide as the terminal, and wide enough where there is none."""

import sys

from rich.console import Console

_WIDTH_WITHOUT_TERMINAL = 200  # a file or a pipe has no width; rich would take 80 columns and wrap every row


def console() -> Console:
    return Console(width=None if sys.stdout.isatty() else _WIDTH_WITHOUT_TERMINAL, highlight=False)
