"""Answers of both providers to the engine in the same form: errors, partial failures, differences.

They are gRPC statuses and messages of Pulumi's protocol. Source of the contract: pulumi/proto/pulumi/provider.proto and
status.proto.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import grpc
from pulumi.runtime.proto import provider_pb2, status_pb2

from localazure.plugin.diff import Change, Diff
from localazure.plugin.errors import PartialError
from localazure.plugin.wire import to_struct

Answer = TypeVar("Answer")
Method = Callable[[Any, Any, grpc.ServicerContext], Answer]


def answering_errors(*expected: type[Exception]) -> Callable[[Method[Answer]], Method[Answer]]:
    """Turns what goes wrong into the status that the engine shows: the message, and what was left behind where something was.

    `expected` are told as they are. What nobody expected is a fault of the plugin and shows as gRPC shows it.
    """

    def wrapped(method: Method[Answer]) -> Method[Answer]:
        @wraps(method)
        def answering(self: Any, request: Any, context: grpc.ServicerContext) -> Answer:
            try:
                return method(self, request, context)
            except PartialError as error:
                context.set_trailing_metadata((("grpc-status-details-bin", _partial_status(error)),))
                context.abort(grpc.StatusCode.UNKNOWN, error.reason)
            except expected as error:
                context.abort(grpc.StatusCode.UNKNOWN, str(error.args[0]) if isinstance(error, LookupError) else str(error))
            raise AssertionError("abort raises")

        return answering

    return wrapped


def diff_response(found: Diff) -> provider_pb2.DiffResponse:
    return provider_pb2.DiffResponse(
        changes=provider_pb2.DiffResponse.DIFF_SOME if found.changes else provider_pb2.DiffResponse.DIFF_NONE,
        replaces=found.replaces,
        diffs=sorted({change.top_level for change in found.changes}),
        deleteBeforeReplace=found.delete_before_replace,
        hasDetailedDiff=True,
        detailedDiff={change.path: provider_pb2.PropertyDiff(kind=_kind_of(change), inputDiff=True) for change in found.changes},
    )


def _kind_of(change: Change) -> "provider_pb2.PropertyDiff.Kind.ValueType":
    return provider_pb2.PropertyDiff.Kind.Value(change.kind.name + ("_REPLACE" if change.replaces else ""))


def _partial_status(error: PartialError) -> bytes:
    """A status whose details tell the engine to keep the resource and to complete it next time."""
    status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=error.reason)
    status.details.add().Pack(
        provider_pb2.ErrorResourceInitFailed(
            id=error.state.id,
            properties=to_struct(error.state.outputs),
            inputs=to_struct(error.state.inputs),
            reasons=[error.reason, *error.more],
        )
    )
    return status.SerializeToString()
