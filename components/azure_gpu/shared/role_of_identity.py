"""Declares role assignments.

The name of an assignment is derived from role, scope, principal and stack: it is stable, and two stacks that assign the same role
use two names. An existing assignment keeps its name: Azure rejects the same assignment under another one with 409.
"""

from __future__ import annotations

import uuid

import pulumi
from pulumi_azure_native import authorization

from azure_gpu.catalog import roles
from azure_gpu.formats import arm_ids
from azure_gpu.shared.principals import SERVICE_PRINCIPAL

_NAMES = uuid.UUID("5c0f1f3e-6a8b-4d0e-9a52-2b7c4f1d8e90")  # of the assignments; chosen once


def assign(
    name: str,
    *,
    role: str,
    scope: pulumi.Input[str],
    principal_id: pulumi.Input[str],
    subscription_id: str,
    opts: pulumi.ResourceOptions,
    kind: str = SERVICE_PRINCIPAL,
) -> authorization.RoleAssignment:
    """Declares one assignment. `name`: the resource's. `role`: the GUID of a built-in role. `principal_id`: object id of the
    principal. `subscription_id`: of `scope`, where that is an output. `kind`: the principal's type, with which Azure doesn't wait
    for the directory to replicate a new principal."""
    plain = arm_ids.parse(scope) if isinstance(scope, str) else None
    return authorization.RoleAssignment(
        name,
        role_assignment_name=pulumi.Output.all(scope, principal_id).apply(lambda of: name_of(role, str(of[0]), str(of[1]))),
        scope=scope,
        principal_id=principal_id,
        principal_type=kind,
        role_definition_id=roles.definition_id(plain.subscription if plain is not None else subscription_id, role),
        opts=pulumi.ResourceOptions.merge(opts, _NAMED),
    )


# Earlier versions left names to the provider. A replacement is for another principal or scope, and so has another name.
_NAMED = pulumi.ResourceOptions(ignore_changes=["roleAssignmentName"], delete_before_replace=False)


def name_of(role: str, scope: str, principal_id: str) -> str:
    """Returns the name of the assignment in this stack."""
    stack = f"{pulumi.get_organization()}/{pulumi.get_project()}/{pulumi.get_stack()}"
    return str(uuid.uuid5(_NAMES, "\n".join((stack, role, scope.lower(), principal_id.lower()))))
