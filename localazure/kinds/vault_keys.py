"""Keys of a vault, as ARM shows them: their addresses, which services are given. Nothing is encrypted by them here.

ARM has no request that deletes one; it goes with its vault. Microsoft Learn, REST reference of Microsoft.KeyVault, "Keys".
"""

from urllib.parse import urlsplit

from azure_gpu.catalog import roles
from azure_gpu.formats import azure_types
from localazure.arm import words
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body, Resource
from localazure.kinds import attached_identities
from localazure.kinds.roles import has_role
from localazure.services import Services

# What may get, wrap and unwrap: Microsoft Learn, role-based-access-control/built-in-roles/security, read 2026-11-30.
_MAY_USE = (roles.KEY_VAULT_CRYPTO_SERVICE_ENCRYPTION_USER, roles.KEY_VAULT_ADMINISTRATOR)


class VaultKeys(Kind):
    azure_type = azure_types.KEY_VAULT_KEY

    async def provision(self, change: Change) -> Body:
        vault = change.services.store.get(change.id.scope)
        address = f"{vault.service['properties']['vaultUri'] if vault is not None else ''}keys/{change.id.name}"
        version = words.guid(change.stored.key + change.stored.created_at).replace("-", "")
        return {"properties": {"keyUri": address, "keyUriWithVersion": f"{address}/{version}"}}


def vault_at(address: str, services: Services) -> Resource | None:
    """The vault of an address; None where it isn't here."""
    name = (urlsplit(address).hostname or "").partition(".")[0].lower()
    vaults = services.store.of_type(azure_types.KEY_VAULT.arm_type)
    return next((each for each in vaults if each.id.name.lower() == name), None)


def is_usable(address: str, identities: Body, client_id: str, services: Services) -> bool:
    """Whether the one of the attached `identities` with this client id may use a key. One that isn't here counts as usable, and
    one whose vault gives access by policies, which aren't imitated."""
    vault = vault_at(address, services)
    name = urlsplit(address).path.split("/")[2:3]
    key = services.store.get(f"{vault.key}/keys/{name[0]}".lower()) if vault is not None and name else None
    if vault is None or key is None or not vault.properties.get("enableRbacAuthorization"):
        return True
    found = (attached_identities.ids_of(each, services) for each in identities)
    principal = next((principal for principal, client in found if client == client_id), "")
    return has_role(services, principal, _MAY_USE, key.key)
