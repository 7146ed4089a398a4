"""The main thread's event loop, which Pulumi's SDK asks for."""

import asyncio

_loops: list[asyncio.AbstractEventLoop] = []


def new_event_loop() -> None:
    """In place of the last one, which tests may use until then, and which holds two sockets until it is closed."""
    while _loops:
        _loops.pop().close()
    _loops.append(asyncio.new_event_loop())
    asyncio.set_event_loop(_loops[0])
