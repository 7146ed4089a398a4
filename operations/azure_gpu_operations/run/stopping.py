"""What becomes of a run when somebody presses Ctrl-C: asked once where a person can answer, stopped where nobody can.

In: the terminal. Out: a `Choice`.
"""

import sys
from collections.abc import Callable
from typing import Literal

Choice = Literal["stop", "detach"]
STOP: Choice = "stop"
DETACH: Choice = "detach"


def choice(ask: Callable[[], str] | None = None) -> Choice:
    """A second Ctrl-C, an end of input and anything but a word for detaching stop the run."""
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
