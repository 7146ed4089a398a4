"""`python -m tests.upgrades.listening`: the provider plugin `azure-native` as it is, which writes down what functions answer."""

import sys
from typing import Any

import grpc
from pulumi.runtime.proto import provider_pb2

from localazure.plugin.server import serve
from localazure.plugin.servicer import Provider
from localazure.plugin.wire import from_struct
from tests.upgrades import answers


class Listening(Provider):
    """Each answer is written down as the engine gets it."""

    def Invoke(self, request: provider_pb2.InvokeRequest, context: grpc.ServicerContext) -> Any:  # noqa: N802
        response = super().Invoke(request, context)
        answers.hear(request.tok, from_struct(request.args), from_struct(getattr(response, "return")))
        return response


if __name__ == "__main__":
    serve(sys.stdout, Listening())
