"""Tasks that are ended and threads that aren't, each waited for."""

import asyncio
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def to_its_end(work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """As `asyncio.to_thread`; a cancellation comes through once the work is over.

    It can't be stopped halfway, and what it writes may not come back after somebody else has removed it.
    """
    running = asyncio.ensure_future(asyncio.to_thread(work, *args, **named))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise


async def canceled(*tasks: "asyncio.Future[Any] | None") -> None:
    """Cancels tasks, those that there are, and waits until they have ended."""
    found = [task for task in tasks if task is not None]
    for task in found:
        task.cancel()
    if found:
        await asyncio.wait(found)
