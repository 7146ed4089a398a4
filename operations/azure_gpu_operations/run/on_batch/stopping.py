"""What becomes of a job when somebody presses Ctrl-C: asked once where a person can answer, ended where nobody can.

In: the terminal. Out: a `Choice`.
"""

import sys
from collections.abc import Callable
from typing import Literal

Choice = Literal["terminate", "detach"]
TERMINATE: Choice = "terminate"
DETACH: Choice = "detach"


def choice(ask: Callable[[], str] | None = None) -> Choice:
    """A second Ctrl-C, an end of input and anything but a word for detaching end the job."""
    if ask is None:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return TERMINATE
        ask = _ask
    try:
        answer = ask()
    except (KeyboardInterrupt, EOFError):
        return TERMINATE
    return DETACH if answer.strip().lower().startswith("d") else TERMINATE


def _ask() -> str:
    print("\nend the job, or leave it running? [E]nd, [d]etach: ", end="", file=sys.stderr, flush=True)
    return input()
