"""A provider plugin called in this process, as the engine calls it over gRPC: messages in their wire form, refusals as errors.

Waiting takes no time: `VirtualTime` is what a provider waits on and what its clock says.
"""

import threading
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import grpc
from pulumi.runtime.proto import provider_pb2, status_pb2


class _Metadatum(NamedTuple):
    key: str
    value: bytes


class RefusedCall(grpc.RpcError):
    """What a client's call raises."""

    def __init__(self, code: grpc.StatusCode, details: str, metadata: tuple[_Metadatum, ...]) -> None:
        super().__init__(details)
        self._code, self._details, self._metadata = code, details, metadata

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return self._details

    def trailing_metadata(self) -> tuple[_Metadatum, ...]:
        return self._metadata


class _Context:
    """The part of gRPC's context that the providers use."""

    def __init__(self) -> None:
        self._metadata: tuple[_Metadatum, ...] = ()

    def set_trailing_metadata(self, metadata: tuple[tuple[str, bytes], ...]) -> None:
        self._metadata = tuple(_Metadatum(*each) for each in metadata)

    def abort(self, code: grpc.StatusCode, details: str) -> NoReturn:
        raise RefusedCall(code, details, self._metadata)


class Calls:
    """The methods of a provider's stub. An error that the provider doesn't turn into an answer is raised as it is."""

    def __init__(self, provider: Any) -> None:
        self._provider = provider

    def __getattr__(self, name: str) -> Callable[[Any], Any]:
        method = getattr(self._provider, name)

        def call(request: Any) -> Any:
            answer = method(type(request).FromString(request.SerializeToString()), _Context())
            return type(answer).FromString(answer.SerializeToString())

        return call


class VirtualTime(threading.Event):
    """An event whose `wait` lets the time pass at once. `waited` is called with the seconds, before it answers."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.waited: Callable[[float], object] = lambda _: None

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None, "nobody would end this"
        if not self.is_set():
            self.now += timeout
            self.waited(timeout)
        return self.is_set()

    def clock(self) -> float:
        return self.now


def details_of(error: grpc.RpcError) -> str:
    """What a refusal says."""
    details = error.details()
    assert details is not None
    return details


def metadata_of(error: grpc.RpcError) -> dict[str, Any]:
    return {each.key: each.value for each in error.trailing_metadata()}


def left_behind(error: grpc.RpcError) -> provider_pb2.ErrorResourceInitFailed:
    """The partial state in an error, as the engine unpacks it."""
    status = status_pb2.Status.FromString(metadata_of(error)["grpc-status-details-bin"])
    failed = provider_pb2.ErrorResourceInitFailed()
    assert status.details[0].Unpack(failed)
    assert status.code == grpc.StatusCode.UNKNOWN.value[0]
    return failed
