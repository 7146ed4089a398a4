"""The provider where nothing runs: what a program declares is recorded, and no API server is asked.

Create and Update answer with the inputs as the object, without a status and without what a server writes; Read answers the state,
and Delete does nothing. Check and Diff work from inputs, as for a cluster that can't be reached. The real provider does the same
while it renders YAML in place of applying it: pulumi/pulumi-kubernetes, provider/pkg/provider/provider.go, `yamlRenderMode`.
"""

from typing import Any

import grpc
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import provider_pb2

from localazure.kubernetes_plugin import objects, releases, values
from localazure.kubernetes_plugin.cluster import Cluster
from localazure.kubernetes_plugin.kinds import Kind
from localazure.kubernetes_plugin.servicer import Provider, Work
from localazure.kubernetes_plugin.settings import Settings
from localazure.kubernetes_plugin.values import sent
from localazure.plugin.errors import State
from localazure.plugin.wire import Properties, opened


class Recorder(Provider):
    """Kinds that no server tells of are taken for kinds in a namespace."""

    def _work_of(self, settings: Settings) -> Work:
        recorded: Any = _Recorded()
        return Work(settings, Cluster(None, "nothing runs on this embedded Azure"), recorded, recorded)

    def _must_answer(self) -> None:
        """Nobody has to."""

    def Read(self, request: provider_pb2.ReadRequest, context: grpc.ServicerContext) -> provider_pb2.ReadResponse:  # noqa: N802, ARG002
        """What is to be imported, of which there is no state, doesn't exist."""
        there = bool(request.properties.fields)
        return provider_pb2.ReadResponse(id=request.id if there else "", properties=request.properties, inputs=request.inputs)

    def Delete(self, request: provider_pb2.DeleteRequest, context: grpc.ServicerContext) -> Empty:  # noqa: N802, ARG002
        return Empty()

    def _release_problems(self, inputs: Properties) -> list[str]:  # noqa: ARG002
        """No chart is rendered, so that none has to be there."""
        return []

    def _warn_once(self) -> None:
        """That nobody is asked is what was wanted."""


class _Recorded:
    """In the place of the operations on objects and of those on releases."""

    def apply(self, urn: str, inputs: Properties, old: Properties | None) -> State:  # noqa: ARG002
        return releases.recorded(inputs)

    def create(self, urn: str, kind: Kind, marked: Properties, timeout_s: float) -> State:
        return self.update(urn, kind, marked, {}, timeout_s)

    def update(self, urn: str, kind: Kind, marked: Properties, old: Properties, timeout_s: float) -> State:  # noqa: ARG002
        before, live = values.kept(old), opened(sent(marked))
        outputs = values.outputs(marked, live, values.manager_for(live, before.manager), before.api_version)
        return State(objects.identity(live), outputs, marked)
