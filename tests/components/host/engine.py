"""The engine's side of the provider host: a strict recording monitor behind gRPC, and the host in this process.

`Engine.construct` sends what a language's SDK would send for a component. What is registered, looked up and logged is recorded as
`tests.components.recording` does it for a program in Python.
"""

import asyncio
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.protobuf.empty_pb2 import Empty
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Struct
from pulumi.runtime._callbacks import _CallbackServicer
from pulumi.runtime.mocks import MockMonitor
from pulumi.runtime.proto import (
    engine_pb2_grpc,
    errors_pb2,
    provider_pb2,
    provider_pb2_grpc,
    resource_pb2,
    resource_pb2_grpc,
    status_pb2,
)

from azure_gpu.host.provider import SCHEMA, Host, Servicer
from azure_gpu_operations.graph import for_an_engine
from tests.components import recording
from tests.components.recording import PROJECT, SECRET_SIGNATURE, STACK, Recorded

OUTPUT = "d0e6a833031e9bbcd3f4e8bde6ca49a4"  # how the engine marks an output
SECRET = "1b47061264138c4ac30d75fd1eb44270"
RESOURCE = "5cf8f73096256a8f31e491e813e4eb8e"
_SIZE = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


def output(value: Any = None, *dependencies: str, known: bool = True, secret: bool = False) -> dict[str, Any]:
    """An output as the engine sends it."""
    held = {"value": value} if known else {}
    return {SECRET_SIGNATURE: OUTPUT, **held, "secret": secret, "dependencies": list(dependencies)}


def secret(value: Any) -> dict[str, Any]:
    """A secret as an SDK sends it that knows no outputs."""
    return {SECRET_SIGNATURE: SECRET, "value": value}


def reference(urn: str) -> dict[str, Any]:
    """A component as the engine sends it."""
    return {SECRET_SIGNATURE: RESOURCE, "urn": urn, "packageVersion": "0.2.0"}


@dataclass
class Refusal(Exception):  # noqa: N818  what the engine is told, not a fault of a test
    """What the engine is told instead of a component."""

    message: str
    properties: list[tuple[str, str]]  # path and reason


@dataclass
class Constructed:
    """What the engine gets for a component."""

    urn: str
    state: dict[str, Any]  # by wire name; secrets and outputs are marked
    dependencies: dict[str, list[str]]


@dataclass
class Engine:
    """One deployment, in which the host constructs components."""

    recorded: Recorded
    _provider: provider_pb2_grpc.ResourceProviderStub
    _monitor: str
    _loop: asyncio.AbstractEventLoop
    resources: dict[str, MockMonitor.ResourceRegistration]
    """What the program itself has declared, by URN."""
    preview: bool = False
    hooks: list[str] = field(default_factory=list)

    def construct(
        self,
        kind: str,
        name: str,
        inputs: Mapping[str, Any],
        of_inputs: Mapping[str, list[str]] | None = None,
        **options: Any,
    ) -> Constructed:
        """Raises `Refusal`. `inputs` by the names of the schema; `of_inputs`: URNs by input, as older SDKs send them."""
        request = provider_pb2.ConstructRequest(
            project=PROJECT,
            stack=STACK,
            organization=str(None),  # as a program has it with the mocks of the SDK
            dryRun=self.preview,
            monitorEndpoint=self._monitor,
            type=f"azuregpu:index:{kind}",
            name=name,
            inputs=ParseDict(dict(inputs), Struct()),
            inputDependencies={
                key: provider_pb2.ConstructRequest.PropertyDependencies(urns=urns) for key, urns in (of_inputs or {}).items()
            },
            **options,
        )
        try:
            answer = self._loop.run_until_complete(_answer(self._provider.Construct(request)))
        except grpc.RpcError as error:
            raise _refusal(error) from None
        return Constructed(
            answer.urn, MessageToDict(answer.state), {key: list(each.urns) for key, each in answer.stateDependencies.items()}
        )

    def schema(self, version: int = 0) -> str:
        asked = self._provider.GetSchema(provider_pb2.GetSchemaRequest(version=version))
        return self._loop.run_until_complete(_answer(asked)).schema


async def _answer(call: Any) -> Any:
    return await call


