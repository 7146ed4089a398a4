"""A stack that a newer version has updated is refused by an older one, in one line, before anything else is read."""

import pytest

from azure_gpu.stack import written_by
from azure_gpu.stack.written_by import OUTPUT, check
from tests.components.recording import declare
from tests.support.tables import of_table

OUTPUTS = "pulumi:pulumi:readStackOutputs"


@of_table("written", "own", "is_newer")
def test_a_stack_of_a_newer_version_is_refused(written: str | None, own: str, is_newer: bool) -> None:
    problems = check({OUTPUT: written} if written is not None else {"resource_group": "g"}, own)
    assert [(each.path, each.value) for each in problems] == ([("stack", written)] if is_newer else [])
    assert all("\n" not in str(each) for each in problems)


@pytest.mark.parametrize(("answer", "count"), [({"outputs": {OUTPUT: "99.0"}}, 1), ({"outputs": {}}, 0), ("no backend", 0)])
def test_the_version_is_read_from_the_stacks_own_outputs(answer: object, count: int) -> None:
    found: list[object] = []
    recorded = declare(lambda: found.extend(written_by.newer()), lookups={OUTPUTS: answer})
    assert [token for token, _ in recorded.lookups] == [OUTPUTS]
    assert len(found) == count
