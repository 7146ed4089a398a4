"""The plugin where nothing runs: what is declared is recorded, and nobody is asked."""

import pytest

from azure_gpu.catalog.services.groups import JOBSET
from localazure.kubernetes_plugin import releases
from localazure.kubernetes_plugin.recording import Recorder
from tests.localazure.kubernetes_plugin.conftest import CONFIG_MAP, KubernetesEngine, kubeconfig, plugin, with_kind

INPUTS = {"metadata": {"name": "settings", "namespace": "team"}, "data": {"a": "1"}}
SECRET, JOB = "kubernetes:core/v1:Secret", "kubernetes:batch/v1:Job"
QUEUE = "kubernetes:kueue.x-k8s.io/v1beta1:LocalQueue"


@pytest.fixture
def engine() -> KubernetesEngine:
    found = plugin(kind=Recorder)
    found.configure(kubeconfig=kubeconfig())  # of a server that doesn't answer
    return found


def test_an_object_is_its_inputs(engine: KubernetesEngine) -> None:
    made = engine.made(CONFIG_MAP, INPUTS)
    assert made.id == "team/settings"
    shown = {key: value for key, value in made.state.items() if not key.startswith("__")}
    assert shown == with_kind(CONFIG_MAP, INPUTS)
    assert made.state["__inputs"] == with_kind(CONFIG_MAP, INPUTS)
    assert made.diff(INPUTS).changes == made.diff(INPUTS).DIFF_NONE
    assert engine.lines.all == [], "that nobody is asked is no news"


def test_a_change_is_told_and_recorded(engine: KubernetesEngine) -> None:
    made = engine.made(CONFIG_MAP, INPUTS)
    manager = made.state["__fieldManager"]
    assert list(made.diff({**INPUTS, "data": {"a": "2"}}).replaces) == ["data.a"]
    labelled = {**INPUTS, "metadata": {**INPUTS["metadata"], "labels": {"b": "c"}}}
    assert not made.diff(labelled).replaces
    assert made.update(labelled)["metadata"]["labels"] == {"b": "c"}
    assert (made.state["__fieldManager"], made.state["__initialApiVersion"]) == (manager, "v1")
    assert made.diff(labelled).changes == made.diff(labelled).DIFF_NONE


def test_a_refresh_finds_what_was_recorded_and_a_deletion_asks_nobody(engine: KubernetesEngine) -> None:
    made = engine.made(CONFIG_MAP, INPUTS)
    inputs, state = made.inputs, made.state
    assert made.refresh()
    assert (made.inputs, made.state) == (inputs, state)
    made.delete()


def test_what_would_be_imported_is_not_there(engine: KubernetesEngine) -> None:
    assert engine.read(CONFIG_MAP, "team/settings", {}, {}).id == ""


def test_a_job_is_there_at_once_and_an_object_whose_kind_no_server_knows(engine: KubernetesEngine) -> None:
    pods = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}
    job = engine.made(JOB, {"metadata": {"name": "train", "namespace": "team"}, "spec": {"template": pods}})
    assert "status" not in job.state
    queue = engine.made(QUEUE, {"metadata": {"name": "gpus"}, "spec": {"clusterQueue": "all"}})
    assert queue.id == "default/gpus"
    assert queue.diff({"metadata": {"name": "gpus"}, "spec": {"clusterQueue": "some"}}).diffs == ["spec"]


def test_a_release_is_recorded_without_its_chart(engine: KubernetesEngine) -> None:
    asked = {"chart": JOBSET.address, "version": JOBSET.version, "name": "jobset", "namespace": JOBSET.namespace}
    made = engine.made(releases.TYPE, asked)
    assert made.id == "jobset-system/jobset"
    assert made.state["status"]["version"] == JOBSET.version
    assert made.diff(asked).changes == made.diff(asked).DIFF_NONE
    assert list(made.diff({**asked, "name": "other"}).replaces) == ["name"]
    assert made.update({**asked, "values": {"a": 1}})["values"] == {"a": 1}
