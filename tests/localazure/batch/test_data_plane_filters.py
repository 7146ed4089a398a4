"""$filter and $select of the data plane's lists."""

from typing import Any

import pytest

from localazure.batch.errors import BatchError
from localazure.batch.service import odata

TASK: dict[str, Any] = {
    "id": "Train-07",
    "state": "completed",
    "creationTime": "2026-11-21T10:00:00.123456Z",
    "executionInfo": {"exitCode": 3, "result": "failure", "endTime": "2026-11-21T10:05:00.000000Z"},
}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", True),
        ("state eq 'completed'", True),
        ("state eq 'active'", False),
        ("STATE EQ 'Completed'", True),
        ("state ne 'active'", True),
        ("state ne 'completed'", False),
        ("startswith(id, 'train')", True),
        ("startswith(id,'train-1')", False),
        ("executionInfo/exitCode ne 0", True),
        ("executionInfo/exitCode eq 3 and executionInfo/result eq 'Failure'", True),
        ("state eq 'completed' and executionInfo/exitCode eq 4", False),
        ("executionInfo/startTime ne '2020-01-01T00:00:00Z'", True),  # it never started
        ("id eq 'it''s'", False),
    ],
)
def test_a_filter_says_which_entries_are_wanted(text: str, wanted: bool) -> None:
    assert odata.parse(text, odata.TASKS)(TASK) is wanted


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("commandLine eq 'x'", "InvalidQueryParameterValue"),
        ("startswith(commandLine, 'a')", "InvalidQueryParameterValue"),
        ("state eq", "NotImplemented"),
        ("state eq 'active' and", "NotImplemented"),
        ("state eq 'active' or state eq 'completed'", "NotImplemented"),
        ("(state eq 'active')", "NotImplemented"),
        ("executionInfo/exitCode gt 3", "NotImplemented"),
        ("creationTime gt datetime'2026-11-21T09:59:59Z'", "NotImplemented"),
        ("state eq 'act", "NotImplemented"),
    ],
)
def test_anything_else_is_refused_by_name(text: str, code: str) -> None:
    with pytest.raises(BatchError) as caught:
        odata.parse(text, odata.TASKS)
    assert caught.value.code == code


def test_only_what_is_selected_is_answered() -> None:
    assert odata.selected(TASK, "id, state") == {"id": "Train-07", "state": "completed"}
    assert odata.selected(TASK, "id,executionInfo/exitCode,executionInfo/result,none") == {
        "id": "Train-07",
        "executionInfo": {"exitCode": 3, "result": "failure"},
    }
    assert odata.selected(TASK, "") == TASK
