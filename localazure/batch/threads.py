"""Work in a thread that is waited for even where whoever asked for it is cancelled: it can't be stopped halfway, and what it
writes may not come back after somebody else has removed it.
"""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def to_its_end(work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """As `asyncio.to_thread`; a cancellation comes through once the work is over."""
    running = asyncio.ensure_future(asyncio.to_thread(work, *args, **named))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise
