"""The provider as the engine sees it, and what its requests reach, both in this process."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import httpx
import pytest
from pulumi.runtime.proto import provider_pb2

from localazure.plugin.servicer import Provider
from localazure.plugin.wire import from_struct, to_struct
from tests.support.embedded import EmbeddedAzure
from tests.support.in_process import InProcessAzure
from tests.support.provider_calls import Calls, VirtualTime
from tests.support.requests_in_process import session

HOST = "arm.example:8443"
SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"


class Engine:
    """What the engine does with a provider, in plain values."""

    def __init__(self, stub: Any) -> None:
        self.stub = stub

    @staticmethod
    def urn(token: str, name: str = "thing") -> str:
        return f"urn:pulumi:test::project::{token}::{name}"

    def configure(self, **configuration: str) -> Any:
        return self.stub.Configure(provider_pb2.ConfigureRequest(args=to_struct(configuration)))

    def check(
        self, token: str, news: dict, olds: dict | None = None, name: str = "thing", **options: Any
    ) -> tuple[dict, list[str]]:
        request = provider_pb2.CheckRequest(
            urn=self.urn(token, name), news=to_struct(news), olds=to_struct(olds or {}), randomSeed=b"seed", **options
        )
        answer = self.stub.Check(request)
        return from_struct(answer.inputs), [failure.reason for failure in answer.failures]

    def diff(self, token: str, old_inputs: dict, news: dict, olds: dict | None = None) -> Any:
        return self.stub.Diff(
            provider_pb2.DiffRequest(
                urn=self.urn(token), old_inputs=to_struct(old_inputs), news=to_struct(news), olds=to_struct(olds or old_inputs)
            )
        )

    def create(self, token: str, inputs: dict, *, preview: bool = False) -> Any:
        return self.stub.Create(provider_pb2.CreateRequest(urn=self.urn(token), properties=to_struct(inputs), preview=preview))

    def update(self, token: str, resource_id: str, olds: dict, news: dict, *, preview: bool = False) -> Any:
        request = provider_pb2.UpdateRequest(
            urn=self.urn(token), id=resource_id, olds=to_struct(olds), news=to_struct(news), preview=preview
        )
        return self.stub.Update(request)

    def read(self, token: str, resource_id: str, inputs: dict | None = None, outputs: dict | None = None) -> Any:
        request = provider_pb2.ReadRequest(
            urn=self.urn(token), id=resource_id, inputs=to_struct(inputs or {}), properties=to_struct(outputs or {})
        )
        return self.stub.Read(request)

    def delete(self, token: str, resource_id: str) -> Any:
        return self.stub.Delete(provider_pb2.DeleteRequest(urn=self.urn(token), id=resource_id))

    def invoke(self, token: str, **arguments: Any) -> dict:
        answer = self.stub.Invoke(provider_pb2.InvokeRequest(tok=token, args=to_struct(arguments)))
        return from_struct(getattr(answer, "return"))


def failure(call: Callable[..., object], *given: Any, **options: Any) -> grpc.RpcError:
    """What a call of the provider fails with."""
    with pytest.raises(grpc.RpcError) as failed:
        call(*given, **options)
    return failed.value


class AzureEngine(Engine):
    """With the time that the provider waits in, what its requests reach, and the requests."""

    time: VirtualTime
    answer: Callable[[httpx.Request], httpx.Response]
    requests: list[httpx.Request]

    def sent(self, method: str) -> list[Any]:
        """The bodies of the requests with that method."""
        return [json.loads(request.content) for request in self.requests if request.method == method]

    def send(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return self.answer(request)


@pytest.fixture
def unconfigured() -> AzureEngine:
    """A provider that reaches nothing."""
    time = VirtualTime()
    engine = AzureEngine(Calls(Provider({}, time, lambda: session(lambda request: engine.send(request)))))
    engine.time, engine.answer, engine.requests = time, nobody, []
    return engine


def nobody(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("[Errno 111] Connection refused", request=request)


@pytest.fixture
def offline(unconfigured: AzureEngine) -> AzureEngine:
    """A configured provider whose Azure can't be reached: whatever works with it works without a network."""
    unconfigured.configure(**configuration())
    return unconfigured


def connection(azure: EmbeddedAzure) -> dict[str, str]:
    """The configuration for the embedded Azure."""
    return {
        "subscriptionId": SUBSCRIPTION,
        "tenantId": azure.tenant_id,
        "clientId": azure.client_id,
        "clientSecret": azure.client_secret,
        "metadataHost": azure.url,
        "disableInstanceDiscovery": "true",
    }


@pytest.fixture
def engine(unconfigured: AzureEngine, azure: InProcessAzure) -> Iterator[AzureEngine]:
    """Configured for the embedded Azure in this process, whose time passes while the provider waits."""
    unconfigured.configure(**connection(azure))
    unconfigured.answer, unconfigured.time.waited = azure.http().send, azure.move
    yield unconfigured
    azure.clear_faults()


def configuration(host: str = HOST) -> dict[str, str]:
    return {
        "subscriptionId": SUBSCRIPTION,
        "tenantId": "11111111-1111-1111-1111-111111111111",
        "clientId": "22222222-2222-2222-2222-222222222222",
        "clientSecret": "the-client-secret",
        "metadataHost": host,
        "disableInstanceDiscovery": "true",
    }
