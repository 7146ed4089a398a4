"""The provider that the engine runs: serves the schema, and constructs components for programs in other languages.

Problems reach the program as in Python, all at once and each in one line, with the names of the schema. A component that is
passed to another one is found by its URN among those that this process has constructed: the engine runs one process for all
components of a deployment.
"""

import argparse
import asyncio
import contextlib
import json
import sys
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from typing import Any, NoReturn, cast, is_typeddict

import grpc
import pulumi
import pulumi_azure_native  # noqa: F401
from google.protobuf.struct_pb2 import NullValue, Struct
from pulumi.errors import InputPropertiesError, InputPropertyErrorDetails
from pulumi.provider import ConstructResult, Provider
from pulumi.provider.server import ProviderServicer
from pulumi.runtime import rpc
from pulumi.runtime.proto import provider_pb2_grpc

import azure_gpu
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.host.names import PACKAGE, camel, of_keys, respelt
from azure_gpu.host.values import Argument, Reader
from azure_gpu.shared import program
from azure_gpu.shared.refusal import SPELLING, Refused
from azure_gpu.shared.validation import below, check, form, key_hints

SCHEMA = files("azure_gpu.host") / "schema.json"
_PROVIDER_OF = "pulumi:providers:"
# A registration blocks a thread until its resource exists, and before that the engine may call a hook, which takes another
# thread: with asyncio's default, a few more than there are cores, they could deadlock.
_THREADS = 1024
_ANY_SIZE = {"grpc.max_send_message_length": -1, "grpc.max_receive_message_length": -1}


class Host(Provider):
    """Constructs the components of the schema."""

    def __init__(self, schema: str) -> None:
        self._spec: dict[str, Any] = json.loads(schema)
        super().__init__(self._spec["version"], schema)
        self._names = of_keys(self._spec)
        self._names_taken: program.Names = {}
        self._constructed: dict[str, pulumi.Resource] = {}  # by URN

    def construct(
        self, name: str, resource_type: str, inputs: Mapping[str, Any], options: pulumi.ResourceOptions | None = None
    ) -> ConstructResult:
        """Constructs a component. `inputs`: each an `Argument`. Raises `InputPropertiesError` with all problems."""
        if resource_type not in self._spec["resources"]:
            raise pulumi.RunError(f"{PACKAGE} {self.version} has no component {resource_type}")
        kind = resource_type.rpartition(":")[2]
        args_type = getattr(azure_gpu, f"{kind}Args")
        path = f'{kind}("{name}")'
        reader = Reader(path, self._resource)
        args = reader.arguments(cast(Mapping[str, Argument], inputs), args_type)
        if reader.problems:
            unread = {each.path for each in reader.problems}
            others = (each for each in check(args, args_type, path).problems if each.path not in unread)
            self._refuse([*reader.problems, *others], path, args_type)
        program.OF_DEPLOYMENT.set(self._names_taken)
        SPELLING.set(lambda problem: f"{property_path(problem.path, path, args_type)}: {self._reason(problem)}")
        try:
            component = getattr(azure_gpu, kind)(name, args, options)
        except Refused as error:
            self._refuse(error.problems, path, args_type)
        outputs: dict[str, Any] = self._spec["resources"][resource_type]["properties"]
        attributes = {camel(each): each for each in type(component).__annotations__}
        state = {output: self._on_wire(getattr(component, attributes[output]), spec) for output, spec in outputs.items()}
        return ConstructResult(self._kept(component), state)

    def _refuse(self, problems: Sequence[Problem], path: str, args_type: Any) -> NoReturn:
        """Raises one line for each problem. It doesn't use the engine's property paths, with which the engine would show values,
        also secret ones."""
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        errors = [
            InputPropertyErrorDetails(property_path=property_path(each.path, path, args_type), reason=self._reason(each))
            for each in problems
        ]
        raise InputPropertiesError(f"{count} in {path}, nothing of it was declared:", errors)

    def _reason(self, problem: Problem) -> str:
        """Formats a problem without its path, with the names of the schema."""
        message, allowed, fix = (respelt(each, self._names) for each in (problem.message, problem.allowed, problem.fix))
        return str(problem._replace(path="", message=message, allowed=allowed, fix=fix)).removeprefix(": ")

    def _kept(self, component: pulumi.Resource) -> pulumi.Output[str]:
        def keep(urn: str) -> str:
            self._constructed[urn] = component
            return urn

        return component.urn.apply(keep)

    def _resource(self, reference: Struct, path: str) -> pulumi.Resource | Problem:
        urn = reference.fields["urn"].string_value
        if urn in self._constructed:
            return self._constructed[urn]
        kind = urn.split("::")[2].rpartition("$")[2]
        if kind.startswith(_PROVIDER_OF) and (package := rpc.get_resource_package(kind.removeprefix(_PROVIDER_OF), "")):
            return package.construct_provider(urn.split("::")[3], kind, urn)
        if kind in self._spec["resources"]:
            return refused("component.of_other_stack", path, urn, kind=kind.rpartition(":")[2], package=PACKAGE)
        return Problem(path=path, message=f"a {kind} isn't accepted here", value=urn, fix="pass its id")

    def _on_wire(self, value: Any, spec: Mapping[str, Any]) -> Any:
        """Converts an output to the names of the schema."""
        if isinstance(value, pulumi.Output):
            return cast("pulumi.Output[Any]", value).apply(lambda known: self._on_wire(known, spec))
        if isinstance(value, Mapping):
            entries = cast(Mapping[str, Any], value)
            if "additionalProperties" in spec:
                return {key: self._on_wire(each, spec["additionalProperties"]) for key, each in entries.items()}
            if spec.get("$ref", "").startswith("#/types/"):
                keys: Mapping[str, Any] = self._spec["types"][spec["$ref"].removeprefix("#/types/")]["properties"]
                return {camel(key): self._on_wire(each, keys[camel(key)]) for key, each in entries.items()}
        return cast(Any, value)


