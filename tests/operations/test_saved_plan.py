"""A saved plan: what a file of one is, and for which state it was made."""

import json
from pathlib import Path

import pytest

from azure_gpu_operations import __main__ as command, saved_plan
from azure_gpu_operations.exit_codes import WRONG_COMMAND_LINE
from azure_gpu_operations.saved_plan import PlanError, StalePlanError

DEPLOYMENT = {"manifest": {"time": "2026-11-25T00:00:00Z"}, "resources": [{"urn": "a"}]}


def saved(folder: Path) -> Path:
    (folder / "engine.json").write_text('{"resourcePlans": {}}')
    saved_plan.write(folder / "plan.json", "dev", saved_plan.state_of(DEPLOYMENT), folder / "engine.json")
    return folder / "plan.json"


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    plan = saved_plan.read(saved(tmp_path), "dev")
    assert plan.engine == {"resourcePlans": {}}
    saved_plan.refuse_stale(plan, DEPLOYMENT)
    for other in ({**DEPLOYMENT, "resources": []}, {**DEPLOYMENT, "manifest": {"time": "2026-11-25T00:00:01Z"}}, {}):
        with pytest.raises(StalePlanError, match="stack dev has been updated since the plan was made"):
            saved_plan.refuse_stale(plan, other)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "isn't a saved plan: not JSON"),
        ("[]", "isn't a saved plan of format 1"),
        (json.dumps({"form": 2, "stack": "dev", "state": "", "plan": {}}), "isn't a saved plan of format 1"),
        (json.dumps({"form": 1, "stack": "dev", "state": "", "plan": []}), "isn't a saved plan of format 1"),
        (json.dumps({"form": 1, "stack": "another", "state": "", "plan": {}}), "is a plan for stack another, not dev"),
        (None, "can't be read: No such file or directory"),
    ],
)
def test_a_file_that_is_no_plan_of_the_stack_is_refused_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, told: str
) -> None:
    file = tmp_path / "plan.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(PlanError, match=told):
        saved_plan.read(file, "dev")
    code = command.main(["up", "--stack", "dev", "--config-folder", str(tmp_path), "--plan", str(file)])
    said = capsys.readouterr().err
    assert (code, told in said, said.count("\n")) == (WRONG_COMMAND_LINE, True, 1)


def test_the_same_state_is_the_same_however_its_secrets_are_encrypted_now() -> None:
    def deployment(ciphertext: str, time: str) -> dict[str, object]:
        return {"manifest": {"time": time}, "resources": [{"inputs": {"password": {"ciphertext": ciphertext}}}]}

    assert saved_plan.state_of(deployment("v1:a", "1")) == saved_plan.state_of(deployment("v1:b", "1"))
    assert saved_plan.state_of(deployment("v1:a", "1")) != saved_plan.state_of(deployment("v1:a", "2"))
