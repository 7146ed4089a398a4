"""What a change means: nothing, an update, or a replacement, by the real provider's table."""

import pytest

from localazure.kubernetes_plugin.values import live_inputs
from localazure.plugin.wire import UNKNOWN
from tests.localazure.kubernetes_plugin.conftest import CONFIG_MAP, KubernetesEngine, with_kind
from tests.support.tables import rows_of

CORE = "kubernetes:core/v1:"
AUTONAMED = {"name": "thing-0a1b2c3d", "namespace": "default", "annotations": {"pulumi.com/autonamed": "true"}}
GIVEN = {"name": "thing", "namespace": "default"}


def difference(
    engine: KubernetesEngine, token: str, old: dict, new: dict, metadata: dict = GIVEN
) -> tuple[set[str], list[str], bool]:
    """The paths that differ, those that replace, and whether the old object goes first."""
    before, after = (with_kind(token, {"metadata": metadata, **each}) for each in (old, new))
    found = engine.diff(token, before, after, {**before, "__inputs": before})
    return set(found.detailedDiff), list(found.replaces), found.deleteBeforeReplace


REPLACING = rows_of(__file__, "what_the_server_would_not_change_replaces")


@pytest.mark.parametrize(("kind", "old", "new", "replaced"), REPLACING, ids=[f"{row[0]} {row[-1]}" for row in REPLACING])
def test_what_the_server_would_not_change_replaces(
    offline: KubernetesEngine, kind: str, old: dict, new: dict, replaced: str
) -> None:
    _, found, first = difference(offline, f"kubernetes:{kind}", old, new)
    assert replaced in found
    assert first, "the name was given by hand, so both can't be there at once"


@pytest.mark.parametrize(("kind", "old", "new", "path"), rows_of(__file__, "everything_else_is_an_update"))
def test_everything_else_is_an_update(offline: KubernetesEngine, kind: str, old: dict, new: dict, path: str) -> None:
    assert difference(offline, f"kubernetes:{kind}", old, new) == ({path}, [], False)


@pytest.mark.parametrize("field", ["name", "namespace"])
def test_another_name_or_namespace_is_another_object(offline: KubernetesEngine, field: str) -> None:
    new = {"metadata": {**GIVEN, field: "other"}}
    _, replaced, first = difference(offline, CONFIG_MAP, {}, new)
    assert (replaced, first) == ([f"metadata.{field}"], False), "the new one may be made before the old one goes"


def test_an_autonamed_object_is_replaced_beside_the_old_one(offline: KubernetesEngine) -> None:
    _, replaced, first = difference(offline, CONFIG_MAP, {"data": {"a": "1"}}, {"data": {"a": "2"}}, AUTONAMED)
    assert (replaced, first) == (["data.a"], False)


def test_an_unknown_value_is_a_change(offline: KubernetesEngine) -> None:
    _, replaced, _ = difference(offline, CONFIG_MAP, {"data": {"a": "1"}}, {"data": UNKNOWN})
    assert replaced == ["data"]


def test_the_same_value_in_another_spelling_is_no_change(offline: KubernetesEngine) -> None:
    old = {"spec": {"hard": {"cpu": "500m", "memory": "1Gi", "requests.nvidia.com/gpu": "4"}}}
    new = {"spec": {"hard": {"cpu": 0.5, "memory": "1024Mi", "requests.nvidia.com/gpu": 4}}}
    assert difference(offline, CORE + "ResourceQuota", old, new)[0] == set()
    assert difference(offline, CORE + "Secret", {"stringData": {"a": "1"}}, {"data": {"a": "MQ=="}})[0] == set()
    assert difference(offline, CONFIG_MAP, {"metadata": {"name": "thing"}}, {})[0] == set(), "no namespace is default"


def test_what_others_added_to_a_live_object_is_not_the_programs() -> None:
    inputs = {
        "spec": {
            "hostNetwork": False,
            "containers": [{"name": "b", "args": [], "resources": {"requests": {"cpu": 0.5}}}],
            "tolerations": [{"key": "sku"}],
        }
    }
    live = {
        "spec": {
            "containers": [
                {"name": "injected", "image": "x"},
                {"name": "b", "image": "y", "resources": {"requests": {"cpu": "500m"}}},
            ],
            "tolerations": [{"key": "sku"}, {"key": "node.kubernetes.io/not-ready"}],
            "dnsPolicy": "ClusterFirst",
        },
        "status": {},
    }
    assert live_inputs(live, inputs) == inputs


def test_what_others_changed_in_a_live_object_is_seen() -> None:
    inputs = {"spec": {"replicas": 1, "paused": True, "selector": {"app": "x"}}}
    assert live_inputs({"spec": {"replicas": 3, "selector": {"app": "y"}}}, inputs) == {
        "spec": {"replicas": 3, "selector": {"app": "y"}}
    }
