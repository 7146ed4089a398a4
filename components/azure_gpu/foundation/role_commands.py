"""Commands for an administrator, where a foundation assigns no roles."""

from azure_gpu.catalog import roles
from azure_gpu.formats import azure_types
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.foundation.spec import FoundationSpec
from azure_gpu.shared import role_command
from azure_gpu.shared.part import Part


def role_commands(spec: FoundationSpec, pull_role: str = roles.ACR_PULL) -> list[str]:
    """Returns the commands in place of the role assignments, complete before anything exists. `pull_role`: for the registry."""
    commands: list[str] = []
    registry, storage = azure_types.REGISTRY, azure_types.STORAGE_ACCOUNT
    commands += _role_command(spec, spec.identity, pull_role, registry, spec.registry)
    if spec.write_blobs:
        commands += _role_command(spec, spec.identity, roles.STORAGE_BLOB_DATA_CONTRIBUTOR, storage, spec.storage)
    commands += _role_command(spec, spec.serving_identity, pull_role, registry, spec.registry)
    commands += _role_command(spec, spec.serving_identity, roles.STORAGE_BLOB_DATA_READER, storage, spec.storage)
    if spec.key is not None and spec.identity is not None:
        user, identity = (
            roles.KEY_VAULT_CRYPTO_SERVICE_ENCRYPTION_USER,
            _id_of(spec, azure_types.USER_ASSIGNED_IDENTITY, spec.identity),
        )
        commands.append(role_command.command(user, scope=spec.key.text, principal_id=role_command.principal_of(identity)))
    commands += [
        role_command.command(role, scope=spec.storage_id, principal_id=each.object_id, kind=each.kind)
        for each, role in spec.access_by_role
    ]
    return commands


def _role_command(spec: FoundationSpec, identity: Part | None, role: str, azure_type: AzureType, part: Part | None) -> list[str]:
    if identity is None or part is None:
        return []
    principal_id = role_command.principal_of(_id_of(spec, azure_types.USER_ASSIGNED_IDENTITY, identity))
    return [role_command.command(role, scope=_id_of(spec, azure_type, part), principal_id=principal_id)]


def _id_of(spec: FoundationSpec, azure_type: AzureType, part: Part) -> str:
    if part.existing:
        return part.existing.text
    inputs = {"resourceGroupName": spec.resource_group.name, azure_type.name_parameter: part.name}
    return azure_type.id_of(spec.context.subscription_id, inputs)
