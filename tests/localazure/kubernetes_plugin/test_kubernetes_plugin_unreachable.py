"""A cluster that doesn't answer: said at once, in the real provider's words, and never waited for."""

from collections.abc import Callable
from typing import Any, cast

import grpc
import pytest

from localazure.kubernetes_plugin.engine_log import EngineLog
from tests.localazure.kubernetes_plugin.conftest import CONFIG_MAP, NOBODY, KubernetesEngine, Made, kubeconfig, with_kind
from tests.localazure.plugin.conftest import failure
from tests.support.provider_calls import details_of

INPUTS = with_kind(CONFIG_MAP, {"metadata": {"name": "settings", "namespace": "team"}, "data": {"a": "1"}})
STATE = {**INPUTS, "__inputs": INPUTS, "__fieldManager": "m", "__initialApiVersion": "v1"}
UNREACHABLE = f'unable to load schema information from the API server: Get "{NOBODY}/version": connect: connection refused'
FORGET = 'PULUMI_K8S_DELETE_UNREACHABLE environment variable set to "true"'


def kept(engine: KubernetesEngine) -> Made:
    return Made(engine, CONFIG_MAP, "thing", "team/settings", INPUTS, STATE)


def configured(engine: KubernetesEngine, **configuration: str) -> Made:
    engine.configure(kubeconfig=kubeconfig(), **configuration)
    return kept(engine)


def test_plans_are_made_without_the_cluster(offline: KubernetesEngine) -> None:
    assert offline.planned(CONFIG_MAP, INPUTS) == INPUTS
    assert offline.planned(CONFIG_MAP, INPUTS) == INPUTS
    assert offline.lines.all == [f"configured Kubernetes cluster is unreachable: {UNREACHABLE}"], "said once"
    made = kept(offline)
    assert list(made.diff({**INPUTS, "data": {"a": "2"}}).replaces) == ["data.a"]
    assert made.update({**INPUTS, "immutable": True}, preview=True) == {**INPUTS, "immutable": True}


@pytest.mark.parametrize("step", ["create", "update"])
def test_doing_fails_at_once_and_says_who_did_not_answer(offline: KubernetesEngine, step: str) -> None:
    with pytest.raises(grpc.RpcError) as failed:
        offline.made(CONFIG_MAP, INPUTS) if step == "create" else kept(offline).update(INPUTS)
    assert details_of(failed.value) == f"configured Kubernetes cluster is unreachable: {UNREACHABLE}"
    assert offline.time.now == 0


def test_reading_and_deleting_fail_and_say_how_to_forget(offline: KubernetesEngine) -> None:
    unread = failure(kept(offline).refresh)
    assert details_of(unread).startswith("failed to read resource state due to unreachable cluster.")
    undeleted = failure(kept(offline).delete)
    assert details_of(undeleted).startswith("configured Kubernetes cluster is unreachable.")
    assert details_of(unread).endswith(FORGET)
    assert details_of(undeleted).endswith(FORGET)


def test_what_is_unreachable_may_be_forgotten(unconfigured: KubernetesEngine) -> None:
    made = configured(unconfigured, deleteUnreachable="true")
    assert not made.refresh()
    made.delete()


class EngineChannel:
    """A channel to an engine that keeps what it is told, or is gone."""

    def __init__(self, *, gone: bool = False) -> None:
        self.heard: list[tuple[str, str, bool]] = []
        self.gone = gone

    def unary_unary(self, *_: Any, **__: Any) -> Callable[..., None]:
        def call(request: Any, **_: Any) -> None:
            if self.gone:
                raise grpc.RpcError
            self.heard.append((request.urn, request.message, request.ephemeral))

        return call


def test_lines_reach_the_engine_beside_their_resource_and_nothing_fails_where_it_is_gone() -> None:
    engine = EngineChannel()
    log = EngineLog("127.0.0.1:1", lambda _: cast(grpc.Channel, engine))
    log.status("urn:a", "waiting")
    log.warning("urn:b", "unreachable")
    assert engine.heard == [("urn:a", "waiting", True), ("urn:b", "unreachable", False)]
    EngineLog("127.0.0.1:1", lambda _: cast(grpc.Channel, EngineChannel(gone=True))).info("urn:a", "nobody listens")
    EngineLog().info("urn:a", "nobody is told")
