"""Customer-managed keys: what a key and its vault have to be, so that Azure's services encrypt data by it."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.sources import observed

DISKS_PAGE = observed("MicrosoftDocs/azure-aks-docs, articles/aks/azure-disk-customer-managed-keys.md", 2024, 2, 1)
REGIONS_PAGE = observed("Microsoft Learn, virtual-machines/disk-encryption, Restrictions", 2024, 11, 8)
_WITH_VERSION = re.compile(r"(?P<key>/subscriptions/.+/vaults/[^/]+/keys/[^/]+)/versions/[^/]+/?", re.IGNORECASE)
_ADDRESS = re.compile(r"https://(?P<vault>[a-z0-9-]+)\.[^/]+/keys/(?P<key>[^/]+)(?:/[^/]*)?", re.IGNORECASE)
EXAMPLE = "/subscriptions/<id>/resourceGroups/<name>/providers/Microsoft.KeyVault/vaults/<name>/keys/<name>"


class Key(NamedTuple):
    """A key and its vault, as Azure shows them."""

    kind: str  # such as RSA
    enabled: bool
    purge_protection: bool  # of the vault, as all below
    by_roles: bool  # else access policies decide, and no role does
    closed: bool  # to Azure's services, too


def check_id(text: str, path: str) -> Iterator[Problem]:
    """The problem of what isn't the ARM id of a key without its version, in the two forms that people copy."""
    if versioned := _WITH_VERSION.fullmatch(text):
        yield refused("key.with_version", path, text, example=EXAMPLE, plain=versioned["key"])
    elif address := _ADDRESS.fullmatch(text):
        yield refused("key.address", path, text, example=EXAMPLE, vault=address["vault"], key=address["key"])


def check(key: Key, path: str, *, assigns_roles: bool) -> Iterator[Problem]:
    """The problems of a key. `assigns_roles`: the stack gives its identity access by a role."""
    if not key.kind.upper().startswith("RSA") or not key.enabled:
        yield refused("key.not_rsa", path, key.kind if key.enabled else f"{key.kind}, disabled")
    if not key.purge_protection:
        yield refused("key.no_purge_protection", path)
    if not key.by_roles and assigns_roles:
        yield refused("key.access_policies", path)
    if key.closed:
        yield refused("key.vault_closed", path)


def elsewhere(vaults: str, disks: str, path: str) -> list[Problem]:
    """The problem of disks in another region than the vault of their key. Each region: as ARM spells it."""
    if not vaults or not disks or vaults == disks:
        return []
    return [refused("key.other_region", path, disks, allowed=vaults)]
