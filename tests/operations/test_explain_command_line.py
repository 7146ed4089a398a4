"""The exit codes of `explain` where there is nothing to explain: none of them is the one of a failure that was explained."""

from collections.abc import Callable
from typing import Any

import pytest

from azure_gpu_operations.__main__ import main
from azure_gpu_operations.explain import command
from azure_gpu_operations.stack import EngineError
from azure_gpu_operations.stack_view import StackView
from tests.support import web
from tests.support.embedded import SUBSCRIPTION

JOB = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/g/providers/Microsoft.App/jobs/x"


def test_a_stack_that_is_not_there_is_a_wrong_command_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def view(stack: object) -> StackView:
        raise EngineError("there is no stack dev")

    monkeypatch.setattr(command, "view", view)
    assert main(["explain", "train", "--stack", "dev"]) == 2
    assert capsys.readouterr().err == "error: there is no stack dev\n"


@pytest.mark.slow
def test_where_azure_does_not_answer_nothing_is_explained(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARM_METADATA_HOSTNAME", "localhost:1")
    with web.answered(web.unreachable):
        assert main(["explain", JOB]) == 3
    said = capsys.readouterr().err
    assert said == "error: the cloud at https://localhost:1 doesn't answer; `make up` starts the embedded Azure\n"


GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/nobodys"
WORKSPACE = f"{GROUP}/providers/Microsoft.MachineLearningServices/workspaces/w"


@pytest.mark.parametrize(
    "resource_id",
    [
        f"{GROUP}/providers/Microsoft.ContainerInstance/containerGroups/nobody",
        f"{GROUP}/providers/Microsoft.Compute/virtualMachines/nobody",
        f"{WORKSPACE}/onlineEndpoints/nobody",
        f"{WORKSPACE}/onlineEndpoints/nobody/deployments/nobody",
        f"{WORKSPACE}/computes/nobody",
        f"{WORKSPACE}/jobs/nobody",
    ],
)
@pytest.mark.usefixtures("signed_in")
def test_what_was_never_asked_for_is_not_there(explain: Callable[[str], dict[str, Any]], resource_id: str) -> None:
    assert explain(resource_id)["cause"] == "NOT_THERE"


@pytest.mark.usefixtures("signed_in")
def test_an_id_of_something_else_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", f"{GROUP}/providers/Microsoft.Storage/storageAccounts/x"]) == 2
    assert "isn't the id of a container group, a job, an execution, a pool or a cluster" in capsys.readouterr().err
    assert main(["explain", "train"]) == 2
    assert "is a name and requires --stack" in capsys.readouterr().err