def _refusal(error: grpc.RpcError) -> Refusal:
    assert isinstance(error, grpc.aio.AioRpcError)
    details = b"".join(value for key, value in error.trailing_metadata() if key == "grpc-status-details-bin")
    properties: list[tuple[str, str]] = []
    for each in status_pb2.Status.FromString(details).details:
        found = errors_pb2.InputPropertiesError()
        assert each.Unpack(found)
        properties += [(one.property_path, one.reason) for one in found.errors]
    return Refusal(error.details() or "", properties)


class _Monitor(recording._Monitor):
    """The recording monitor, whose names don't come from a program's settings."""

    def make_urn(self, parent: str, type_: str, name: str) -> str:
        of_parent = parent.split("::")[2].split("$")[-1] + "$" if parent else ""
        return f"urn:pulumi:{STACK}::{PROJECT}::{of_parent}{type_}::{name}"


class _MonitorService(resource_pb2_grpc.ResourceMonitorServicer):
    """The monitor behind gRPC. What it doesn't answer is UNIMPLEMENTED."""

    def __init__(self, monitor: _Monitor, hooks: list[str]) -> None:
        self._monitor, self._hooks = monitor, hooks

    def GetDeploymentInfo(self, request: Any, context: Any) -> Any:  # noqa: N802
        return self._monitor.GetDeploymentInfo(request)

    def SupportsFeature(self, request: Any, context: Any) -> Any:  # noqa: N802
        return resource_pb2.SupportsFeatureResponse(hasSupport=request.id != "outputValues")

    def RegisterResource(self, request: Any, context: Any) -> Any:  # noqa: N802
        return self._monitor.RegisterResource(request)

    def RegisterResourceOutputs(self, request: Any, context: Any) -> Any:  # noqa: N802
        return self._monitor.RegisterResourceOutputs(request)

    def Invoke(self, request: Any, context: Any) -> Any:  # noqa: N802
        try:
            return self._monitor.Invoke(request)
        except LookupError as error:
            context.abort(grpc.StatusCode.UNKNOWN, str(error))

    def RegisterResourceHook(self, request: Any, context: Any) -> Empty:  # noqa: N802
        self._hooks.append(request.name)
        return Empty()

    def RegisterErrorHook(self, request: Any, context: Any) -> Empty:  # noqa: N802
        self._hooks.append(request.name)
        return Empty()

    def RegisterPackage(self, request: Any, context: Any) -> Any:  # noqa: N802
        return self._monitor.RegisterPackage(request)


class _EngineService(engine_pb2_grpc.EngineServicer):
    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded

    def Log(self, request: Any, context: Any) -> Empty:  # noqa: N802
        if request.severity:  # debug is 0
            self._recorded.log.append(request.message)
        return Empty()


@contextmanager
def running(lookups: Mapping[str, Any], *, preview: bool = False) -> Iterator[Engine]:
    """A deployment. `lookups` as `recording.declare` takes them."""
    recorded, hooks = Recorded(), list[str]()
    server = grpc.server(ThreadPoolExecutor(max_workers=8), options=_SIZE)
    monitor = _Monitor(recorded, recording._Answers(recorded, lookups, preview))
    resource_pb2_grpc.add_ResourceMonitorServicer_to_server(_MonitorService(monitor, hooks), server)
    engine_pb2_grpc.add_EngineServicer_to_server(_EngineService(recorded), server)
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)

    async def host() -> tuple[grpc.aio.Server, grpc.aio.Channel]:
        served = grpc.aio.server(options=_SIZE)
        provider_pb2_grpc.add_ResourceProviderServicer_to_server(
            Servicer(Host(SCHEMA.read_text(encoding="utf-8")), [], engine_address=address), served
        )
        port = served.add_insecure_port("127.0.0.1:0")
        await served.start()
        return served, grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=_SIZE)

    served, channel = loop.run_until_complete(host())
    try:
        with for_an_engine.left_out():
            yield Engine(
                recorded, provider_pb2_grpc.ResourceProviderStub(channel), address, loop, monitor.resources, preview, hooks
            )
    finally:
        loop.run_until_complete(_CallbackServicer.shutdown())  # what the engine would call for hooks, kept by the class
        loop.run_until_complete(channel.close())
        loop.run_until_complete(served.stop(None))
        server.stop(None).wait()
        loop.close()
