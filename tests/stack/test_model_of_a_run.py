"""A model that a run on a job has trained: registered, and behind the same stack's endpoint, also after its caller was killed."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from azure_gpu.shared.installation import WORKLOADS
from tests.support.embedded import CHECKOUT, ServedAzure, until
from tests.support.stack import ProgramStack

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
SECONDS = 240
API_VERSION = "2025-12-01"
JOB = {"gpu": "T4", "cpu": 4, "memory_in_gib": 16, "timeout_minutes": 10, "expires_after": "2026-11-30"}
TRAIN = ("run", "mnist", "--on", "job", "--output", "output/saved_model", "--", "--steps", "300", "--min-accuracy", "0.9")
SAMPLES = [WORKLOADS / "digits" / "samples" / f"{digit}.png" for digit in range(10)]


def configuration(azure: ServedAzure) -> dict[str, Any]:
    """A job, and an endpoint without a deployment: there is no model yet."""
    return {
        "team": "tests",
        "location": "eastus",
        "as_of": "2026-11-21",
        "foundation": dict.fromkeys(["resource_group", "identity", "registry", "log_workspace", "storage"], "create"),
        "image_source": f"{azure.url}/checkout.git#HEAD",
        "ml_workspace": {"environments": {"server": {"workload": "scoring"}}},
        "ml_endpoints": {"digits": {"auth": "key", "deployments": {}, "expires_after": "2026-11-30"}},
        "jobs": {"trainer": JOB},
    }


@pytest.fixture(scope="module")
def stack(azure: ServedAzure, engine_bin: Path) -> Iterator[ProgramStack]:
    made = ProgramStack(azure, "trained", configuration(azure), engine_bin=engine_bin)
    made.create()
    done = made.operations("up")
    assert done.returncode == 0, done.stdout + done.stderr
    yield made
    made.end()


def models(stack: ProgramStack) -> dict[str, Any]:
    """Those of the stack's file."""
    return yaml.safe_load(stack.config_file.read_text())["config"]["azure-gpu:ml_workspace"].get("models") or {}


def test_a_run_that_went_well_leaves_a_model_in_the_stacks_file(stack: ProgramStack, tmp_path: Path) -> None:
    script = tmp_path / "model.py"
    script.write_text("from pathlib import Path\nPath('made').mkdir()\nPath('made/saved_model.pb').write_text('graph')\n")
    done = stack.operations("run", str(script), "--on", "job", "--output", "made", "--model", "trained:1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert models(stack)["trained-1"] == {"model_name": "trained", "version": "1", "path": "trained/1"}
    assert f"the model trained, version 1: python -m operations up --stack {stack.name} registers it" in done.stderr


def test_a_run_that_left_no_model_says_so(stack: ProgramStack, tmp_path: Path) -> None:
    script = tmp_path / "nothing.py"
    script.write_text("open('note.txt', 'w').write('nothing')\n")
    done = stack.operations("run", str(script), "--on", "job", "--output", "note.txt", "--model", "none")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "error: the run's output contains no SavedModel; to fetch it: python -m operations logs run-nothing-" in done.stderr


def test_a_model_whose_caller_was_killed_is_fetched_registered_and_answers(
    azure: ServedAzure, stack: ProgramStack, tmp_path: Path
) -> None:
    process = subprocess.Popen(
        stack.line(*TRAIN), cwd=CHECKOUT, env=stack.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    name = next(line for line in process.stderr if "its files will be stored in" in line).split()[-1]
    process.kill()
    process.communicate()
    until(lambda: stack.operations("logs", name, "--into", str(tmp_path)).returncode == 0, "the model is there", SECONDS)
    folder = tmp_path / "output" / "saved_model"
    done = stack.operations("upload", "model", str(folder), "--name", "trained", "--version", "2", "--write")
    assert done.returncode == 0, done.stdout + done.stderr

    content = yaml.safe_load(stack.config_file.read_text())
    blue = {"model": "trained-2", "environment": "server", "instance_type": "Standard_NC4as_T4_v3"}
    content["config"]["azure-gpu:ml_endpoints"]["digits"]["deployments"] = {"blue": blue}
    stack.config_file.write_text(yaml.safe_dump(content, sort_keys=False))
    done = stack.operations("up")
    assert done.returncode == 0, done.stdout + done.stderr
    outputs = stack.outputs()
    deployed = azure.get(f"{outputs['endpoints']['digits']}/deployments/blue", API_VERSION).json()["properties"]
    assert deployed["model"].endswith("/models/trained/versions/2")
    key = azure.post(f"{outputs['endpoints']['digits']}/listKeys", API_VERSION).json()["primaryKey"]
    with azure.http(headers={"Authorization": f"Bearer {key}", "Content-Type": "image/png"}) as client:
        answers = [client.post(outputs["scoring_uris"]["digits"], content=file.read_bytes()) for file in SAMPLES]
    assert sum(told(answer) == digit for digit, answer in enumerate(answers)) >= 9


def told(answer: httpx.Response) -> int:
    assert answer.status_code == 200, answer.text
    [scores] = answer.json()["scores"]
    return scores.index(max(scores))
