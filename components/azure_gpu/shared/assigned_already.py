"""Finds role assignments that exist outside of the stack, which the stack then doesn't declare.

Azure rejects a second assignment of the same role to the same principal on the same scope with 409, and deleting the assignment
would take the role from everybody who relies on it. Assignments in the stack's own state stay declared under any name: earlier
versions left names to the provider.
"""

from collections.abc import Mapping
from typing import Any, cast

import pulumi

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.shared import arm_reads, own_state
from azure_gpu.shared.arm_reads import UnreadableError
from azure_gpu.shared.look_up import AskedBy
from azure_gpu.shared.role_of_identity import name_of

API_VERSION = "2022-04-01"


def outside_of_stack(role: str, scope: ArmId, principal_id: str, asked_by: AskedBy, own: str, *, of_stack_file: bool) -> bool:
    """Whether the assignment exists, neither under this stack's name nor in its state; False where that can't be determined.
    `own`: the subscription of the component. `of_stack_file`: whether the component is from a stack file, whose stack always has
    outputs."""
    if not asked_by.as_configured:
        return False  # the component has its own provider, whose login isn't known here
    try:
        found = arm_reads.get(
            f"{scope.text}/providers/{azure_types.ROLE_ASSIGNMENT.arm_type}",
            API_VERSION,
            asked_by.at(scope, own),
            # Microsoft Learn, role-based-access-control/role-assignments-list-rest: of groups that it is in, too.
            {"$filter": f"atScope() and assignedTo('{principal_id}')"},
        )
    except UnreadableError as error:
        pulumi.log.debug(f"the role assignments on {scope.text} can't be read: {error}")
        return False
    names = {str(each.get("name", "")).lower() for each in found.get("value") or () if _grants(each, role)}
    if not names or name_of(role, scope.text, principal_id) in names:
        return False
    kept = _in_state(of_stack_file=of_stack_file)
    return kept is not None and not names & kept


def _grants(assignment: Mapping[str, Any], role: str) -> bool:
    properties = cast(Mapping[str, Any], assignment.get("properties") or {})
    unconditional = not properties.get("condition")
    return unconditional and str(properties.get("roleDefinitionId", "")).rsplit("/", 1)[-1].lower() == role


def _in_state(*, of_stack_file: bool) -> frozenset[str] | None:
    """Returns the names of the role assignments in the stack's state; None where they can't be read."""
    found = own_state.resources(of_stack_file=of_stack_file)
    if found is None:
        return None
    names = [each["outputs"].get("name") for each in found.values() if each["type"] == azure_types.ROLE_ASSIGNMENT.token]
    return frozenset(str(name).lower() for name in names) if all(names) else None
