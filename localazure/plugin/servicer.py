"""The provider's gRPC service: requests of the engine in, calls of this package's plain functions, answers out.

What isn't here (components, parameters, schemas, attaching) answers UNIMPLEMENTED, which the engine takes.
Source of the contract: pulumi/proto/pulumi/provider.proto.
"""

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import grpc
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import provider_pb2

from azure_gpu.formats.azure_types import BY_TOKEN, AzureType
from localazure.plugin.answers import answering_errors, diff_response
from localazure.plugin.base import Plugin, autonaming, configured, texts
from localazure.plugin.check import input_problems, with_defaults
from localazure.plugin.diff import diff
from localazure.plugin.errors import AzureError
from localazure.plugin.projection import preview_outputs
from localazure.plugin.settings import Settings, configuration_problems, read_settings
from localazure.plugin.wire import from_struct, has_unknown, to_struct

if TYPE_CHECKING:
    import requests

    from localazure.plugin.resources import Resources

_STABLE_OUTPUTS = ("name", "location")  # can't change by an update, so a preview may show them

_answers_errors = answering_errors(AzureError, LookupError, ValueError)


class Provider(Plugin):
    """`azure-native` for the embedded Azure. `session`: opens the connections to it, `requests.Session` where it is None."""

    package = "pulumi-azure-native"

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        stopping: threading.Event | None = None,
        session: "Callable[[], requests.Session] | None" = None,
    ) -> None:
        super().__init__(environment, stopping)
        self._session = session
        self._settings: Settings | None = None
        self._connecting = threading.Lock()
        self._connected: Resources | None = None

    # The plugin and its configuration

    def CheckConfig(self, request: provider_pb2.CheckRequest, context: grpc.ServicerContext) -> provider_pb2.CheckResponse:  # noqa: N802, ARG002
        configuration = from_struct(request.news)
        problems = [] if has_unknown(configuration) else configuration_problems(texts(configuration), self._environment)
        failures = [provider_pb2.CheckFailure(reason=problem) for problem in problems]
        return provider_pb2.CheckResponse(inputs=request.news, failures=failures)

    def DiffConfig(self, request: provider_pb2.DiffRequest, context: grpc.ServicerContext) -> provider_pb2.DiffResponse:  # noqa: N802, ARG002
        return provider_pb2.DiffResponse()

    @_answers_errors
    def Configure(self, request: provider_pb2.ConfigureRequest, context: grpc.ServicerContext) -> provider_pb2.ConfigureResponse:  # noqa: N802, ARG002
        self._settings = read_settings(configured(request), self._environment)
        return provider_pb2.ConfigureResponse(supportsPreview=True, supports_autonaming_configuration=True, acceptSecrets=False)

    # Planning

    @_answers_errors
    def Check(self, request: provider_pb2.CheckRequest, context: grpc.ServicerContext) -> provider_pb2.CheckResponse:  # noqa: N802, ARG002
        azure_type = _type_of(request.urn)
        inputs = with_defaults(
            azure_type,
            request.urn.split("::")[-1],
            from_struct(request.news),
            from_struct(request.olds),
            seed=request.randomSeed,
            autonaming=autonaming(request),
            default_location=self._configured["location"],
            group_location=lambda group: self._connection.group_location(group),
        )
        failures = [provider_pb2.CheckFailure(reason=problem) for problem in input_problems(azure_type, inputs)]
        return provider_pb2.CheckResponse(inputs=to_struct(inputs), failures=failures)

    @_answers_errors
    def Diff(self, request: provider_pb2.DiffRequest, context: grpc.ServicerContext) -> provider_pb2.DiffResponse:  # noqa: N802, ARG002
        old_inputs, news, olds = from_struct(request.old_inputs), from_struct(request.news), from_struct(request.olds)
        return diff_response(diff(_type_of(request.urn), old_inputs, news, olds))

    # Doing

    @_answers_errors
    def Create(self, request: provider_pb2.CreateRequest, context: grpc.ServicerContext) -> provider_pb2.CreateResponse:  # noqa: N802, ARG002
        azure_type, inputs = _type_of(request.urn), from_struct(request.properties)
        if request.preview:
            return provider_pb2.CreateResponse(properties=to_struct(preview_outputs(azure_type, inputs)))
        state = self._connection.create(azure_type, inputs, **_timeout(request.timeout))
        return provider_pb2.CreateResponse(id=state.id, properties=to_struct(state.outputs))

    @_answers_errors
    def Read(self, request: provider_pb2.ReadRequest, context: grpc.ServicerContext) -> provider_pb2.ReadResponse:  # noqa: N802, ARG002
        olds = from_struct(request.properties)
        state = self._connection.read(_type_of(request.urn), request.id, from_struct(request.inputs), olds)
        if state is None:
            return provider_pb2.ReadResponse(id="")
        return provider_pb2.ReadResponse(id=state.id, properties=to_struct(state.outputs), inputs=to_struct(state.inputs))

    @_answers_errors
    def Update(self, request: provider_pb2.UpdateRequest, context: grpc.ServicerContext) -> provider_pb2.UpdateResponse:  # noqa: N802, ARG002
        azure_type, news = _type_of(request.urn), from_struct(request.news)
        if request.preview:
            olds = from_struct(request.olds)
            stable = {name: olds[name] for name in _STABLE_OUTPUTS if name in olds}
            return provider_pb2.UpdateResponse(properties=to_struct({**preview_outputs(azure_type, news), **stable}))
        state = self._connection.update(azure_type, request.id, news, **_timeout(request.timeout))
        return provider_pb2.UpdateResponse(properties=to_struct(state.outputs))

    @_answers_errors
    def Delete(self, request: provider_pb2.DeleteRequest, context: grpc.ServicerContext) -> Empty:  # noqa: N802, ARG002
        self._connection.delete(_type_of(request.urn), request.id, **_timeout(request.timeout))
        return Empty()

    @_answers_errors
    def Invoke(self, request: provider_pb2.InvokeRequest, context: grpc.ServicerContext) -> provider_pb2.InvokeResponse:  # noqa: N802, ARG002
        result = self._connection.invoke(request.tok, from_struct(request.args))
        response = provider_pb2.InvokeResponse()
        getattr(response, "return").CopyFrom(to_struct(result))  # a Python keyword, so the field has no name to write here
        return response

    # What the methods share

    @property
    def _configured(self) -> Settings:
        if self._settings is None:
            raise ValueError("the provider was asked to work before it was configured")
        return self._settings

    @property
    def _connection(self) -> "Resources":
        """The connection to ARM, made when the first request needs it: a preview may need none, and the import takes its time."""
        with self._connecting:
            if self._connected is None:
                from localazure.plugin.resources import Resources

                self._connected = Resources(self._configured, self._stopping, self._session)
            return self._connected


def _type_of(urn: str) -> AzureType:
    token = urn.split("::")[-2].split("$")[-1]
    if token not in BY_TOKEN:
        known = ", ".join(sorted(BY_TOKEN))
        raise LookupError(f"the resource type '{token}' is not implemented by this stand-in of azure-native; it has {known}")
    return BY_TOKEN[token]


def _timeout(given_s: float) -> dict[str, float]:
    return {"timeout_s": given_s} if given_s else {}
