"""The commands of examples/batch-mnist/README.md, read out of it and run as they stand, in a copy of the checkout."""

import json
from pathlib import Path

import pytest

from azure_gpu.formats import task_file
from tests.support.embedded import CHECKOUT, ServedAzure
from tests.support.readme_commands import commands_in, copied, groups_left, login, walked

FOLDER = CHECKOUT / "examples" / "batch-mnist"
README = FOLDER / "README.md"


def test_the_file_of_rates_is_one_of_tasks() -> None:
    text = (FOLDER / "rates.yaml").read_text(encoding="utf-8")
    job, problems = task_file.read(text, "rates.yaml")
    assert problems == []
    assert job is not None
    assert [task.command for task in job.tasks] == [
        f"--steps 200 --learning-rate {rate}" for rate in ("0.0003", "0.001", "0.003")
    ]


# Four trainings in TensorFlow: by day test_run_on_batch runs files of tasks and fetches what they write, and `make up` trains on
# a pool.
@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.timeout(1500)
def test_the_commands_run_as_they_stand_and_leave_nothing(azure: ServedAzure, engine_bin: Path, tmp_path: Path) -> None:
    folder = copied(tmp_path / "clone", installed=True)
    commands = commands_in(README)
    outputs = walked(commands, folder, login(azure, engine_bin))
    single = next(output for command, output in zip(commands, outputs, strict=True) if command.endswith("-- --steps 200"))
    assert "Accuracy at step 0: " in single
    assert json.loads(single.splitlines()[-1])["workload"] == "mnist"
    logs = sorted((folder / "digits-runs").rglob("stdout.txt"))
    assert len(logs) == 3
    for log in logs:
        assert json.loads(log.read_text(encoding="utf-8").splitlines()[-1])["workload"] == "mnist"
    assert groups_left(azure, "digits") == []
