"""`import` of a Kubernetes manifest: jobs of an edge or a cluster, without secrets, with what isn't known said."""

import json
from pathlib import Path

import pytest
import yaml

from azure_gpu_operations.__main__ import main
from azure_gpu_operations.importing.manifests import is_manifest
from tests.support.edge_documents import COMPANION, FRAGMENT

GPU = '            value: "0"\n'
JOB = COMPANION.replace(GPU, f"{GPU}          - {{name: API_TOKEN, value: hidden-value}}\n")


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        (JOB, True),
        (FRAGMENT, True),
        ("apiVersion: 2018-10-01\nlocation: eastus\nproperties: {containers: []}\ntype: x\n", False),
        ('{"$schema": "https://schema.management.azure.com/x", "resources": []}', False),
        ("pool_specification: {id: a}\n", False),
    ],
    ids=["a Job", "a piece of one", "a container group", "a template", "Batch Shipyard"],
)
def test_a_manifest_is_known_among_the_files_that_are_read(text: str, is_one: bool) -> None:
    assert is_manifest(text) is is_one


def test_a_job_comes_back_as_one_of_an_edge_without_its_secret(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "deployment.yaml"
    file.write_text(JOB)
    assert main(["import", str(file), "--name", "box"]) == 0
    out = capsys.readouterr().out
    assert "hidden-value" not in out
    assert "cuda-sample1: API_TOKEN" in out
    job = yaml.safe_load(out)["azure-gpu:edges"]["box"]["jobs"]["cuda-sample1"]
    assert (job["image"], job["visible_devices"], job["args"]) == ("nvidia/samples:nbody", "0", ["-benchmark", "-i=1000"])


def test_for_a_cluster_a_gpu_is_asked_for_and_the_devices_words_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "deployment.yaml"
    file.write_text(JOB)
    assert main(["import", str(file), "--for", "clusters", "--json"]) == 0
    job = json.loads(capsys.readouterr().out)["config"]["clusters"]["gpu"]["jobs"]["cuda-sample1"]
    assert job["gpus"] == 1
    assert not job.keys() & {"visible_devices", "host_ipc", "host_pid"}


def test_for_a_cluster_a_jobs_limit_says_how_many_gpus_it_gets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    container = "{name: c, image: 'a/b:1', resources: {limits: {nvidia.com/gpu: 2}}}"
    pod = f"spec: {{template: {{spec: {{restartPolicy: Never, containers: [{container}]}}}}}}"
    file = tmp_path / "deployment.yaml"
    file.write_text(f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: two}}\n{pod}\n")
    assert main(["import", str(file), "--for", "clusters", "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["config"]["clusters"]["gpu"]["jobs"]["two"]["gpus"] == 2
    assert "resources" not in said.err
    assert main(["import", str(file), "--for", "edges"]) == 0
    assert "NVIDIA_VISIBLE_DEVICES" in capsys.readouterr().err


def test_a_piece_with_its_comment_of_another_language_is_read_and_says_what_it_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "deployment.yaml"
    file.write_text(FRAGMENT)
    assert main(["import", str(file)]) == 0
    said = capsys.readouterr()
    edge = yaml.safe_load(said.out)["azure-gpu:edges"]["edge"]
    assert edge["sharing"] == {"strategy": "mps"}
    assert edge["jobs"] == {"job": {"active_thread_percentage": 20}}
    assert "the file names no image for job" in said.out
    assert "isn't a comment in YAML" in said.err


def test_a_manifest_without_a_job_takes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "deployment.yaml"
    file.write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: []}\n")
    assert main(["import", str(file)]) == 1
    assert "nothing was taken" in capsys.readouterr().err
