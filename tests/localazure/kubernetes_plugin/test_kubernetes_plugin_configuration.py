"""The provider's configuration: which kubeconfig, what makes another cluster of it, what is refused."""

import json
import os
from pathlib import Path
from typing import Any

import grpc
import pytest
from pulumi.runtime.proto import provider_pb2

from localazure.kubernetes_plugin.settings import read_settings
from localazure.plugin.wire import UNKNOWN, to_struct
from tests.localazure.kubernetes_plugin.conftest import CONFIG_MAP, KubernetesEngine, kubeconfig, with_kind
from tests.localazure.plugin.conftest import failure
from tests.support.provider_calls import details_of


def replaced_by(engine: KubernetesEngine, old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    request = provider_pb2.DiffRequest(olds=to_struct(old), old_inputs=to_struct(old), news=to_struct(new))
    return list(engine.stub.DiffConfig(request).replaces)


A, B = kubeconfig("https://a.example"), kubeconfig("https://b.example")


NAMED = {"kubeconfig": A, "clusterIdentifier": "1"}
CLUSTERS: dict[str, tuple[dict[str, str], dict[str, str], list[str]]] = {
    "nothing": ({"kubeconfig": A}, {"kubeconfig": A}, []),
    "another login": ({"kubeconfig": A}, {"kubeconfig": kubeconfig("https://a.example", token="new")}, []),
    "another server": ({"kubeconfig": A}, {"kubeconfig": B}, ["kubeconfig"]),
    "nobody knows": ({"kubeconfig": A}, {"kubeconfig": UNKNOWN}, ["kubeconfig"]),
    "another address of the same cluster": (NAMED, {**NAMED, "kubeconfig": B}, []),
    "an address not known yet of the same cluster": (NAMED, {**NAMED, "kubeconfig": UNKNOWN}, []),
    "another cluster": (NAMED, {**NAMED, "clusterIdentifier": "2"}, ["clusterIdentifier"]),
    "an identifier for the first time": ({"kubeconfig": A}, NAMED, []),
    "an identifier no more": (NAMED, {"kubeconfig": A}, []),
    "another namespace": ({"kubeconfig": A, "namespace": "a"}, {"kubeconfig": A, "namespace": "b"}, []),
}


@pytest.mark.parametrize(("old", "new", "replaced"), CLUSTERS.values(), ids=CLUSTERS)
def test_what_makes_another_cluster(unconfigured: KubernetesEngine, old: dict, new: dict, replaced: list[str]) -> None:
    assert replaced_by(unconfigured, old, new) == replaced


@pytest.mark.parametrize(
    ("configuration", "words"),
    [
        ({"enableServerSideApply": "false"}, "only applies server-side"),
        ({"renderYamlToDirectory": "out"}, "renderYamlToDirectory is not implemented"),
        ({"enableSecretMutable": "true"}, "enableSecretMutable is not implemented"),
        ({"skipUpdateUnreachable": "true"}, "skipUpdateUnreachable is not implemented"),
    ],
    ids=lambda each: next(iter(each)) if isinstance(each, dict) else "",
)
def test_what_the_plugin_does_not_do_is_said_when_it_is_configured(
    unconfigured: KubernetesEngine, configuration: dict[str, str], words: str
) -> None:
    with pytest.raises(grpc.RpcError, match=words):
        unconfigured.configure(**configuration)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("/no/such/file", "neither a file that exists nor a kubeconfig's text"),
        ("{", "the kubeconfig can't be read: line 1"),
        (json.dumps({"clusters": []}), "no current-context"),
        (json.dumps({"current-context": "x"}), 'context "x" does not exist'),
        (A.replace('"name": "c"', '"name": "d"'), 'cluster "c" does not exist'),
        (A.replace('"name": "u"', '"name": "v"'), 'user "u" does not exist'),
    ],
    ids=["no file", "no YAML", "no context", "context missing", "cluster missing", "user missing"],
)
def test_a_kubeconfig_that_cannot_be_read_makes_the_cluster_unreachable(
    unconfigured: KubernetesEngine, text: str, words: str
) -> None:
    unconfigured.configure(kubeconfig=text)
    checked, _ = unconfigured.check(CONFIG_MAP, with_kind(CONFIG_MAP, {}))
    failed = failure(unconfigured.create, CONFIG_MAP, checked)
    assert details_of(failed).startswith("configured Kubernetes cluster is unreachable: failed to parse kubeconfig data")
    assert words in details_of(failed)


def test_without_a_kubeconfig_that_of_the_machine_is_taken(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text(A.replace('"x"', '"one"'))
    second.write_text(B.replace('"x"', '"two"'))
    environment = {"KUBECONFIG": f"{first}{os.pathsep}{tmp_path / 'missing'}{os.pathsep}{second}"}
    access = read_settings({}, environment).access
    assert access is not None
    assert access.server == "https://a.example", "the first file's context wins"
    access = read_settings({"context": "two"}, environment).access
    assert access is not None
    # Both files call their cluster "c", and the first of a name wins, as with kubectl.
    assert access.server == "https://a.example"
    assert "no kubeconfig was given" in read_settings({}, {"HOME": str(tmp_path)}).problem


def test_the_contexts_namespace_is_the_default_and_the_providers_comes_first() -> None:
    text = A.replace('"user": "u"}', '"user": "u", "namespace": "team"}')
    assert read_settings({"kubeconfig": text}, {}).namespace == "team"
    assert read_settings({"kubeconfig": text, "namespace": "mine"}, {}).namespace == "mine"


@pytest.mark.parametrize(
    ("key", "variable"),
    [
        ("deleteUnreachable", "PULUMI_K8S_DELETE_UNREACHABLE"),
        ("upsertExistingObjects", "PULUMI_K8S_UPSERT_EXISTING_OBJECTS"),
    ],
)
def test_a_switch_is_read_from_the_configuration_then_from_the_environment(key: str, variable: str) -> None:
    assert key not in read_settings({"kubeconfig": A}, {}).on
    assert key in read_settings({"kubeconfig": A}, {variable: "true"}).on
    assert key not in read_settings({"kubeconfig": A, key: "false"}, {variable: "true"}).on
    assert key in read_settings({"kubeconfig": A, key: "True"}, {}).on
