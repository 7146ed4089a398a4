"""A cluster that doesn't answer: said at once, in the real provider's words, and never waited for."""

import time

import grpc
import pytest

from localazure.plugin.wire import from_struct
from tests.localazure.kubernetes_plugin.conftest import (
    CONFIG_MAP,
    NOBODY,
    KubernetesEngine,
    Made,
    details_of,
    kubeconfig,
    with_kind,
)

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
    began = time.monotonic()
    with pytest.raises(grpc.RpcError) as failed:
        offline.made(CONFIG_MAP, INPUTS) if step == "create" else kept(offline).update(INPUTS)
    assert details_of(failed.value) == f"configured Kubernetes cluster is unreachable: {UNREACHABLE}"
    assert time.monotonic() - began < 10


def test_reading_and_deleting_fail_and_say_how_to_forget(offline: KubernetesEngine) -> None:
    with pytest.raises(grpc.RpcError) as unread:
        kept(offline).refresh()
    assert details_of(unread.value).startswith("failed to read resource state due to unreachable cluster.")
    with pytest.raises(grpc.RpcError) as undeleted:
        kept(offline).delete()
    assert details_of(undeleted.value).startswith("configured Kubernetes cluster is unreachable.")
    assert details_of(unread.value).endswith(FORGET)
    assert details_of(undeleted.value).endswith(FORGET)


def test_what_is_unreachable_may_be_forgotten(unconfigured: KubernetesEngine) -> None:
    made = configured(unconfigured, deleteUnreachable="true")
    assert not made.refresh()
    made.delete()


def test_what_is_unreachable_may_be_left_as_it_was(unconfigured: KubernetesEngine) -> None:
    made = configured(unconfigured, skipUpdateUnreachable="true")
    assert made.refresh()
    assert made.inputs == INPUTS
    checked, _ = unconfigured.check(CONFIG_MAP, {**INPUTS, "data": {"a": "2"}}, INPUTS)
    assert checked == INPUTS
    assert from_struct(unconfigured.read(CONFIG_MAP, "team/settings", INPUTS, STATE).properties) == STATE


def test_a_login_that_fails_makes_the_cluster_unreachable(unconfigured: KubernetesEngine) -> None:
    program = {"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-login"}
    unconfigured.configure(kubeconfig=kubeconfig(exec=program))
    with pytest.raises(grpc.RpcError, match="getting credentials: exec: executable no-such-login not found"):
        unconfigured.made(CONFIG_MAP, INPUTS)
