"""Releases of Helm charts by the plugin: what is refused, what another name or namespace means, and which ports are reachable."""

import json
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from azure_gpu.catalog.services import groups
from localazure.kubernetes.programs import GROUPS_TOLD
from localazure.kubernetes_plugin import releases
from localazure.kubernetes_plugin.waiter import Waiting
from localazure.plugin.diff import Kind
from tests.localazure.kubernetes_plugin.conftest import KubernetesEngine
from tests.support.fake_kubernetes import FakeKubernetes

CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "d")
ACCOUNT, DEPLOYMENT = ("v1", "ServiceAccount", "a"), ("apps/v1", "Deployment", "b")
JOBSET = {"chart": groups.JOBSET.address, "version": groups.JOBSET.version}


@pytest.fixture
def built(tmp_path: Path) -> dict[str, str]:
    """An environment whose charts are there."""
    folder = tmp_path / "groups"
    for chart in (groups.JOBSET, groups.KUEUE):
        (folder / f"{chart.namespace.removesuffix('-system')}-{chart.version}").mkdir(parents=True)
    told = tmp_path / "groups-bin"
    told.write_text(f"{folder}\n")
    return {GROUPS_TOLD: str(told)}


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({**JOBSET, "version": "0.9.0"}, "isn't there in version 0.9.0, but in 0.10.1"),
        ({**JOBSET, "chart": "oci://registry.example.com/other"}, "the chart 'oci://registry.example.com/other' isn't there"),
        ({**JOBSET, "postrender": "sed"}, "the property 'postrender' of a release is not implemented here"),
    ],
)
def test_what_is_not_there_is_refused_by_name(built: dict[str, str], inputs: dict[str, Any], said: str) -> None:
    (problem,) = releases.problems(inputs, built)
    assert said in problem


def test_the_charts_of_the_library_are_there(built: dict[str, str]) -> None:
    for chart in (groups.JOBSET, groups.KUEUE):
        assert releases.problems({"chart": chart.address, "version": chart.version}, built) == []


def test_a_machine_without_a_build_is_told_what_makes_one(tmp_path: Path) -> None:
    (problem,) = releases.problems(JOBSET, {GROUPS_TOLD: str(tmp_path / "groups-bin")})
    assert "`make groups` makes one" in problem


def test_another_name_is_another_release_and_another_value_is_not() -> None:
    old = {**JOBSET, "name": "jobset", "namespace": "a", "values": {"x": 1}}
    assert releases.changed(old, old).changes == ()
    renamed = releases.changed(old, {**old, "namespace": "b"})
    assert [(each.path, each.kind, each.replaces) for each in renamed.changes] == [("namespace", Kind.UPDATE, True)]
    assert renamed.delete_before_replace
    upgraded = releases.changed(old, {**old, "values": {"x": 2}})
    assert [(each.path, each.replaces) for each in upgraded.changes] == [("values.x", False)]


def test_a_release_without_a_name_is_given_one_that_stays() -> None:
    named = releases.checked(dict(JOBSET), {}, "own", b"seed", "default")
    assert named["name"].startswith("own-")
    assert releases.checked(dict(JOBSET), named, "own", b"other", "default")["name"] == named["name"]
    assert named["namespace"] == "default"


def test_ports_that_are_roots_are_moved_and_webhooks_with_them() -> None:
    service = {"kind": "Service", "spec": {"ports": [{"port": 443, "targetPort": "webhook"}, {"port": 8443}]}}
    moved = releases._reachable(service, 1024)
    assert [port["port"] for port in moved["spec"]["ports"]] == [10443, 8443]
    webhook = {"kind": "ValidatingWebhookConfiguration", "webhooks": [{"clientConfig": {"service": {"name": "s"}}}]}
    assert releases._reachable(webhook, 1024)["webhooks"][0]["clientConfig"]["service"]["port"] == 10443
    kept = {"kind": "Service", "spec": {"ports": [{"port": 443}]}}
    assert releases._reachable(kept, 0)["spec"]["ports"] == [{"port": 443}]


@pytest.mark.parametrize(
    ("rendered", "left"),
    [
        ([CRD, ACCOUNT, DEPLOYMENT], ["d"]),
        ([ACCOUNT, CRD, DEPLOYMENT], []),
    ],
    ids=["of crds/", "of its templates"],
)
def test_a_release_takes_all_with_it_but_the_definitions_that_helm_keeps(
    built: dict[str, str], server: FakeKubernetes, online: KubernetesEngine, rendered: list[tuple[str, str, str]], left: list[str]
) -> None:
    lines = [json.dumps({"apiVersion": group, "kind": kind, "metadata": {"name": name}}) for group, kind, name in rendered]
    done = subprocess.CompletedProcess("charts", 0, "\n".join(lines), "")
    waiting = Waiting(online.provider._cluster, threading.Event(), lambda *_: None)
    release = releases.Releases(waiting, built, lambda *_, **__: done)
    state = release.apply("urn", {**JOBSET, "name": "r", "namespace": "n", "skipAwait": True})
    names = [name for _, _, name in rendered]
    assert [path.rpartition("/")[2] for path in server.objects] == names
    release.delete(state.outputs)
    assert [path.rpartition("/")[2] for path in server.objects] == left
    gone = [asked.path.rpartition("/")[2] for asked in server.sent("DELETE")]
    assert gone == [name for name in reversed(names) if name not in left]
