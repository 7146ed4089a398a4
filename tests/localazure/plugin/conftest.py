"""A fake ARM, and the provider as the engine sees it, both in this process."""

from collections.abc import Callable, Collection, Iterator
from typing import Any

import grpc
import httpx
import pytest
from pulumi.runtime.proto import provider_pb2

from localazure.plugin.servicer import Provider
from localazure.plugin.wire import from_struct, to_struct
from tests.localazure.plugin import fake_arm
from tests.localazure.plugin.fake_arm import FakeArm
from tests.support.embedded import EmbeddedAzure
from tests.support.in_process import InProcessAzure
from tests.support.provider_calls import Calls, VirtualTime
from tests.support.requests_in_process import session

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


def live(engine: Engine, token: str, inputs: dict[str, Any], edit: dict[str, Any], *, hidden: Collection[str] = ()) -> None:
    """Check, create, refresh, import, no difference, update, delete: what Azure answers is never taken for a change.

    `hidden`: inputs with secrets, which no import finds.
    """
    checked, failures = engine.check(token, inputs)
    assert failures == []
    created = engine.create(token, checked)
    outputs = from_struct(created.properties)
    read = engine.read(token, created.id, checked, outputs)
    assert from_struct(read.inputs) == checked, "a refresh finds no change"
    assert from_struct(read.properties) == outputs
    imported = from_struct(engine.read(token, created.id).inputs)
    assert holds(imported, {name: value for name, value in checked.items() if name not in hidden and name[0] != "_"})
    assert not engine.diff(token, checked, checked, outputs).diffs
    assert not engine.diff(token, checked, checked).diffs
    edited, failures = engine.check(token, {**inputs, **edit}, olds=checked)
    assert failures == []
    found = engine.diff(token, checked, edited, outputs)
    assert (list(found.diffs), list(found.replaces)) == (sorted(edit), [])
    updated = from_struct(engine.update(token, created.id, outputs, edited).properties)
    assert holds(updated, edit)
    assert from_struct(engine.read(token, created.id, edited, updated).inputs) == edited
    engine.delete(token, created.id)
    assert engine.read(token, created.id, edited, updated).id == ""


def holds(outputs: Any, part: Any) -> bool:
    """Whether `part` is so in `outputs`, which may say more."""
    if isinstance(part, dict):
        return all(name in outputs and holds(outputs[name], value) for name, value in part.items())
    return outputs == part


class AzureEngine(Engine):
    """With the time that the provider waits in, and what its requests reach."""

    time: VirtualTime
    answer: Callable[[httpx.Request], httpx.Response]


@pytest.fixture
def arm() -> Iterator[FakeArm]:
    made = FakeArm()
    yield made
    assert made.unexpected == []


@pytest.fixture
def unconfigured() -> AzureEngine:
    """A provider that reaches nothing."""
    time = VirtualTime()
    engine = AzureEngine(Calls(Provider({}, time, lambda: session(lambda request: engine.answer(request)))))
    engine.time, engine.answer = time, nobody
    return engine


def nobody(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("[Errno 111] Connection refused", request=request)


@pytest.fixture
def offline(unconfigured: AzureEngine) -> AzureEngine:
    """A configured provider whose Azure can't be reached: whatever works with it works without a network."""
    unconfigured.configure(**configuration())
    return unconfigured


@pytest.fixture
def engine(offline: AzureEngine, arm: FakeArm) -> AzureEngine:
    offline.answer = arm.answer
    return offline


def connection(azure: EmbeddedAzure) -> dict[str, str]:
    """The configuration for the embedded Azure in place of a fake one."""
    return {
        "subscriptionId": SUBSCRIPTION,
        "tenantId": azure.tenant_id,
        "clientId": azure.client_id,
        "clientSecret": azure.client_secret,
        "metadataHost": azure.url,
        "disableInstanceDiscovery": "true",
    }


@pytest.fixture
def connected(unconfigured: AzureEngine, azure: InProcessAzure) -> AzureEngine:
    """Configured for the embedded Azure in this process, whose time passes while the provider waits."""
    unconfigured.configure(**connection(azure))
    unconfigured.answer, unconfigured.time.waited = azure.http().send, azure.move
    return unconfigured


def configuration(host: str = fake_arm.HOST) -> dict[str, str]:
    return {
        "subscriptionId": SUBSCRIPTION,
        "tenantId": fake_arm.TENANT,
        "clientId": fake_arm.CLIENT,
        "clientSecret": fake_arm.SECRET,
        "metadataHost": host,
        "disableInstanceDiscovery": "true",
    }