def property_path(place: str, path: str, args_type: Any) -> str:
    """Converts the path of a problem to the names of the schema, except user-defined names."""
    if not place.startswith(f"{path}."):
        return place  # the component itself, or another one that is passed to it
    annotation, found = args_type, [path]
    for step in place.removeprefix(f"{path}.").split("."):
        key, bracket, rest = step.partition("[")
        found.append(f"{camel(key)}{bracket}{rest}" if key in _keys(annotation) else step)
        annotation = below(annotation, key)
        annotation = below(annotation, 0) if bracket else annotation
    return ".".join(found)


def _keys(annotation: Any) -> Mapping[str, Any]:
    kind = form(annotation)
    return key_hints(kind) if is_typeddict(kind) else {}


class Servicer(ProviderServicer):
    """The SDK's servicer, with arguments read by `Host` and failures in one line."""

    async def Construct(self, request: Any, context: Any) -> Any:  # noqa: N802  the protocol's name
        try:
            return await super()._construct(request, context)
        except InputPropertiesError as error:
            await context.abort_with_status(self.create_grpc_invalid_properties_status(error.message, error.errors))
        except Exception as error:  # noqa: BLE001  a Python traceback doesn't help the program's user
            pulumi.log.debug("".join(traceback.format_exception(error)))
            await context.abort(grpc.StatusCode.UNKNOWN, _failure(error))

    async def _construct_response(self, result: ConstructResult) -> Any:
        """Adds null for missing outputs, as a preview would treat omitted ones as unknown."""
        response = await super()._construct_response(result)
        for name, value in result.state.items():
            if value is None:
                response.state.fields[name].null_value = NullValue.NULL_VALUE
        return response

    @staticmethod
    async def _construct_inputs(inputs: Struct, input_dependencies: Any) -> dict[str, Any]:
        return {
            key: Argument(value, frozenset(input_dependencies[key].urns) if key in input_dependencies else frozenset())
            for key, value in inputs.fields.items()
        }


def _failure(error: Exception) -> str:
    """Formats an unexpected error for the user."""
    if isinstance(error, pulumi.RunError) or type(error) is Exception:  # whose type name is meaningless
        return str(error)
    return f"{type(error).__name__}: {error}"


async def serve(host: Host, engine: str) -> None:
    """Serves the engine at this address until it ends the process. Prints the port first."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS))
    server = grpc.aio.server(options=list(_ANY_SIZE.items()))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(Servicer(host, [], engine_address=engine), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    await server.wait_for_termination()


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point for the engine."""
    parser = argparse.ArgumentParser(prog=f"pulumi-resource-{PACKAGE}", description="The components for the Pulumi engine.")
    parser.add_argument("engine", help="address of the engine")
    given, _ = parser.parse_known_args(sys.argv[1:] if arguments is None else list(arguments))  # the engine adds flags for logs
    host = Host(SCHEMA.read_text(encoding="utf-8"))
    with contextlib.suppress(KeyboardInterrupt):  # the engine ends it by an interrupt
        asyncio.run(serve(host, given.engine))
