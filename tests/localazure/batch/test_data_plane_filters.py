"""$filter and $select of the data plane's lists."""

from typing import Any

import pytest

from localazure.batch.errors import BatchError
from localazure.batch.service import odata
from tests.support.tables import of_table

TASK: dict[str, Any] = {
    "id": "Train-07",
    "state": "completed",
    "creationTime": "2026-11-21T10:00:00.123456Z",
    "executionInfo": {"exitCode": 3, "result": "failure", "endTime": "2026-11-21T10:05:00.000000Z"},
}


@of_table("text", "wanted")
def test_a_filter_says_which_entries_are_wanted(text: str, wanted: bool) -> None:
    assert odata.parse(text, odata.LISTS["tasks"])(TASK) is wanted


@of_table("text")
def test_anything_else_is_refused_by_name(text: str) -> None:
    with pytest.raises(BatchError) as caught:
        odata.parse(text, odata.LISTS["tasks"])
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
