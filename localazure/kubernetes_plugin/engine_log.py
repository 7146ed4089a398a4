"""Status lines in the engine's output: what is waited for, what was left out.

A line is shown beside the resource in the engine's display. A line that can't be delivered is dropped: it is news, no result.
"""

from collections.abc import Callable
from contextlib import suppress

import grpc
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc

_PATIENCE_S = 5.0


class EngineLog:
    """`address`: the engine's, as it gives it to the plugin. Empty: nobody listens. `channel` connects to it."""

    def __init__(self, address: str = "", channel: Callable[[str], grpc.Channel] = grpc.insecure_channel) -> None:
        self._stub = engine_pb2_grpc.EngineStub(channel(address)) if address else None

    def status(self, urn: str, line: str) -> None:
        """What is going on at the moment; the next such line takes its place."""
        self._send(engine_pb2.INFO, urn, line, ephemeral=True)

    def info(self, urn: str, line: str) -> None:
        self._send(engine_pb2.INFO, urn, line)

    def warning(self, urn: str, line: str) -> None:
        self._send(engine_pb2.WARNING, urn, line)

    def _send(self, severity: "engine_pb2.LogSeverity.ValueType", urn: str, line: str, *, ephemeral: bool = False) -> None:
        if self._stub is not None:
            request = engine_pb2.LogRequest(severity=severity, message=line, urn=urn, ephemeral=ephemeral)
            with suppress(grpc.RpcError):
                self._stub.Log(request, timeout=_PATIENCE_S)
