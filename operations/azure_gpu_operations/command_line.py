"""Rejects an invalid command line: one line per reason on standard error, and the exit code."""

import argparse
import sys
from collections.abc import Sequence
from datetime import date

from azure_gpu.formats.dates import SPELLING, parse_day
from azure_gpu_operations.exit_codes import WRONG_COMMAND_LINE


def refuse(*reasons: object) -> int:
    """The exit code."""
    for reason in reasons:
        print(f"error: {reason}", file=sys.stderr)
    return WRONG_COMMAND_LINE


def listed(problems: Sequence[object], so: str) -> str:
    """All problems under a heading, which tells how many there are, and what came of it."""
    heading = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return "\n".join([f"{heading}, {so}:", *(f"  - {each}" for each in problems)])


def day(text: str) -> date:
    """The type of an option that takes a day."""
    found = parse_day(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not {SPELLING}")
    return found
