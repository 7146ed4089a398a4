"""The customer-managed key of a stack, by which what the stack creates encrypts data in place of keys of Azure.

The foundation reads the key and its vault and gives its identity the role on the key; other components get it as a dependency.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_azure_native import compute, keyvault

from azure_gpu.catalog import regions
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services import customer_keys
from azure_gpu.catalog.services.customer_keys import Key
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.shared import existing
from azure_gpu.shared.context import CustomerKey
from azure_gpu.shared.look_up import AskedBy


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFacts:
    """What was read of a key and of its vault."""

    uri: str  # without a version, so that services follow when the key is rotated
    uri_with_version: str
    vault_uri: str
    location: str  # of the vault, as ARM spells it


def resolve(text: str, path: str, subscription_id: str) -> tuple[ArmId | None, list[Problem]]:
    """Parses the id of a key. Pure."""
    problems = list(customer_keys.check_id(text, path))
    return (None, problems) if problems else existing.resolve_id(text, azure_types.KEY_VAULT_KEY, subscription_id, path)


def look_up(
    key: ArmId | None, path: str, asked_by: AskedBy, own: str, *, assigns_roles: bool
) -> tuple[KeyFacts | None, list[Problem]]:
    """Reads the key and its vault. `own`: the subscription of the component; `assigns_roles`: see `customer_keys.check`."""
    in_vault = arm_ids.parse(key.scope) if key is not None else None
    if key is None or in_vault is None:
        return None, []
    vault, problems = existing.get(keyvault.get_vault, azure_types.KEY_VAULT, in_vault, path, asked_by, own)
    if vault is None:
        return None, problems
    shown, problems = existing.get(keyvault.get_key, azure_types.KEY_VAULT_KEY, key, path, asked_by, own)
    if shown is None:
        return None, problems
    of_vault, rules = vault.properties, vault.properties.network_acls
    private = (of_vault.public_network_access or "").lower() == "disabled" or (
        rules is not None and rules.default_action == "Deny"
    )
    facts = Key(
        kind=shown.kty or "",
        enabled=shown.attributes is None or shown.attributes.enabled is not False,
        purge_protection=bool(of_vault.enable_purge_protection),
        by_roles=bool(of_vault.enable_rbac_authorization),
        closed=private and rules is not None and rules.bypass == "None",
    )
    found = KeyFacts(
        uri=shown.key_uri,
        uri_with_version=shown.key_uri_with_version,
        vault_uri=(of_vault.vault_uri or "").rstrip("/"),
        location=regions.normalise(vault.location or ""),
    )
    return found, list(customer_keys.check(facts, path, assigns_roles=assigns_roles))


def disks(
    component: pulumi.Resource,
    prefix: str,
    name: str,
    key: CustomerKey,
    *,
    resource_group_name: pulumi.Input[str],
    location: pulumi.Input[str] | None,
    tags: Mapping[str, pulumi.Input[str]],
    hooks: pulumi.ResourceHookBinding | None,
) -> compute.DiskEncryptionSet:
    """Declares what disks refer to so that a key encrypts them. `prefix`: of the logical name; `name`: in Azure."""
    return compute.DiskEncryptionSet(
        f"{prefix}-disks",
        disk_encryption_set_name=name,
        resource_group_name=resource_group_name,
        location=location,
        identity=compute.EncryptionSetIdentityArgs(
            type=compute.DiskEncryptionSetIdentityType.USER_ASSIGNED, user_assigned_identities=[key["identity_id"]]
        ),
        encryption_type=compute.DiskEncryptionSetType.ENCRYPTION_AT_REST_WITH_CUSTOMER_KEY,
        active_key=compute.KeyForDiskEncryptionSetArgs(key_url=key["uri_with_version"]),  # required with a version
        rotation_to_latest_key_version_enabled=True,
        tags=tags,
        # Azure goes on to later versions of the key by itself.
        opts=pulumi.ResourceOptions(parent=component, ignore_changes=["activeKey.keyUrl"], hooks=hooks),
    )
