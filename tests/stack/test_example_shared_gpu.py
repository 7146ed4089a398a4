"""The commands of examples/shared-gpu/README.md, read out of it and run as they stand, in a copy of the checkout."""

import json
from pathlib import Path

import pytest
import yaml

from tests.support.embedded import CHECKOUT, ServedAzure
from tests.support.readme_commands import commands_in, copied, groups_left, login, walked

FOLDER = CHECKOUT / "examples" / "shared-gpu"
README = FOLDER / "README.md"


def test_as_many_jobs_are_started_as_share_one_gpu() -> None:
    started = [command for command in commands_in(README) if " operations run " in command]
    config = yaml.safe_load((FOLDER / "stack.yaml").read_text(encoding="utf-8"))["config"]
    [pool] = config["azure-gpu:clusters"]["shared"]["gpu_pools"].values()
    assert len(started) == pool["sharing"]["replicas"] == 4


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.usefixtures("kubernetes_bin")
def test_the_commands_run_as_they_stand_and_leave_nothing(azure: ServedAzure, engine_bin: Path, tmp_path: Path) -> None:
    commands = commands_in(README)
    outputs = walked(commands, copied(tmp_path / "clone", installed=True), login(azure, engine_bin))
    by_command = dict(zip(commands, outputs, strict=True))
    followed = next(said for command, said in by_command.items() if " run " in command and "--detach" not in command)
    assert "Accuracy at step 0: " in followed
    assert json.loads(followed.splitlines()[-1])["workload"] == "mnist"
    assert groups_left(azure, "shared") == []
