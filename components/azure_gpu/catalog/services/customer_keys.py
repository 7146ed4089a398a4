"""Customer-managed keys: what a key and its vault have to be, so that Azure's services encrypt data by it."""

import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.sources import Dated, Source

STORAGE_PAGE = Source(
    "MicrosoftDocs/azure-docs, articles/storage/common/customer-managed-keys-configure-new-account.md",
    Dated.OBSERVED,
    date(2023, 3, 23),
)
REGISTRIES_PAGE = Source(
    "MicrosoftDocs/azure-docs, articles/container-registry/tutorial-customer-managed-keys.md", Dated.OBSERVED, date(2023, 10, 31)
)
REGISTRY_PAGE = Source(
    "MicrosoftDocs/azure-docs, articles/container-registry/tutorial-enable-customer-managed-keys.md",
    Dated.OBSERVED,
    date(2023, 10, 31),
)
DISKS_PAGE = Source(
    "MicrosoftDocs/azure-aks-docs, articles/aks/azure-disk-customer-managed-keys.md", Dated.OBSERVED, date(2024, 2, 1)
)
REGIONS_PAGE = Source("Microsoft Learn, virtual-machines/disk-encryption, Restrictions", Dated.OBSERVED, date(2024, 11, 8))
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
        yield Problem(
            path=path,
            message="a key with a version: what is encrypted wouldn't follow when the key is rotated",
            value=text,
            allowed=EXAMPLE,
            fix=f"write {versioned['key']}",
            source=str(STORAGE_PAGE),
        )
    elif address := _ADDRESS.fullmatch(text):
        yield Problem(
            path=path,
            message="the address of a key, and not its ARM id",
            value=text,
            allowed=EXAMPLE,
            fix=f"write the id that `az keyvault show --name {address['vault']} --query id` prints, and /keys/{address['key']}",
        )


def check(key: Key, path: str, *, assigns_roles: bool) -> Iterator[Problem]:
    """The problems of a key. `assigns_roles`: the stack gives its identity access by a role."""
    if not key.kind.upper().startswith("RSA") or not key.enabled:
        yield Problem(
            path=path,
            message="services encrypt by a key of type RSA that is enabled",
            value=key.kind if key.enabled else f"{key.kind}, disabled",
            allowed="RSA or RSA-HSM, with 2048, 3072 or 4096 bits",
            fix="use another key, or enable it",
            source=str(STORAGE_PAGE),
            code=Code.IMPOSSIBLE,
        )
    if not key.purge_protection:
        yield Problem(
            path=path,
            message="the key's vault has no purge protection: with a purged key all that it encrypts would be lost",
            allowed="a key in a vault with soft delete and purge protection",
            fix="have the vault's owner run: az keyvault update --name <vault> --enable-purge-protection true",
            source=str(DISKS_PAGE),
            code=Code.IMPOSSIBLE,
        )
    if not key.by_roles and assigns_roles:
        yield Problem(
            path=path,
            message="the key's vault gives access by access policies, so that the role of the stack's identity has no effect",
            allowed="a vault with Azure RBAC; or assign_roles: false, where the vault's owner gives the identity access",
            fix="have the vault's owner run: az keyvault update --name <vault> --enable-rbac-authorization true",
            source=str(REGISTRY_PAGE),
            code=Code.IMPOSSIBLE,
        )
    if key.closed:
        yield Problem(
            path=path,
            message="the key's vault is closed to Azure's services, which read the key from outside of any network",
            allowed="a vault that lets trusted services in",
            fix="have the vault's owner run: az keyvault update --name <vault> --bypass AzureServices",
            source=str(REGISTRY_PAGE),
            code=Code.IMPOSSIBLE,
        )


def elsewhere(vaults: str, disks: str, path: str) -> list[Problem]:
    """The problem of disks in another region than the vault of their key. Each region: as ARM spells it."""
    if not vaults or not disks or vaults == disks:
        return []
    return [
        Problem(
            path=path,
            message=f"its disks are encrypted by a key in {vaults}, and a key's vault has to be in the disks' region",
            value=disks,
            allowed=vaults,
            fix="use a key in that region, or set the `location` of that key",
            source=str(REGIONS_PAGE),
            code=Code.IMPOSSIBLE,
        )
    ]
