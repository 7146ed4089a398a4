"""Hooks of resources: whether anybody calls them, the server that they are called by, and what is unique in their names."""

import asyncio
from typing import cast

import pulumi
from pulumi.runtime import settings
from pulumi.runtime._callbacks import _CallbackServicer  # pyright: ignore[reportPrivateUsage] - what the SDK starts by itself
from pulumi.runtime.mocks import MockMonitor
from pulumi.runtime.proto.resource_pb2_grpc import ResourceMonitorStub

_starting: set[asyncio.Future[None]] = set()  # asyncio itself keeps no task


def called() -> bool:
    """Not in a unit test with Pulumi's mocks, where the SDK has no place to register a hook and fails. Elsewhere the program has
    its server of hooks afterwards, and so this is asked before every hook."""
    server = cast(object, settings.SETTINGS.callbacks)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - no type
    monitor = settings.get_monitor()
    if server is None and isinstance(monitor, ResourceMonitorStub):
        _start_server(monitor)
    return server is not None or not isinstance(monitor, MockMonitor)


def _start_server(monitor: ResourceMonitorStub) -> None:
    """One server for all hooks. The SDK starts one for a hook as long as none is ready, and registers hooks at the same time: a
    program with a thousand of them got a thousand servers, each with a port and an open file of its own, and many systems let a
    process have no more (pulumi 3.259.0, `runtime/settings.py`, `_get_callbacks`)."""
    server = _CallbackServicer(monitor)
    settings.SETTINGS.callbacks = server  # pyright: ignore[reportAttributeAccessIssue] - the SDK's property has no type
    task = asyncio.ensure_future(server.serve())  # before any hook is registered: their tasks come after this one
    _starting.add(task)
    task.add_done_callback(_starting.discard)


def kind(component: pulumi.Resource) -> str:
    """Its class, which tells the hooks of two components of one name apart."""
    return component.pulumi_resource_type.rsplit(":", 1)[-1]
