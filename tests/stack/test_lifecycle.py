"""A stack's life on the real engine: up, nothing left to change, an edit, down. What Azure really needs is what preview says."""

import pytest

from tests.stack.configurations import with_gpu_group
from tests.support.embedded import SUBSCRIPTION, ServedAzure
from tests.support.stack import ProgramStack


@pytest.mark.slow
def test_a_part_that_is_switched_off_goes_by_itself_and_is_told_from_one_that_is_not_there(
    azure: ServedAzure, shared: ProgramStack
) -> None:
    stack = shared
    stack.become(with_gpu_group(azure))
    off = with_gpu_group(azure)
    off["container_groups"]["adder"]["enabled"] = False
    stack.configure(off)
    # Nothing else runs the image that is built for it.
    parts = ("adder-group", "adder-logs", "foundation-build-vector_add", "foundation-purge")
    assert {(step.operation, step.name) for step in stack.changes()} == {("delete", part) for part in parts}
    explained = stack.operations("explain", "adder")
    assert explained.returncode == 2, explained.stdout
    assert f"container_groups.adder is switched off: enabled: false in Pulumi.{stack.name}.yaml" in explained.stderr
    stack.configure(with_gpu_group(azure))
    assert {(step.operation, step.name) for step in stack.steps()} == {("create", part) for part in ("adder", *parts)}
    stack.configure(off)  # which is up


@pytest.mark.slow
def test_what_somebody_changed_behind_the_stack_is_drift_until_it_is_repaired(azure: ServedAzure, shared: ProgramStack) -> None:
    stack = shared
    if not stack.there:
        stack.become({**with_gpu_group(azure), "container_groups": {}})
    group = azure.get(f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{stack.outputs()['resource_group']}", "2024-03-01").json()
    answer = azure.patch(group["id"], {"tags": {**group["tags"], "team": "somebody-else"}}, "2024-03-01")
    assert answer.status_code == 200, answer.text

    told = stack.operations("preview", "--drift")
    assert told.returncode == 3, told.stdout + told.stderr
    named = "foundation-resource-group (azure-native:resources:ResourceGroup): tags.team: "
    assert told.stdout.splitlines()[0] == f"{named}tests in the state, somebody-else in Azure"
    assert stack.pulumi("refresh", "--yes", "--skip-preview").returncode == 0
    stack.update()

    theirs = f"{group['id']}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/theirs"
    azure.made(theirs, {"location": group["location"]}, "2024-11-30")
    told = stack.operations("preview", "--drift")
    assert told.returncode == 0, told.stdout + told.stderr  # the tag is the stack's again
    assert f"userAssignedIdentities theirs, in resource group {group['name']}: not declared in this stack" in told.stdout
    assert stack.operations("preview", "--drift", "--undeclared").returncode == 3
    assert azure.delete(theirs, "2024-11-30").is_success
