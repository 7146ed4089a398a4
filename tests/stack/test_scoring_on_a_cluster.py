"""The scoring server as a Deployment on a cluster, on the real engine: it comes up when its pods answer, scales, and is asked."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stack.configurations import with_cluster
from tests.support.embedded import ServedAzure
from tests.support.stack import ProgramStack
from tests.workloads.conftest import scoring_models, scoring_python

__all__ = ["scoring_models", "scoring_python"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
Kubectl = Callable[..., str]
# A pod here is told another port than it asks for, and a path from the root would be one of its own.
START = 'AZUREML_MODEL_DIR="/$MODEL" exec python serve.py --port "$PORT"'


@pytest.fixture(scope="module")
def stack(azure: ServedAzure, engine_bin: Path, kubernetes_bin: Path, scoring_models: Path) -> Iterator[ProgramStack]:
    """Programs share this machine's files, so that the model is where it was made; on Azure it is fetched or in the image."""
    service: dict[str, Any] = {
        "workload": "scoring",
        "command": ["/bin/sh", "-c", START],
        "environment": {"MODEL": str(scoring_models / "rows").removeprefix("/"), "PORT": "5001", "WORKER_COUNT": "1"},
        "gpus": 0,
        "cpu": 0.5,
        "autoscale": {"max": 2},
        "probes": {"period_seconds": 1},
    }
    said = with_cluster()
    said["foundation"]["registry"] = "create"
    said["image_source"] = f"{azure.url}/checkout.git#HEAD"
    said["clusters"]["shared"]["services"] = {"rows": service}
    made = ProgramStack(azure, "scoring", said, engine_bin=engine_bin)
    made.create()
    made.update()
    yield made
    made.end()


@pytest.fixture(scope="module")
def kubectl(stack: ProgramStack, kubernetes_bin: Path) -> Kubectl:
    group = stack.outputs()["clusters"]["shared"].split("/")[-1]
    found = sorted((stack.azure.state / "clusters").glob("*/admin.kubeconfig"), key=lambda file: file.stat().st_mtime)
    assert found, group

    def run(*arguments: str) -> str:
        command = [str(kubernetes_bin / "kubectl"), "--kubeconfig", str(found[-1]), "--namespace", "gpu-jobs", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout

    return run


def test_it_is_up_when_its_pods_answer_and_nothing_is_left_to_do(stack: ProgramStack, kubectl: Kubectl) -> None:
    deployment = json.loads(kubectl("get", "deployment", "rows", "--output", "json"))
    assert deployment["status"]["readyReplicas"] == 1
    assert stack.steps() == []


def test_it_has_a_budget_for_drains_and_an_autoscaler(kubectl: Kubectl) -> None:
    budget = json.loads(kubectl("get", "poddisruptionbudget", "rows", "--output", "json"))
    assert (budget["spec"]["maxUnavailable"], budget["status"]["expectedPods"]) == (1, 1)
    scaler = json.loads(kubectl("get", "horizontalpodautoscaler", "rows", "--output", "json"))
    assert (scaler["spec"]["minReplicas"], scaler["spec"]["maxReplicas"]) == (1, 2)
    assert scaler["spec"]["scaleTargetRef"]["name"] == "rows"


def test_a_pod_answers_with_its_scores(kubectl: Kubectl) -> None:
    asking = "import json,os,urllib.request as u; r=u.Request('http://127.0.0.1:'+os.environ['PORT']+'/score', json.dumps({'inputs': [[1, 2, 3]]}).encode(), {'Content-Type': 'application/json'}); print(u.urlopen(r).read().decode())"  # noqa: E501
    answered = json.loads(kubectl("exec", "deployment/rows", "--", "python", "-c", asking))
    assert answered["scores"] == [[2.0, 4.0, 6.0]]
