"""Waits for a result in Azure, which may be out of reach for a while."""

import time
from collections.abc import Callable
from typing import TypeVar

from azure_gpu.shared.installation import COMMAND

UNREACHABLE_SECONDS = 600.0  # after which polling stops, though what is waited for may continue
_NO_RIGHT = (401, 403)

Result = TypeVar("Result")


def poll_until(
    poll: Callable[[], Result | None],
    *,
    errors: tuple[type[Exception], ...],
    unreachable: str,
    on_give_up: str,
    say: Callable[[str], None],
    poll_seconds: float,
    see: str = f"{COMMAND} running",
    sleep: Callable[[float], None],
    clock: Callable[[], float] = time.monotonic,
) -> Result:
    """Returns the first result of `poll`. `errors`: those of a failed request, whose `status` is that of the answer, if there is
    one; `unreachable`, `on_give_up`: messages; on giving up raises the last error.

    `see`: the command that shows whether it goes on.
    """
    lost_at: float | None = None
    while True:
        try:
            found = poll()
        except errors as error:
            if getattr(error, "status", 0) in _NO_RIGHT:
                raise  # waiting doesn't help against missing permissions
            if lost_at is None:
                say(f"{unreachable} at the moment, retrying: {first_line(error)}")
                lost_at = clock()
            if clock() - lost_at >= UNREACHABLE_SECONDS:
                say(f"{on_give_up}; see: {see}")
                raise
        else:
            lost_at = None
            if found is not None:
                return found
        sleep(poll_seconds)


def first_line(error: BaseException) -> str:
    """First line of an error's text, or the name of its type."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
