"""An event loop whose servers and clients reach each other in this process: by pairs of sockets, without a port, TLS included."""

import asyncio
import itertools
import socket
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tests.support.virtual_time import VirtualTimeLoop

T = TypeVar("T")


class _Listening:
    """The part of a server's interface that programs here use; it stands for its own socket as well."""

    def __init__(self, loop: "LoopbackLoop", port: int) -> None:
        self._loop, self._port = loop, port
        self.sockets = [self]

    def getsockname(self) -> tuple[str, int]:
        return "127.0.0.1", self._port

    def close(self) -> None:
        self._loop.listening.pop(self._port, None)

    async def wait_closed(self) -> None:
        """No connection is waited for."""

    async def __aenter__(self) -> "_Listening":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


class LoopbackLoop(VirtualTimeLoop):
    """`listening`: by port what makes a server's protocol, and its TLS."""

    def __init__(self) -> None:
        super().__init__()
        self.listening: dict[int, tuple[Callable[[], asyncio.Protocol], Any]] = {}
        self._ports = itertools.count(49152)

    async def create_server(self, protocol_factory: Any, host: Any = None, port: Any = None, **options: Any) -> Any:
        number = port or next(self._ports)
        if number in self.listening:
            raise OSError(98, "Address already in use")
        self.listening[number] = (protocol_factory, options.get("ssl"))
        return _Listening(self, number)

    async def create_connection(self, protocol_factory: Any, host: Any = None, port: Any = None, **options: Any) -> Any:
        if port not in self.listening:
            raise ConnectionRefusedError(111, "Connection refused")
        served, server_side = self.listening[port]
        here, there = socket.socketpair()
        client_side = options.get("ssl")
        name = (options.get("server_hostname") or host) if client_side else None
        accepted = self.create_task(self.connect_accepted_socket(served, there, ssl=server_side))
        accepted.add_done_callback(lambda done: done.cancelled() or done.exception())  # a client that refuses it says so itself
        return await super().create_connection(protocol_factory, sock=here, ssl=client_side, server_hostname=name)


def run(work: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`, on such a loop."""
    with asyncio.Runner(loop_factory=LoopbackLoop) as runner:
        return runner.run(work)
