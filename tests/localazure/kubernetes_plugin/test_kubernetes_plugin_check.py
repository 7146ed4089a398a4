"""What the plugin fills in before it plans, what it refuses by name, and that secrets stay secrets on the way."""

import re

import grpc
import pytest
from pulumi.runtime.proto import provider_pb2

from localazure.kubernetes_plugin import objects, values
from localazure.plugin.wire import UNKNOWN, Secret
from tests.localazure.kubernetes_plugin.conftest import CONFIG_MAP, KubernetesEngine, checked_raw, kubeconfig, with_kind
from tests.localazure.plugin.conftest import failure
from tests.support.provider_calls import details_of

AUTONAMING = provider_pb2.CheckRequest.AutonamingOptions


def test_an_object_without_a_name_gets_one_from_its_logical_name_and_the_seed(offline: KubernetesEngine) -> None:
    first, _ = offline.check(CONFIG_MAP, with_kind(CONFIG_MAP, {}), name="settings")
    again, _ = offline.check(CONFIG_MAP, with_kind(CONFIG_MAP, {}), name="settings")
    assert re.fullmatch(r"settings-[0-9a-f]{8}", first["metadata"]["name"])
    assert first == again
    assert first["metadata"]["annotations"] == {"pulumi.com/autonamed": "true"}


def test_a_given_name_stays_and_an_automatic_one_is_kept(offline: KubernetesEngine) -> None:
    given, _ = offline.check(CONFIG_MAP, with_kind(CONFIG_MAP, {"metadata": {"name": "mine"}}))
    assert given["metadata"] == {"name": "mine", "namespace": "default"}
    first, _ = offline.check(CONFIG_MAP, with_kind(CONFIG_MAP, {}))
    later, _ = offline.check(CONFIG_MAP, with_kind(CONFIG_MAP, {"data": {"a": "1"}}), first)
    assert later["metadata"] == first["metadata"]


def test_the_engine_may_propose_names_or_forbid_automatic_ones(offline: KubernetesEngine) -> None:
    proposed = AUTONAMING(mode=AUTONAMING.PROPOSE, proposed_name="settings-of-ours")
    found, _ = offline.check(CONFIG_MAP, with_kind(CONFIG_MAP, {}), autonaming=proposed)
    assert found["metadata"]["name"] == "settings-of-ours"
    with pytest.raises(grpc.RpcError, match=r"autonaming is disabled, resource requires the \.metadata\.name field to be set"):
        offline.check(CONFIG_MAP, with_kind(CONFIG_MAP, {}), autonaming=AUTONAMING(mode=AUTONAMING.DISABLE))


def test_an_unknown_name_is_not_replaced_by_an_automatic_one(offline: KubernetesEngine) -> None:
    found, _ = offline.check(CONFIG_MAP, with_kind(CONFIG_MAP, {"metadata": {"name": UNKNOWN}}))
    assert found["metadata"] == {"name": UNKNOWN, "namespace": "default"}
    found, _ = offline.check(CONFIG_MAP, with_kind(CONFIG_MAP, {"metadata": UNKNOWN}))
    assert found["metadata"] == UNKNOWN


def test_an_object_without_a_namespace_is_in_the_providers(unconfigured: KubernetesEngine) -> None:
    unconfigured.configure(kubeconfig=kubeconfig(), namespace="team")
    found, _ = unconfigured.check(CONFIG_MAP, with_kind(CONFIG_MAP, {}))
    assert found["metadata"]["namespace"] == "team"


@pytest.mark.parametrize(
    "token",
    [
        "kubernetes:core/v1:Namespace",
        "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole",
        "kubernetes:node.k8s.io/v1:RuntimeClass",
    ],
)
def test_what_lives_in_no_namespace_gets_none(offline: KubernetesEngine, token: str) -> None:
    found, _ = offline.check(token, with_kind(token, {"metadata": {"name": "mine"}}))
    assert found["metadata"] == {"name": "mine"}


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ("kubernetes:core/v1:NamespacePatch", "a patch of an object that others own"),
        ("kubernetes:helm.sh/v3:Chart", "Helm"),
        ("kubernetes:helm.sh/v4:Chart", "Helm"),
        ("kubernetes:yaml/v2:ConfigGroup", "YAML files"),
        ("kubernetes:kustomize/v2:Directory", "Kustomize"),
        ("kubernetes:core/v1:PodList", "lists exist for YAML manifests"),
        ("kubernetes:apps/v1:DeploymentList", "cannot be created directly"),
    ],
)
def test_what_is_not_an_object_of_the_api_is_refused_by_name(offline: KubernetesEngine, token: str, words: str) -> None:
    refused = failure(offline.check, token, {"metadata": {"name": "x"}})
    assert f"'{token}'" in details_of(refused)
    assert words in details_of(refused)


def test_a_custom_kind_that_ends_with_patch_or_list_is_an_object(offline: KubernetesEngine) -> None:
    for token in ("kubernetes:example.com/v1:EnvoyPatch", "kubernetes:example.com/v1:AllowList"):
        found, problems = offline.check(token, with_kind(token, {"metadata": {"name": "x"}}))
        assert (found["kind"], problems) == (token.split(":")[-1], [])


def test_a_function_or_component_of_the_package_is_refused_by_name(offline: KubernetesEngine) -> None:
    with pytest.raises(grpc.RpcError, match="'kubernetes:yaml:decode' is not implemented by this stand-in"):
        offline.invoke("kubernetes:yaml:decode", text="a: b")


def test_a_generated_name_is_refused_as_server_side_apply_has_none(offline: KubernetesEngine) -> None:
    refused = failure(offline.check, CONFIG_MAP, with_kind(CONFIG_MAP, {"metadata": {"generateName": "x-"}}))
    assert details_of(refused) == "the `.metadata.generateName` field is not supported in Server-Side Apply mode"


def test_kubectls_copy_of_an_object_is_as_secret_as_the_object() -> None:
    copy = {objects.LAST_APPLIED: '{"data": {"t": "aHVzaA=="}}'}
    metadata = {"name": "token", "annotations": copy}
    live = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"t": "aHVzaA=="}}
    kept = values.outputs({"apiVersion": "v1", "kind": "Secret"}, live, "m")
    assert kept["metadata"] == {"name": "token", "annotations": Secret(copy)}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"t": "hush"}}
    assert values.outputs({"data": {"t": Secret("hush")}}, config, "m")["metadata"]["annotations"] == Secret(copy)
    assert values.outputs({"data": {"t": "hush"}}, config, "m")["metadata"]["annotations"] == copy


def test_secrets_of_the_program_stay_marked_where_they_were(offline: KubernetesEngine) -> None:
    found = checked_raw(offline, CONFIG_MAP, {"data": {"open": "1", "closed": Secret("hush")}})
    assert found["data"] == {"open": "1", "closed": Secret("hush")}
    pod = "kubernetes:core/v1:Pod"
    containers = [{"name": "c", "image": "x", "env": [{"name": "T", "value": Secret("hush")}]}]
    assert checked_raw(offline, pod, {"spec": {"containers": containers}})["spec"]["containers"] == Secret(
        [{"name": "c", "image": "x", "env": [{"name": "T", "value": "hush"}]}]
    )


def test_what_a_secret_holds_is_secret_though_the_program_did_not_say_so(offline: KubernetesEngine) -> None:
    found = checked_raw(offline, "kubernetes:core/v1:Secret", {"stringData": {"t": "hush"}, "data": {"u": "aHVzaA=="}})
    assert found["data"] == Secret({"t": "aHVzaA==", "u": "aHVzaA=="}), "as the server keeps it"
    assert "stringData" not in found
