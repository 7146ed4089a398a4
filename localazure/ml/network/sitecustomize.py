"""The network of a container that is a process of this machine: on its Python path, so that each Python in it reads this first.

A container may listen where it likes, and all instances of a deployment listen at the same number. Here each has a port of its
own for it: `PORT_5001=41233` says so. What is bound to all addresses is bound to loopback alone.
"""

import os
import socket

_PORTS = {name.removeprefix("PORT_"): value for name, value in os.environ.items() if name.startswith("PORT_")}
_ALL = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - it is what a container binds to
_bind = socket.socket.bind


def bind(self, address):
    if self.family in (socket.AF_INET, socket.AF_INET6) and isinstance(address, tuple):
        host, port, *rest = address
        led = _PORTS.get(str(port), "")
        address = (_ALL.get(host, host), int(led) if led.isdigit() else port, *rest)
    return _bind(self, address)


socket.socket.bind = bind
