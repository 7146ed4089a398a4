"""Roles of a workspace's identity, on its storage, vault, registry and insights and on the workspace itself, and of the identity
of endpoints.

They are declared, or printed as commands for an administrator who assigns roles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pulumi
from pulumi_azure_native import authorization

from azure_gpu.catalog import roles
from azure_gpu.ml.workspace.spec import MlWorkspaceSpec
from azure_gpu.shared import role_command, role_of_identity

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


class Needed(NamedTuple):
    """A role that an identity needs."""

    name: str  # of the resource that assigns it
    role: str
    scope: pulumi.Input[str]


def before_workspace(name: str, spec: MlWorkspaceSpec, scopes: Scopes) -> Iterator[Needed]:
    """The roles that are required to create the workspace. Source: how-to-identity-based-service-authentication@2025-06-10 of
    the catalog; of those for a managed network, how-to-managed-network@2024-08-29."""
    approver = (roles.AI_NETWORK_CONNECTION_APPROVER,) if spec.in_managed_network else ()  # of private endpoints
    on_storage = (roles.CONTRIBUTOR, roles.STORAGE_BLOB_DATA_CONTRIBUTOR, *approver)
    candidates: list[tuple[str, pulumi.Input[str] | None, tuple[str, ...]]] = [
        ("storage", scopes.storage, on_storage),
        ("vault", scopes.vault, (roles.CONTRIBUTOR, roles.KEY_VAULT_ADMINISTRATOR, *approver)),
        ("registry", scopes.registry, (roles.CONTRIBUTOR, *scopes.pulling, *approver)),
        ("insights", scopes.insights, (roles.CONTRIBUTOR,)),
        *((f"rule-{rule}", scope, approver) for rule, scope in _targets(spec, scopes.known).items()),
    ]
    for what, scope, of in candidates:
        if scope is not None:
            yield from (Needed(f"{name}-{what}-{_SUFFIXES[role]}", role, scope) for role in of)


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


def on_workspace(name: str, workspace: pulumi.Input[str]) -> list[Needed]:
    """The roles on the workspace itself. Source: as above."""
    return [Needed(f"{name}-workspace-{_SUFFIXES[roles.CONTRIBUTOR]}", roles.CONTRIBUTOR, workspace)]


def of_endpoints(name: str, workspace: pulumi.Input[str]) -> list[Needed]:
    """The roles on the workspace for the identity of endpoints' deployments; to an endpoint's own identity Azure assigns it.
    Source: MicrosoftDocs/azure-ai-docs, concept-endpoints-online-auth.md, Automatic role assignment for endpoint identity
    (2026-11)."""
    role = roles.AZUREML_METRICS_WRITER
    return [Needed(f"{name}-{_SUFFIXES[role]}", role, workspace)]


def assign(
    needed: Iterable[Needed], spec: MlWorkspaceSpec, principal_id: pulumi.Input[str], opts: pulumi.ResourceOptions
) -> list[authorization.RoleAssignment]:
    """Assigns the roles to the identity with this object id."""
    return [
        role_of_identity.assign(
            each.name,
            role=each.role,
            scope=each.scope,
            principal_id=principal_id,
            subscription_id=spec.context.subscription_id,
            opts=opts,
        )
        for each in needed
    ]


def commands(needed: Iterable[Needed], identity_id: str) -> list[str]:
    """Commands for an administrator instead of the assignments. Scopes and the identity are ids, or commands in $( ) that find
    them; scopes known only as outputs are left out."""
    principal_id = role_command.principal_of(identity_id)
    return [
        role_command.command(each.role, scope=each.scope, principal_id=principal_id)
        for each in needed
        if isinstance(each.scope, str)
    ]
