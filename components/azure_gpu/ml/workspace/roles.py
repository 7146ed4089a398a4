"""Role assignments of a workspace's identity: on its storage, vault, registry and insights, and on the workspace itself.

They are declared, or printed as commands for an administrator who assigns roles.
"""

from __future__ import annotations

from typing import NamedTuple

import pulumi
from pulumi_azure_native import authorization

from azure_gpu.catalog import roles
from azure_gpu.ml.workspace.spec import MlWorkspaceSpec
from azure_gpu.shared import role_command, role_of_identity

# Roles that the service requires. Source: catalog.services.machine_learning.workspaces, IDENTITY and MANAGED_NETWORK.
ON_STORAGE = (roles.CONTRIBUTOR, roles.STORAGE_BLOB_DATA_CONTRIBUTOR)
ON_VAULT = (roles.CONTRIBUTOR, roles.KEY_VAULT_ADMINISTRATOR)
ON_REGISTRY = (roles.CONTRIBUTOR,)
ON_INSIGHTS = (roles.CONTRIBUTOR,)
ON_ITSELF = (roles.CONTRIBUTOR,)
# For the identity of endpoints' deployments; to an endpoint's own identity Azure assigns it. Source:
# MicrosoftDocs/azure-ai-docs, concept-endpoints-online-auth.md, Automatic role assignment for endpoint identity (2026-11).
OF_ENDPOINTS = (roles.AZUREML_METRICS_WRITER,)
IN_MANAGED_NETWORK = (roles.AI_NETWORK_CONNECTION_APPROVER,)  # on resources that get private endpoints
_SUFFIXES = {
    roles.CONTRIBUTOR: "role",
    roles.STORAGE_BLOB_DATA_CONTRIBUTOR: "blob-role",
    roles.KEY_VAULT_ADMINISTRATOR: "secrets-role",
    roles.REPOSITORY_READER: "pull-role",
    roles.AI_NETWORK_CONNECTION_APPROVER: "approver-role",
    roles.AZUREML_METRICS_WRITER: "metrics-role",
}


class Scopes(NamedTuple):
    """ARM ids on which the identity gets roles; None: there is none."""

    storage: pulumi.Input[str]
    vault: pulumi.Input[str]
    registry: pulumi.Input[str] | None
    insights: pulumi.Input[str]
    known: frozenset[str]  # names of those with globally unique names, in lower case
    pulling: tuple[str, ...] = ()  # roles on the registry for pulling from it, where Contributor doesn't permit that


def assign_before_workspace(
    name: str, spec: MlWorkspaceSpec, scopes: Scopes, principal_id: pulumi.Output[str], opts: pulumi.ResourceOptions
) -> list[authorization.RoleAssignment]:
    """The roles that are required to create the workspace."""
    return [
        _assign(f"{name}-{what}-{_SUFFIXES[role]}", role, scope, spec, principal_id, opts)
        for what, scope, of in _needed(spec, scopes)
        for role in of
    ]


def _needed(spec: MlWorkspaceSpec, scopes: Scopes) -> list[tuple[str, pulumi.Input[str], tuple[str, ...]]]:
    """Resources with their ARM ids and the roles on them."""
    approver = IN_MANAGED_NETWORK if spec.managed_network != "none" else ()
    candidates: list[tuple[str, pulumi.Input[str] | None, tuple[str, ...]]] = [
        ("storage", scopes.storage, (*ON_STORAGE, *approver)),
        ("vault", scopes.vault, (*ON_VAULT, *approver)),
        ("registry", scopes.registry, (*ON_REGISTRY, *scopes.pulling, *approver)),
        ("insights", scopes.insights, ON_INSIGHTS),
        *((f"rule-{rule}", scope, approver) for rule, scope in _targets(spec, scopes.known).items()),
    ]
    return [(what, scope, of) for what, scope, of in candidates if scope is not None]


def _targets(spec: MlWorkspaceSpec, known: frozenset[str]) -> dict[str, pulumi.Input[str]]:
    """Resources to which outbound rules create private endpoints, by one of their rules: each once, as Azure rejects a duplicate
    assignment, and without the workspace's own resources, which are `known`."""
    found: dict[str, pulumi.Input[str]] = {}
    seen: set[str] = set()
    for rule, each in sorted(spec.outbound_rules.items()):
        scope = each.get("resource_id")
        text = scope.lower() if isinstance(scope, str) else rule
        if scope is not None and text not in seen and text.rsplit("/", 1)[-1] not in known:
            found[rule] = scope
        seen.add(text)
    return found


def assign_on_workspace(
    name: str,
    spec: MlWorkspaceSpec,
    workspace: pulumi.Output[str],
    principal_id: pulumi.Output[str],
    opts: pulumi.ResourceOptions,
) -> list[authorization.RoleAssignment]:
    """The roles on the workspace itself."""
    return [_assign(f"{name}-workspace-{_SUFFIXES[role]}", role, workspace, spec, principal_id, opts) for role in ON_ITSELF]


def assign_for_endpoints(
    name: str,
    spec: MlWorkspaceSpec,
    workspace: pulumi.Input[str],
    principal_id: pulumi.Input[str],
    opts: pulumi.ResourceOptions,
) -> None:
    """The roles on the workspace for the identity of endpoints' deployments."""
    for role in OF_ENDPOINTS:
        _assign(f"{name}-{_SUFFIXES[role]}", role, workspace, spec, principal_id, opts)


def commands_for_endpoints(workspace: str, identity_id: str) -> list[str]:
    """Commands for an administrator instead of `assign_for_endpoints`."""
    principal_id = role_command.principal_of(identity_id)
    return [role_command.command(role, scope=workspace, principal_id=principal_id) for role in OF_ENDPOINTS]


def _assign(
    name: str,
    role: str,
    scope: pulumi.Input[str],
    spec: MlWorkspaceSpec,
    principal_id: pulumi.Input[str],
    opts: pulumi.ResourceOptions,
) -> authorization.RoleAssignment:
    return role_of_identity.assign(
        name,
        role=role,
        scope=scope,
        principal_id=principal_id,
        subscription_id=spec.context.subscription_id,
        opts=opts,
    )


def commands(spec: MlWorkspaceSpec, scopes: Scopes, workspace: str, identity_id: str) -> tuple[list[str], list[str]]:
    """Commands for an administrator instead of the assignments: before the workspace is created, and after. The scopes are ids,
    or commands in $( ) that find them; those known only as outputs are left out."""
    principal_id = role_command.principal_of(identity_id)
    before = [
        role_command.command(role, scope=scope, principal_id=principal_id)
        for _, scope, of in _needed(spec, scopes)
        if isinstance(scope, str)
        for role in of
    ]
    return before, [role_command.command(role, scope=workspace, principal_id=principal_id) for role in ON_ITSELF]
