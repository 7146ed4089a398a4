"""`python -m tests.upgrades.offline_kubernetes`: the provider plugin `kubernetes` with no cluster behind it.

Check and Diff are the stand-in's own. What is created is what was asked for, ready at once.
"""

import hashlib
import sys
import uuid
from typing import Any

import grpc
from pulumi.runtime.proto import provider_pb2

from localazure.kubernetes_plugin import objects, releases, values
from localazure.kubernetes_plugin.cluster import Cluster
from localazure.kubernetes_plugin.kinds import token_of
from localazure.kubernetes_plugin.servicer import Provider, Work
from localazure.kubernetes_plugin.settings import read_settings
from localazure.kubernetes_plugin.values import sent
from localazure.plugin.base import configured
from localazure.plugin.server import serve
from localazure.plugin.wire import Properties, from_struct, opened, to_struct

MANAGER = "pulumi-kubernetes-00000000"


class OfflineKubernetes(Provider):
    """Asks no server for anything."""

    def Configure(self, request: provider_pb2.ConfigureRequest, context: grpc.ServicerContext) -> provider_pb2.ConfigureResponse:  # noqa: N802
        settings = read_settings(configured(request), {})
        nothing: Any = None
        self._work = Work(settings, Cluster(None, "there is none"), nothing, nothing)
        return provider_pb2.ConfigureResponse(supportsPreview=True, supports_autonaming_configuration=True, acceptSecrets=True)

    def Check(self, request: provider_pb2.CheckRequest, context: grpc.ServicerContext) -> provider_pb2.CheckResponse:  # noqa: N802
        request.randomSeed = hashlib.sha256(request.urn.encode()).digest()  # a name that is drawn is the same each time
        return super().Check(request, context)

    def Create(self, request: provider_pb2.CreateRequest, context: grpc.ServicerContext) -> provider_pb2.CreateResponse:  # noqa: N802
        marked = from_struct(request.properties, keep_secrets=True)
        if token_of(request.urn) == releases.TYPE:
            made = releases.recorded(opened(sent(marked)))
            return provider_pb2.CreateResponse(id=made.id, properties=to_struct(made.outputs))
        live = opened(sent(marked))
        live["metadata"] = {**objects.metadata(live), "uid": str(uuid.uuid5(uuid.NAMESPACE_URL, request.urn))}
        return provider_pb2.CreateResponse(id=objects.identity(live), properties=to_struct(values.outputs(marked, live, MANAGER)))

    def _release_problems(self, inputs: Properties) -> list[str]:
        return []


if __name__ == "__main__":
    serve(sys.stdout, OfflineKubernetes())
