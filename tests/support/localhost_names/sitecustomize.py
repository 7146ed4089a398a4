"""Leads names below `localhost` to loopback, as RFC 6761 section 6.3 asks resolvers to; loaded by Python from PYTHONPATH."""

import socket

_resolve = socket.getaddrinfo


def _getaddrinfo(host, *arguments, **more):
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    return _resolve("localhost" if isinstance(name, str) and name.lower().endswith(".localhost") else host, *arguments, **more)


socket.getaddrinfo = _getaddrinfo
