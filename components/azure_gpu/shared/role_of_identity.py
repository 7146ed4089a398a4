"""A role that a managed identity gets.

In: whose it is, which role, and on what. Out: the assignment, declared.
"""

from __future__ import annotations

import pulumi
from pulumi_azure_native import authorization

from azure_gpu.catalog import roles
from azure_gpu.formats import arm_ids


def assign(
    name: str,
    *,
    role: str,
    scope: pulumi.Input[str],
    principal_id: pulumi.Input[str],
    subscription_id: str,
    opts: pulumi.ResourceOptions,
) -> authorization.RoleAssignment:
    """`name`: the resource's. `role`: the GUID of a built-in role. `principal_id`: the identity's object id. `subscription_id`:
    of `scope`, where that is an output."""
    plain = arm_ids.parse(scope) if isinstance(scope, str) else None
    return authorization.RoleAssignment(
        name,
        scope=scope,
        principal_id=principal_id,
        principal_type=authorization.PrincipalType.SERVICE_PRINCIPAL,  # spares a wait for the directory to know the identity
        role_definition_id=roles.definition_id(plain.subscription if plain is not None else subscription_id, role),
        opts=opts,
    )
