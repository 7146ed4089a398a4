"""Builds Azure CLI commands for an administrator to run in place of role assignments. Pure."""

import shlex

from azure_gpu.catalog import roles
from azure_gpu.shared.principals import SERVICE_PRINCIPAL


def command(role: str, *, scope: str, principal_id: str, kind: str = SERVICE_PRINCIPAL) -> str:
    """Builds the command of one assignment. `principal_id` and `scope` may be commands in $( ); an empty `kind` is looked up by
    the CLI."""
    of_kind = f" --assignee-principal-type {kind}" if kind else ""
    return (
        f"az role assignment create --assignee-object-id {_quoted(principal_id)}{of_kind}"
        f" --role {shlex.quote(roles.NAMES[role])} --scope {_quoted(scope)}"
    )


def principal_of(identity_id: str) -> str:
    """Builds the command that prints the object id of a user-assigned identity, for `command`."""
    return f"$(az identity show --ids {identity_id} --query principalId --output tsv)"


def _quoted(value: str) -> str:
    return f'"{value}"' if value.startswith("$(") else shlex.quote(value)
