"""A model's way by the commands of `operations`: made by a run, uploaded, registered, served, asked, replaced and taken back.

That what the workload `mnist` trains is served by `scoring` is in tests/workloads/test_digits.py and in test_example_blue_green.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.stack.configurations import with_ml
from tests.support.embedded import CHECKOUT, ServedAzure, until
from tests.support.ml_resources import upload
from tests.support.stack import ProgramStack, standing

pytestmark = pytest.mark.slow

IMAGE = "mcr.microsoft.com/azureml/minimal-py312-inference:latest"
JOB = {"gpu": "T4", "cpu": 4, "memory_in_gib": 16, "timeout_minutes": 10, "expires_after": "2026-11-30"}
TRAIN = "from pathlib import Path\nPath('made').mkdir()\nPath('made/saved_model.pb').write_text('graph')\n"
# Answers with how many bytes it got, and says how long that took. It loads for longer than lies between two looks at its log.
SCORE = b"""
import os
import time

from azureml_inference_server_http.api.aml_request import rawhttp
from azureml_inference_server_http.api.aml_response import AMLResponse


def init():
    print("the model is in", sorted(os.listdir(os.environ["AZUREML_MODEL_DIR"])), flush=True)
    time.sleep(4)


@rawhttp
def run(request):
    size = len(request.get_data())
    return AMLResponse({"scores": [[0.25, 0.75, float(size)]]}, 200, {"Server-Timing": "total;dur=1.5"}, json_str=True)
"""


def configuration() -> dict[str, Any]:
    """A job, and a workspace without a model: there is none yet."""
    light = {"version": "1", "image": IMAGE, "conda_file": "tests/support/light_scoring/conda.yml"}
    base = with_ml({"environments": {"light": light}, "computes": {}})
    parts = dict.fromkeys(["resource_group", "identity", "registry", "log_workspace", "storage"], "create")
    return {**base, "foundation": parts, "jobs": {"trainer": JOB}}


@pytest.fixture(scope="module")
def stack(azure: ServedAzure, engine_bin: Path) -> Iterator[ProgramStack]:
    with standing(azure, "models", configuration(), engine_bin=engine_bin) as made:
        yield made


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "model.py"
    file.write_text(TRAIN)
    return file


def deployment(model: str) -> dict[str, Any]:
    return {
        "model": model,
        "environment": "light",
        "code": {"code": "score", "script": "score.py"},
        "instance_type": "Standard_F2s_v2",
    }


def edit(stack: ProgramStack, change: Any) -> None:
    """Changes the stack's file as a user does, and keeps what commands have written into it."""
    told = yaml.safe_load(stack.config_file.read_text())
    change(told["config"])
    stack.config_file.write_text(yaml.safe_dump(told, sort_keys=False))


def said(stack: ProgramStack, command: str, *words: str, code: int = 0) -> str:
    done = stack.operations(command, *words)
    assert done.returncode == code, f"{command} {words}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def left_alone(stack: ProgramStack, script: Path) -> str:
    """The name of a run whose caller was killed when it had begun."""
    line = stack.line("run", str(script), "--on", "job", "--output", "made")
    caller = subprocess.Popen(line, cwd=CHECKOUT, env=stack.environment, stderr=subprocess.PIPE, text=True)
    assert caller.stderr is not None
    name = next(line for line in caller.stderr if "its files will be stored in" in line).split()[-1]
    caller.kill()
    caller.communicate()
    return name


def test_a_models_way_from_a_run_whose_caller_was_killed_to_answers(
    azure: ServedAzure, stack: ProgramStack, script: Path, tmp_path: Path
) -> None:
    name = left_alone(stack, script)
    until(lambda: stack.operations("logs", name, "--into", str(tmp_path)).returncode == 0, "the model is there")

    # The model is brought into the stack's storage, once, and into the stack's file.
    folder = tmp_path / "made"
    model = (str(folder), "--name", "digits", "--version")
    assert "digits-1" in said(stack, "upload", "model", *model, "1", "--write")
    assert "1 file, 1 KiB: 0 uploaded, 1 already there" in said(stack, "upload", "model", *model, "1", "--write")
    said(stack, "upload", "model", *model, "2", "--write")
    (folder / "saved_model.pb").write_bytes(b"other")
    assert "versions are immutable" in said(stack, "upload", "model", *model, "1", code=1)

    # It is registered and served, and what its server writes is shown while that is waited for.
    upload(azure, stack.outputs()["storage"].rsplit("/", 1)[-1], "code", "score/score.py", SCORE)
    place = azure.get(stack.outputs()["storage"], "2024-01-01").json()["properties"]["primaryEndpoints"]["blob"]

    def serve(config: dict[str, Any]) -> None:
        config["azure-gpu:ml_workspace"]["code"] = {"score": {"version": "1", "uri": f"{place}code/score"}}
        deployments = {"blue": deployment("digits-1"), "green": deployment("digits-2")}
        config["azure-gpu:ml_endpoints"] = {
            "digits": {
                "auth": "key",
                "deployments": deployments,
                "traffic": {"blue": 90, "green": 10},
                "expires_after": "2026-11-30",
            }
        }

    edit(stack, serve)
    told = said(stack, "up")
    assert any("digits/blue inference-server: " in line and "the model is in ['1']" in line for line in told.splitlines()), told

    # It is asked, and what it costs is listed.
    (proof,) = json.loads(said(stack, "prove", "--only", "endpoint", "--json"))["proofs"]
    assert (proof["passed"], proof["measured"][0]) == (True, "it answers")
    rows = {row["name"]: row["state"] for row in json.loads(said(stack, "running", "--json"))["running"]}
    assert rows["digits/blue"] == "1 instance of Standard_F2s_v2, 90 % of the traffic"
    assert "no failure" in said(stack, "explain", "digits")
