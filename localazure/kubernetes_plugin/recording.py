"""The provider where nothing runs: what a program declares is recorded, and no API server is asked.

Create and Update answer with the inputs as the object, without a status and without what a server writes; Read answers the state,
and Delete does nothing. Check and Diff work from inputs, as for a cluster that can't be reached. The real provider does the same
while it renders YAML in place of applying it: pulumi/pulumi-kubernetes, provider/pkg/provider/provider.go, `yamlRenderMode`.
"""

import grpc
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import provider_pb2

from localazure.kubernetes_plugin import objects, releases, values
from localazure.kubernetes_plugin.cluster import Cluster
from localazure.kubernetes_plugin.kinds import token_of
from localazure.kubernetes_plugin.servicer import Provider
from localazure.kubernetes_plugin.settings import Settings
from localazure.kubernetes_plugin.values import sent
from localazure.plugin.wire import Properties, from_struct, opened, to_struct


class Recorder(Provider):
    """Kinds that no server tells of are taken for kinds in a namespace."""

    def Create(self, request: provider_pb2.CreateRequest, context: grpc.ServicerContext) -> provider_pb2.CreateResponse:  # noqa: N802
        if request.preview:
            return super().Create(request, context)
        marked = from_struct(request.properties, keep_secrets=True)
        if token_of(request.urn) == releases.TYPE:
            found = releases.recorded(opened(sent(marked)))
            return provider_pb2.CreateResponse(id=found.id, properties=to_struct(found.outputs))
        return provider_pb2.CreateResponse(
            id=objects.identity(opened(sent(marked))), properties=to_struct(_recorded(marked, values.manager_for(opened(marked))))
        )

    def Update(self, request: provider_pb2.UpdateRequest, context: grpc.ServicerContext) -> provider_pb2.UpdateResponse:  # noqa: N802
        if request.preview:
            return super().Update(request, context)
        if token_of(request.urn) == releases.TYPE:
            recorded = releases.recorded(opened(sent(from_struct(request.news))))
            return provider_pb2.UpdateResponse(properties=to_struct(recorded.outputs))
        marked, before = from_struct(request.news, keep_secrets=True), values.kept(from_struct(request.olds))
        manager = values.manager_for(opened(marked), before.manager)
        return provider_pb2.UpdateResponse(properties=to_struct(_recorded(marked, manager, before.api_version)))

    def Read(self, request: provider_pb2.ReadRequest, context: grpc.ServicerContext) -> provider_pb2.ReadResponse:  # noqa: N802, ARG002
        """What is to be imported, of which there is no state, doesn't exist."""
        there = bool(request.properties.fields)
        return provider_pb2.ReadResponse(id=request.id if there else "", properties=request.properties, inputs=request.inputs)

    def Delete(self, request: provider_pb2.DeleteRequest, context: grpc.ServicerContext) -> Empty:  # noqa: N802, ARG002
        return Empty()

    def _release_problems(self, inputs: Properties) -> list[str]:  # noqa: ARG002
        """No chart is rendered, so that none has to be there."""
        return []

    def _cluster_of(self, settings: Settings) -> Cluster:  # noqa: ARG002
        return Cluster(None, "nothing runs on this embedded Azure")

    def _warn_once(self) -> None:
        """That nobody is asked is what was wanted."""


def _recorded(marked: Properties, manager: str, api_version: str = "") -> Properties:
    return values.outputs(marked, opened(sent(marked)), manager, api_version)
