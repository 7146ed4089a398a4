"""Outputs of another stack as values of a part, read by the real engine."""

import pytest

from tests.stack.conftest import MakeStack
from tests.support.embedded import SUBSCRIPTION, ServedAzure

pytestmark = pytest.mark.slow


def test_a_part_takes_an_output_of_another_stack_in_the_program_and_in_the_commands(
    azure: ServedAzure, make_stack: MakeStack
) -> None:
    base = {"team": "base", "location": "eastus", "foundation": {"log_workspace": "create"}}
    first = make_stack(azure, base)
    first.create()
    first.update()
    group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{first.outputs()['resource_group']}"

    other = f"organization/azure-gpu/{first.name}"
    taking = {
        "team": "taking",
        "location": "eastus",
        "stacks": {"base": other},
        "foundation": {
            "resource_group": {"existing": f"/subscriptions/{SUBSCRIPTION}/resourceGroups/${{stacks.base.resource_group}}"},
            "identity": "create",
        },
    }
    second = make_stack(azure, taking)
    second.create()
    second.update()
    ids = [resource["id"] for resource in second.exported()["resources"] if "UserAssignedIdentity" in resource["type"]]
    assert [each.partition("/providers/")[0] for each in ids] == [group]
    shown = second.operations("preflight")
    assert "no problems found" in shown.stdout, shown.stdout + shown.stderr
    second.end()  # before the group that it is in


def test_a_stack_and_an_output_that_are_not_there_are_lines(azure: ServedAzure, make_stack: MakeStack) -> None:
    group = {"existing": f"/subscriptions/{SUBSCRIPTION}/resourceGroups/${{stacks.base.resource_group}}"}
    config = {
        "team": "t",
        "location": "eastus",
        "stacks": {"base": "organization/azure-gpu/none"},
        "foundation": {"resource_group": group},
    }
    stack = make_stack(azure, config)
    stack.create()
    done = stack.pulumi("preview")
    assert done.returncode != 0
    assert "stacks.base: the outputs of this stack can't be read" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
