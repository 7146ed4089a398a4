"""The exit codes of `explain` where there is nothing to explain: none of them is the one of a failure that was explained."""

import pytest

from azure_gpu_operations.__main__ import main
from azure_gpu_operations.explain import command
from azure_gpu_operations.stack import EngineError
from azure_gpu_operations.stack_view import StackView

JOB = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/g/providers/Microsoft.App/jobs/x"


def test_a_stack_that_is_not_there_is_a_wrong_command_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def view(stack: object) -> StackView:
        raise EngineError("there is no stack dev")

    monkeypatch.setattr(command, "view", view)
    assert main(["explain", "train", "--stack", "dev"]) == 2
    assert capsys.readouterr().err == "error: there is no stack dev\n"


def test_where_azure_does_not_answer_nothing_is_explained(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARM_METADATA_HOSTNAME", "localhost:1")  # where nothing listens
    assert main(["explain", JOB]) == 3
    said = capsys.readouterr().err
    assert said == "error: the cloud at https://localhost:1 doesn't answer; `make up` starts the embedded Azure\n"
