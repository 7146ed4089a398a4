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
        ("(state eq 'active')", False),
        ("state ne 'active'", True),
        ("STATE EQ 'Completed'", True),
        ("id eq 'train-07'", True),
        ("startswith(id, 'train')", True),
        ("startswith(id,'train-1')", False),
        ("state eq 'active' or executionInfo/exitCode ne 0", True),
        ("state eq 'completed' and executionInfo/exitCode gt 3", False),
        ("state eq 'active' and state eq 'active' or id eq 'train-07'", True),
        ("state eq 'active' and (state eq 'active' or id eq 'train-07')", False),
        ("executionInfo/exitCode ge 3", True),
        ("executionInfo/result eq 'Failure'", True),
        ("creationTime gt datetime'2026-11-21T09:59:59Z'", True),
        ("creationTime lt DateTime'2026-11-21T09:59:59Z'", False),
        ("creationTime ge 2026-11-21T10:00:00Z", True),
        ("executionInfo/startTime gt datetime'2020-01-01T00:00:00Z'", False),  # it never started
        ("executionInfo/startTime ne datetime'2020-01-01T00:00:00Z'", True),
        ("id eq 'it''s'", False),
    ],
)
def test_a_filter_says_which_entries_are_wanted(text: str, wanted: bool) -> None:
    assert odata.parse(text, odata.TASKS)(TASK) is wanted


@pytest.mark.parametrize(
    "text",
    [
        "state",
        "state eq",
        "state eq active",
        "state lt 'active'",
        "commandLine eq 'x'",
        "startswith(state, 'a')",
        "startswith(id 'a')",
        "state eq 'active' and",
        "state eq 'active' xor state eq 'active'",
        "(state eq 'active'",
        "state eq 'active')",
        "executionInfo/exitCode eq 'three'",
        "creationTime gt 'yesterday'",
        "not state eq 'active'",
        "state eq 'act",
        "(" * 200 + "state eq 'active'" + ")" * 200,
        "'literal' eq state",
    ],
)
def test_anything_else_is_refused_by_name(text: str) -> None:
    with pytest.raises(BatchError) as caught:
        odata.parse(text, odata.TASKS)
    assert caught.value.status == 400
    assert caught.value.code == "InvalidQueryParameterValue"
    assert caught.value.values["QueryParameterName"] == "$filter"
    assert caught.value.values["Reason"]


def test_only_what_is_selected_is_answered() -> None:
    assert odata.selected(TASK, "id, state") == {"id": "Train-07", "state": "completed"}
    assert odata.selected(TASK, "id,executionInfo/exitCode,executionInfo/result,none") == {
        "id": "Train-07",
        "executionInfo": {"exitCode": 3, "result": "failure"},
    }
    assert odata.selected(TASK, "") == TASK
