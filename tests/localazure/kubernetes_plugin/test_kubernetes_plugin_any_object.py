"""What holds for any object at all, and what many do at once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from hypothesis import given, strategies as st

from localazure.kubernetes_plugin import values
from localazure.kubernetes_plugin.api import Api
from localazure.kubernetes_plugin.changes import changes
from localazure.kubernetes_plugin.cluster import Cluster, Resource
from localazure.kubernetes_plugin.kinds import Kind
from localazure.kubernetes_plugin.values import canonical_object, live_inputs, received, sent
from localazure.plugin.wire import Secret, from_struct, opened, to_struct
from tests.support.patience import SECONDS

WORDS = st.sampled_from(["name", "kind", "data", "stringData", "limits", "cpu", "metadata", "x_kubernetes_list_type", "a.b"])
LEAVES = st.one_of(st.booleans(), st.integers(-(2**40), 2**40), st.sampled_from(["", "0.5", "1Gi", "Secret", "x"]))
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4), max_leaves=12
)
OBJECTS = st.dictionaries(WORDS, VALUES, max_size=5)
MARKED = st.dictionaries(WORDS, VALUES | VALUES.map(Secret), max_size=5)


@given(OBJECTS)
def test_an_object_that_nobody_changed_shows_no_change(thing: dict[str, Any]) -> None:
    assert live_inputs(thing, thing) == thing or "stringData" in thing
    found = changes(Kind("", "v1", "ConfigMap"), thing, thing, thing, namespaced=True)
    assert found.changes == ()
    assert canonical_object(canonical_object(thing)) == canonical_object(thing)


@given(OBJECTS)
def test_names_of_the_sdk_and_of_the_api_lead_to_each_other(thing: dict[str, Any]) -> None:
    assert received(sent(thing)) == thing


@given(MARKED)
def test_secrets_go_over_the_wire_and_into_the_state_as_secrets(marked: dict[str, Any]) -> None:
    assert sent(from_struct(to_struct(marked), keep_secrets=True)) == sent(marked)
    kept = values.outputs(marked, opened(marked), "m")
    for key, value in marked.items():
        if isinstance(value, Secret):
            assert isinstance(kept["__inputs"][key], Secret)
            assert isinstance(kept[key], Secret)


class CountingApi(Api):
    """An API server that lists a group once it is allowed to."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.allowed = threading.Event()

    def look(self) -> None:
        self.asked.append("/version")

    def find(self, path: str) -> dict[str, Any]:
        self.asked.append(path)
        assert self.allowed.wait(SECONDS)
        return {"resources": [{"kind": "Deployment", "name": "deployments", "namespaced": True}]}


def test_a_group_is_asked_for_once_by_many_at_once() -> None:
    api = CountingApi()
    cluster = Cluster(api)
    with ThreadPoolExecutor(16) as pool:
        found = [pool.submit(cluster.resource, Kind("apps", "v1", "Deployment")) for _ in range(16)]
        api.allowed.set()
        assert {each.result() for each in found} == {Resource("deployments", True)}
    assert api.asked == ["/version", "/apis/apps/v1"]
    assert cluster.path(Kind("apps", "v1", "Deployment"), "", "web") == "/apis/apps/v1/namespaces/default/deployments/web"
