"""An event loop whose time passes only while nothing else is left to do: what waits an hour is over at once, in the order in
which it would have happened.

Nothing runs beside it. Work for a thread is done at once by the caller, so that no test depends on when a thread has its turn.
"""

import asyncio
import selectors
from collections.abc import Callable
from typing import Any


class _Selector(selectors.SelectSelector):
    """Waits for no time: where nothing is ready, the loop's own time moves on to the next timer."""

    loop: "VirtualTimeLoop"

    def select(self, timeout: float | None = None) -> list[Any]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("everything waits for something that never happens: no timer is set, and nothing else is running")
        if not ready and timeout:
            self.loop.seconds += timeout
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """`seconds` is its time, from 0."""

    def __init__(self) -> None:
        self.seconds = 0.0
        selector = _Selector()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        return self.seconds

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:  # noqa: BLE001  the caller gets it where it would get a thread's
            done.set_exception(error)
        return done
