"""Support for resource hooks: whether they are available, the server that they are called by, and unique names."""

import asyncio
from typing import cast

import pulumi
from pulumi.runtime import settings
from pulumi.runtime._callbacks import _CallbackServicer
from pulumi.runtime.mocks import MockMonitor
from pulumi.runtime.proto.resource_pb2_grpc import ResourceMonitorStub

_starting: set[asyncio.Future[None]] = set()  # asyncio holds only weak references to tasks


def called() -> bool:
    """Whether hooks are available; starts their server if needed, so call this before each hook. Under Pulumi's mocks the SDK
    can't register hooks and would fail."""
    server = cast(object, settings.SETTINGS.callbacks)
    monitor = settings.get_monitor()
    if server is None and isinstance(monitor, ResourceMonitorStub):
        _start_server(monitor)
    return server is not None or not isinstance(monitor, MockMonitor)


def _start_server(monitor: ResourceMonitorStub) -> None:
    """Starts one server for all hooks. The SDK starts another one for each hook until one is ready, and registers hooks
    concurrently: a program with a thousand hooks got a thousand servers, each with a port and an open file, which exceeds the
    limit of many systems (pulumi 3.259.0, `runtime/settings.py`, `_get_callbacks`)."""
    server = _CallbackServicer(monitor)
    # pyrefly: ignore[bad-assignment]
    settings.SETTINGS.callbacks = server
    task = asyncio.ensure_future(server.serve())  # before any hook is registered, whose tasks then run after this one
    _starting.add(task)
    task.add_done_callback(_starting.discard)


def kind(component: pulumi.Resource) -> str:
    """Returns the component's class name, which makes hook names unique among components of one name."""
    return component.pulumi_resource_type.rsplit(":", 1)[-1]
