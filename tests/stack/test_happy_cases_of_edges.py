"""Edges on one device: the fourth document's jobs run with their environment and see what it names, and every happy case comes up
at the first try in rough weather, and then nothing is left to change.

The cluster is one of the embedded Azure's, with one node that has GPUs and nothing of the stack on it, as a device's is: without
a device plugin Kubernetes knows of no GPU. What a job sees is what its variables say, which is what the document is about.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import edge_device, happy_cases
from tests.support.edge_documents import COMPANION, FRAGMENT
from tests.support.embedded import ServedAzure, until
from tests.support.patience import SECONDS
from tests.support.stack import ProgramStack

pytestmark = pytest.mark.slow

PYTHON = "docker.io/library/python:3.11-slim"
SAYS = """
import json, os, shutil, subprocess
names = ["NVIDIA_VISIBLE_DEVICES", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "MODEL"]
listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout if shutil.which("nvidia-smi") else ""
gpus = [line for line in listed.splitlines() if line.startswith("GPU ")]
print(json.dumps({**{name: os.environ[name] for name in names if name in os.environ}, "gpus": len(gpus)}))
"""
JOB: dict[str, Any] = {"image": PYTHON, "command": ["python", "-c", SAYS]}


class Device:
    """A cluster with a kubeconfig, and kubectl on it."""

    def __init__(self, kubeconfig: str, folder: Path, programs: Path) -> None:
        self.kubeconfig = kubeconfig
        self.file = folder / "kubeconfig"
        self.file.write_text(kubeconfig)
        self.programs = programs

    def kubectl(self, *arguments: str) -> str:
        command = [str(self.programs / "kubectl"), "--kubeconfig", str(self.file), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def get(self, what: str) -> list[dict[str, Any]]:
        return json.loads(self.kubectl("get", what, "--namespace", "vision", "--output", "json"))["items"]

    def said_by(self, job: str) -> dict[str, Any]:
        """What the job wrote, once it has succeeded."""
        until(lambda: self.job(job)["status"].get("succeeded"), f"{job} succeeds")
        return json.loads(self.kubectl("logs", "--namespace", "vision", f"job/{job}"))

    def job(self, name: str) -> dict[str, Any]:
        return next(each for each in self.get("jobs") if each["metadata"]["name"] == name)


@pytest.fixture(scope="module")
def device(azure: ServedAzure, kubernetes_bin: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Device]:
    with edge_device.device(azure, "rg-edge-document") as kubeconfig:
        yield Device(kubeconfig, tmp_path_factory.mktemp("device"), kubernetes_bin)


@pytest.fixture
def edge(azure: ServedAzure, device: Device, engine_bin: Path, tmp_path: Path) -> Iterator[ProgramStack]:
    """A stack with the document's jobs: two on one GPU, one on the other, one on none, one of the companion's page."""
    (tmp_path / "deployment.yaml").write_text(FRAGMENT)
    (tmp_path / "job.yaml").write_text(COMPANION)
    jobs: dict[str, Any] = {
        "fifth": {**JOB, "deployment": str(tmp_path / "deployment.yaml"), "visible_devices": "0"},
        "beside": {**JOB, "visible_devices": "0", "active_thread_percentage": 80, "environment": {"MODEL": "resnet"}},
        "other": {**JOB, "visible_devices": "1"},
        "without": JOB,
        "cuda-sample1": {**JOB, "deployment": str(tmp_path / "job.yaml")},
    }
    config = {
        "team": "tests",
        "location": "eastus",
        "as_of": "2026-11-21",
        "edges": {
            "box": {
                "kubeconfig": device.kubeconfig,
                "namespace": "vision",
                "create_namespace": True,  # as a device's administrator does with New-HcsKubernetesNamespace
                "device": {"model": "Pro GPU", "gpu_count": 2},
                "sharing": {"strategy": "mps"},
                "jobs": jobs,
            }
        },
    }
    yield (stack := ProgramStack(azure, "edge-document", config, engine_bin=engine_bin))
    stack.down()


def test_the_documents_jobs_run_with_their_environment_and_leave_with_the_stack(edge: ProgramStack, device: Device) -> None:
    done = edge.up()
    assert done.returncode == 0, done.stdout + done.stderr
    assert edge.outputs()["namespaces"] == {"box": "vision"}

    seen = {name: device.said_by(name) for name in ("fifth", "beside", "other", "without", "cuda-sample1")}
    assert seen == {
        "fifth": {"NVIDIA_VISIBLE_DEVICES": "0", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "20", "gpus": 1},
        "beside": {"NVIDIA_VISIBLE_DEVICES": "0", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "80", "MODEL": "resnet", "gpus": 1},
        "other": {"NVIDIA_VISIBLE_DEVICES": "1", "gpus": 1},
        "without": {"NVIDIA_VISIBLE_DEVICES": "none", "gpus": 0},
        "cuda-sample1": {"NVIDIA_VISIBLE_DEVICES": "0", "gpus": 1},
    }
    pod = device.job("cuda-sample1")["spec"]["template"]["spec"]
    assert (pod["hostIPC"], pod["hostPID"], pod["restartPolicy"]) == (True, True, "Never")
    assert device.job("cuda-sample1")["spec"]["backoffLimit"] == 1

    assert edge.steps() == []  # a finished job is no change
    assert device.kubeconfig not in json.dumps(edge.exported())

    down = edge.down()
    assert down.returncode == 0, down.stdout + down.stderr
    assert "vision" not in device.kubectl("get", "namespaces")


def test_a_cluster_that_doesnt_answer_is_one_message_before_anything_is_created(
    azure: ServedAzure, device: Device, engine_bin: Path
) -> None:
    elsewhere = yaml.safe_load(device.kubeconfig)
    elsewhere["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    gone = {"kubeconfig": yaml.safe_dump(elsewhere), "namespace": "vision", "jobs": {"train": JOB}}
    config = {"team": "tests", "location": "eastus", "as_of": "2026-11-21", "edges": {"box": gone}}
    stack = ProgramStack(azure, "edge-gone", config, engine_bin=engine_bin)
    done = stack.up()
    assert done.returncode != 0
    assert "1 problem in the configuration, nothing was created" in done.stdout
    assert "edges.box.kubeconfig: https://127.0.0.1:1 doesn't answer" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


# Last, as it leaves on the device what serves GPUs.
@pytest.mark.parametrize("names", happy_cases.cases("edges"))
def test_happy_cases_come_up_at_the_first_try(
    names: list[str], azure: ServedAzure, engine_bin: Path, device: Device, tmp_path: Path
) -> None:
    happy_cases.come_up_and_stay(names, azure, engine_bin, tmp_path, device=device.kubeconfig)
