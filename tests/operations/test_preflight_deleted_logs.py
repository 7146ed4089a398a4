"""What preflight says of a log workspace whose name a deleted one still has."""

from typing import Any

import pytest

from azure_gpu_operations.preflight.deleted_logs import rows
from azure_gpu_operations.preflight.fetching import Outcome
from azure_gpu_operations.preflight.lists import ListKey, ListKind
from azure_gpu_operations.preflight.rows import Answer

ID = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.OperationalInsights/workspaces/logs"


def found(deleted: Any, workspace: str = ID) -> list[tuple[str, Answer]]:
    outcomes = {ListKey(ListKind.DELETED_LOGS): Outcome(deleted)}
    return [(row.message, row.answer) for row in rows(workspace, "westeurope", outcomes)]


@pytest.mark.parametrize(
    ("deleted", "answer", "message"),
    [
        ({ID.lower(): "northeurope"}, Answer.NAME_TAKEN, "a deleted workspace in northeurope reserves the name logs for 14 days"),
        ({ID.lower(): "westeurope"}, Answer.OK, "`up` restores it with its logs"),
        (None, Answer.UNKNOWN, "couldn't be read: deleted log workspaces"),
    ],
)
def test_a_deleted_workspace_comes_back_in_its_own_region_alone(deleted: Any, answer: Answer, message: str) -> None:
    [(said, told)] = found(deleted)
    assert told is answer
    assert message in said


def test_other_names_and_stacks_without_a_workspace_of_their_own_are_not_spoken_of() -> None:
    assert found({ID.lower().replace("rg", "other"): "northeurope"}) == []
    assert found({ID.lower(): "northeurope"}, workspace="") == []


def test_the_way_out_names_group_and_workspace() -> None:
    [row] = rows(ID, "westeurope", {ListKey(ListKind.DELETED_LOGS): Outcome({ID.lower(): "northeurope"})})
    assert "restore it in northeurope" in row.fix
    assert "recover --resource-group rg --workspace-name logs" in row.fix
