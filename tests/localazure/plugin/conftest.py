"""A fake ARM, and the provider as the engine sees it: over a real gRPC channel."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc, status_pb2

from localazure.plugin.server import start
from localazure.plugin.servicer import Provider
from localazure.plugin.wire import from_struct, to_struct
from tests.localazure.plugin import fake_arm
from tests.localazure.plugin.fake_arm import FakeArm
from tests.support.embedded import ServedAzure

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


def details_of(error: grpc.RpcError) -> str:
    """What a refusal says."""
    details = error.details()
    assert details is not None
    return details


def left_behind(error: grpc.RpcError) -> provider_pb2.ErrorResourceInitFailed:
    """The partial state in an error, as the engine unpacks it."""
    metadata = {each.key: each.value for each in error.trailing_metadata()}
    status = status_pb2.Status.FromString(metadata["grpc-status-details-bin"])
    failed = provider_pb2.ErrorResourceInitFailed()
    assert status.details[0].Unpack(failed)
    assert status.code == grpc.StatusCode.UNKNOWN.value[0]
    return failed


@pytest.fixture
def arm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeArm]:
    with fake_arm.serving(tmp_path) as running:
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", running.bundle)
        yield running
        assert running.unexpected == []


@pytest.fixture
def unconfigured() -> Iterator[Engine]:
    provider = Provider(environment={})
    server, port = start(provider)
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield Engine(provider_pb2_grpc.ResourceProviderStub(channel))
    provider.abandon()
    server.stop(None).wait()


@pytest.fixture
def offline(unconfigured: Engine) -> Engine:
    """A configured provider whose Azure can't be reached: whatever works with it works without a network."""
    unconfigured.configure(**configuration("127.0.0.1:9"))
    return unconfigured


@pytest.fixture
def engine(unconfigured: Engine, arm: FakeArm) -> Engine:
    unconfigured.configure(**configuration(arm.host))
    return unconfigured


def connect(engine: Engine, azure: ServedAzure, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Configured for the embedded Azure in place of a fake one."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(azure.ca_bundle))
    engine.configure(
        subscriptionId=SUBSCRIPTION,
        tenantId=azure.tenant_id,
        clientId=azure.client_id,
        clientSecret=azure.client_secret,
        metadataHost=f"localhost:{azure.port}",
        disableInstanceDiscovery="true",
    )
    return engine


def configuration(host: str) -> dict[str, str]:
    return {
        "subscriptionId": SUBSCRIPTION,
        "tenantId": fake_arm.TENANT,
        "clientId": fake_arm.CLIENT,
        "clientSecret": fake_arm.SECRET,
        "metadataHost": host,
        "disableInstanceDiscovery": "true",
    }


@pytest.fixture(scope="session")
def azure(served_azure: ServedAzure) -> ServedAzure:
    return served_azure


@pytest.fixture
def own_azure(own_served_azure: ServedAzure) -> ServedAzure:
    return own_served_azure
