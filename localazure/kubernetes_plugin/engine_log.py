"""Status lines in the engine's output: what is waited for, what was left out.

A line is shown beside the resource in the engine's display. A line that can't be delivered is dropped: it is news, no result.
"""

import threading
from collections.abc import Callable

import grpc
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc

_PATIENCE_S = 5.0


class EngineLog:
    """`address`: the engine's, as it gives it to the plugin. Empty: nobody listens. `channel` connects to it."""

    def __init__(self, address: str = "", channel: Callable[[str], grpc.Channel] = grpc.insecure_channel) -> None:
        self._channel = channel
        self._lock = threading.Lock()
        self._stub: engine_pb2_grpc.EngineStub | None = None
        self.attach(address)

    def attach(self, address: str) -> None:
        with self._lock:
            self._stub = engine_pb2_grpc.EngineStub(self._channel(address)) if address else None

    def status(self, urn: str, line: str) -> None:
        """What is going on at the moment; the next such line takes its place."""
        self._send(engine_pb2.INFO, urn, line, ephemeral=True)

    def info(self, urn: str, line: str) -> None:
        self._send(engine_pb2.INFO, urn, line)

    def warning(self, urn: str, line: str) -> None:
        self._send(engine_pb2.WARNING, urn, line)

    def _send(self, severity: "engine_pb2.LogSeverity.ValueType", urn: str, line: str, *, ephemeral: bool = False) -> None:
        with self._lock:
            stub = self._stub
        if stub is not None:
            try:
                stub.Log(
                    engine_pb2.LogRequest(severity=severity, message=line, urn=urn, ephemeral=ephemeral), timeout=_PATIENCE_S
                )
            except grpc.RpcError:
                return
