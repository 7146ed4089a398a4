"""`python -m tests.upgrades.offline_azure`: the provider plugin `azure-native` with no Azure behind it.

Check and Diff are the stand-in's own. What is created is what was asked for, with what Azure would set as far as components
are wired with it; functions answer what is prepared. Nothing of it outlives the process: the engine's state does.
"""

import hashlib
import sys
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import grpc
from pulumi.runtime.proto import provider_pb2

from azure_gpu.formats.azure_types import RESOURCE_GROUP
from localazure.plugin.base import configured
from localazure.plugin.errors import State
from localazure.plugin.invokes import READS
from localazure.plugin.resources import preserved_outputs
from localazure.plugin.server import serve
from localazure.plugin.servicer import Provider
from localazure.plugin.wire import Properties
from tests.components.recording import COMPUTED
from tests.upgrades import answers


class NoAzure:
    """A connection to nobody, and the resources behind it."""

    def __init__(self, subscription: str) -> None:
        self._subscription = subscription
        self._prepared = answers.given()
        self._created: dict[str, Properties] = {}

    def create(self, azure_type: Any, inputs: Properties, timeout_s: float = 0) -> State:
        own_id = azure_type.id_of(self._subscription, inputs)
        computed = COMPUTED.get(azure_type.token, lambda *_: {})(own_id.rsplit("/", 1)[-1], inputs)
        known = {"name": own_id.rsplit("/", 1)[-1], "type": azure_type.arm_type}
        outputs = {**known, **preserved_outputs(azure_type, inputs), **computed}
        self._created[own_id] = {**outputs, "id": own_id}
        return State(own_id, outputs, inputs)

    def group_location(self, group: str) -> str | None:
        found = self._created.get(RESOURCE_GROUP.id_of(self._subscription, {"resourceGroupName": group}), {})
        return found.get("location")

    def invoke(self, token: str, arguments: Mapping[str, Any]) -> Properties:
        created = self._read(READS.get(token), arguments)
        try:
            prepared = answers.answer(self._prepared, token, arguments)
        except ValueError:
            if created is None:
                raise
            prepared = {}
        result = prepared if created is None else {**over(created, prepared), "id": created["id"]}
        answers.hear(token, arguments, result)
        return result

    def _read(self, azure_type: Any, arguments: Mapping[str, Any]) -> Properties | None:
        """What was created under the path that a function reads."""
        if azure_type is None or not arguments.keys() >= set(azure_type.path_parameters):
            return None
        return self._created.get(azure_type.id_of(self._subscription, arguments))


def over(below: Any, above: Any) -> Any:
    """Objects laid over each other, deeply."""
    if isinstance(below, dict) and isinstance(above, dict):
        return {**below, **{key: over(below.get(key), value) for key, value in above.items()}}
    return above


class OfflineAzure(Provider):
    """Takes any subscription."""

    def CheckConfig(self, request: provider_pb2.CheckRequest, context: grpc.ServicerContext) -> provider_pb2.CheckResponse:  # noqa: N802
        return provider_pb2.CheckResponse(inputs=request.news)

    def Configure(self, request: provider_pb2.ConfigureRequest, context: grpc.ServicerContext) -> provider_pb2.ConfigureResponse:  # noqa: N802
        self._settings = {"location": "", **configured(request)}
        return provider_pb2.ConfigureResponse(supportsPreview=True, supports_autonaming_configuration=True, acceptSecrets=False)

    def Check(self, request: provider_pb2.CheckRequest, context: grpc.ServicerContext) -> provider_pb2.CheckResponse:  # noqa: N802
        request.randomSeed = hashlib.sha256(request.urn.encode()).digest()  # a name that is drawn is the same each time
        return super().Check(request, context)

    @cached_property
    def _connection(self) -> Any:
        return NoAzure(self._configured["subscriptionId"])


if __name__ == "__main__":
    serve(sys.stdout, OfflineAzure())
