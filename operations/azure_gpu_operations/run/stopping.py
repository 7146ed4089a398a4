"""The choice on Ctrl-C, to stop or detach the run: asked in a terminal, otherwise the run is stopped."""

import sys
from collections.abc import Callable
from typing import Literal

Choice = Literal["stop", "detach"]
STOP: Choice = "stop"
DETACH: Choice = "detach"


def choice(ask: Callable[[], str] | None = None) -> Choice:
    """A second Ctrl-C, end of input, and any answer except detach stop the run."""
    if ask is None:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return STOP
        ask = _ask
    try:
        answer = ask()
    except (KeyboardInterrupt, EOFError):
        return STOP
    return DETACH if answer.strip().lower().startswith("d") else STOP


def _ask() -> str:
    print("\nstop the run, or leave it running? [S]top, [d]etach: ", end="", file=sys.stderr, flush=True)
    return input()
