"""The plugin as the engine sees it, in this process: with an API server in this process, a real control plane, or none."""

import json
from collections.abc import Callable
from typing import Any, cast

import pytest
import urllib3
from pulumi.runtime.proto import provider_pb2

from localazure.kubernetes_plugin.api import Api
from localazure.kubernetes_plugin.engine_log import EngineLog
from localazure.kubernetes_plugin.kubeconfig import Access
from localazure.kubernetes_plugin.servicer import Provider
from localazure.plugin.wire import from_struct, to_struct
from tests.localazure.plugin.conftest import Engine
from tests.support.fake_kubernetes import Answer, FakeKubernetes
from tests.support.kubernetes import ControlPlane
from tests.support.provider_calls import Calls, VirtualTime

CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
NOBODY = "https://127.0.0.1:1"  # nothing listens there


class Lines(EngineLog):
    """What the plugin tells the engine, for a test to read; `heard` is called with each line."""

    def __init__(self) -> None:
        super().__init__()
        self.all: list[str] = []
        self.heard: Callable[[str], object] = lambda _: None

    def status(self, urn: str, line: str) -> None:
        self.all.append(line)
        self.heard(line)

    info = warning = status


class KubernetesEngine(Engine):
    """What the engine does with objects: apiVersion and kind as the SDK sets them, states kept from one step to the next."""

    def __init__(self, provider: Provider, lines: Lines, time: VirtualTime) -> None:
        super().__init__(Calls(provider))
        self.provider, self.lines, self.time = provider, lines, time

    def made(self, token: str, body: dict[str, Any], name: str = "thing", **options: Any) -> "Made":
        """Check, then create."""
        checked, problems = self.check(token, with_kind(token, body), name=name)
        assert problems == []
        answer = self.stub.Create(provider_pb2.CreateRequest(urn=self.urn(token, name), properties=to_struct(checked), **options))
        return Made(self, token, name, answer.id, checked, from_struct(answer.properties))

    def planned(self, token: str, body: dict[str, Any]) -> dict[str, Any]:
        """What a preview shows of a new object."""
        checked, _ = self.check(token, with_kind(token, body))
        return from_struct(self.create(token, checked, preview=True).properties)


class Made:
    """An object that the engine knows: its inputs and its state."""

    def __init__(
        self,
        engine: KubernetesEngine,
        token: str,
        name: str,
        id: str,
        inputs: dict[str, Any],
        state: dict[str, Any],
    ) -> None:
        self.engine, self.token, self.name, self.id = engine, token, name, id
        self.inputs, self.state = inputs, state

    def diff(self, body: dict[str, Any]) -> Any:
        news, _ = self.engine.check(self.token, with_kind(self.token, body), self.inputs, name=self.name)
        return self.engine.diff(self.token, self.inputs, news, self.state)

    def update(self, body: dict[str, Any], *, preview: bool = False, **options: Any) -> dict:
        """The state after it; kept, unless it is a preview."""
        news, _ = self.engine.check(self.token, with_kind(self.token, body), self.inputs, name=self.name)
        request = provider_pb2.UpdateRequest(
            urn=self.engine.urn(self.token, self.name),
            id=self.id,
            olds=to_struct(self.state),
            news=to_struct(news),
            preview=preview,
            **options,
        )
        found = from_struct(self.engine.stub.Update(request).properties)
        if not preview:
            self.inputs, self.state = news, found
        return found

    def refresh(self) -> bool:
        """Whether it is there; inputs and state are then as read."""
        answer = self.engine.read(self.token, self.id, self.inputs, self.state)
        if answer.id:
            self.inputs, self.state = from_struct(answer.inputs), from_struct(answer.properties)
        return bool(answer.id)

    def delete(self, **options: Any) -> None:
        request = provider_pb2.DeleteRequest(
            urn=self.engine.urn(self.token, self.name), id=self.id, properties=to_struct(self.state), **options
        )
        self.engine.stub.Delete(request)


def with_kind(token: str, body: dict[str, Any]) -> dict[str, Any]:
    _, version, kind = token.split(":")
    return {"apiVersion": version.removeprefix("core/"), "kind": kind, **body}


def checked_raw(engine: Engine, token: str, body: dict[str, Any]) -> Any:
    """Inputs as the engine gets them back, with marks of secrets."""
    request = provider_pb2.CheckRequest(urn=engine.urn(token), news=to_struct(with_kind(token, body)), randomSeed=b"seed")
    return from_struct(engine.stub.Check(request).inputs, keep_secrets=True)


def kubeconfig(server: str = NOBODY, **user: Any) -> str:
    """A kubeconfig of one server and one user; JSON is YAML."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": server}}],
            "users": [{"name": "u", "user": user}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
    )


class Nobody:
    """kubectl's proxy of a server at whose address nothing listens."""

    def request(self, *_: Any, **__: Any) -> Answer:
        return Answer(500, b"connect: connection refused", {"Content-Type": "text/plain; charset=utf-8"})


def plugin(
    environment: dict[str, str] | None = None, kind: type[Provider] = Provider, server: FakeKubernetes | None = None
) -> KubernetesEngine:
    """A plugin that isn't configured yet, whose server is in this process or doesn't answer, and whose time is virtual."""
    time, lines = VirtualTime(), Lines()

    def api(access: Access) -> Api:
        return Api(access, opened=lambda _: cast(urllib3.HTTPConnectionPool, server or Nobody()))

    made = kind(environment or {}, lines, api=api, stopping=time, clock=time.clock)
    return KubernetesEngine(made, lines, time)


def real_plugin(control_plane: ControlPlane, **configuration: str) -> KubernetesEngine:
    """A plugin that is configured for a real control plane."""
    lines = Lines()
    engine = KubernetesEngine(Provider({}, lines), lines, VirtualTime())
    engine.configure(kubeconfig=control_plane.kubeconfig.read_text(), **configuration)
    return engine


@pytest.fixture
def unconfigured() -> KubernetesEngine:
    return plugin()


@pytest.fixture
def offline(unconfigured: KubernetesEngine) -> KubernetesEngine:
    """A configured plugin whose cluster doesn't answer: whatever works with it works without one."""
    unconfigured.configure(kubeconfig=kubeconfig())
    return unconfigured


@pytest.fixture
def server() -> FakeKubernetes:
    return FakeKubernetes()


@pytest.fixture
def online(server: FakeKubernetes) -> KubernetesEngine:
    """A configured plugin whose cluster is the one in this process."""
    engine = plugin(server=server)
    engine.configure(kubeconfig=kubeconfig("https://here.example"))
    return engine


@pytest.fixture
def engine(control_plane: ControlPlane) -> KubernetesEngine:
    """One whose cluster is a real control plane."""
    return real_plugin(control_plane)
