"""What the gRPC services of both provider plugins have alike: who they are, how they stop, and how the engine speaks of
configuration and names.

Source of the contract: pulumi/proto/pulumi/provider.proto.
"""

import os
import threading
from collections.abc import Mapping
from importlib.metadata import version

import grpc
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from localazure.plugin.naming import Autonaming
from localazure.plugin.wire import Properties, from_struct


class Plugin(provider_pb2_grpc.ResourceProviderServicer):
    """A provider that stands in for the one in the Python package `package`."""

    package = ""

    def __init__(self, environment: Mapping[str, str] | None, stopping: threading.Event | None = None) -> None:
        self._environment = os.environ if environment is None else environment
        self._stopping = stopping or threading.Event()

    def GetPluginInfo(self, request: Empty, context: grpc.ServicerContext) -> plugin_pb2.PluginInfo:  # noqa: N802, ARG002
        return plugin_pb2.PluginInfo(version=version(self.package))

    def Cancel(self, request: Empty, context: grpc.ServicerContext) -> Empty:  # noqa: N802, ARG002
        """The engine says that it will end. It ends the process itself, once this was answered: a process that ends by itself may
        do so before the answer is sent, and the engine then reports it as a fault of the provider's."""
        self.abandon()
        return Empty()

    def abandon(self) -> None:
        """Ends waiting: what is under way answers with what is known of it."""
        self._stopping.set()


def configured(request: provider_pb2.ConfigureRequest) -> dict[str, str]:
    """What the provider is to work with."""
    return texts(from_struct(request.args) or {key.split(":")[-1]: value for key, value in request.variables.items()})


def texts(configuration: Properties) -> dict[str, str]:
    """Configuration as text: values of other types arrive as JSON, booleans of an explicit provider as booleans."""
    return {key: value if isinstance(value, str) else str(value) for key, value in configuration.items()}


def autonaming(request: provider_pb2.CheckRequest) -> Autonaming | None:
    """None: names are as the provider makes them."""
    return request.autonaming if request.HasField("autonaming") else None
