"""Key vaults as ARM sees them: who may, from where, and what stays of one that was deleted. Its secrets, keys and certificates
are not imitated.

A deleted vault keeps its name in all of Azure until it is purged, by hand or by time; `createMode: recover` brings it back.
Codes and sentences of the service were read in
  - VaultAlreadyExists: hashicorp/terraform-provider-azurerm pull request 15478; a name in deleted state (ConflictError):
    alan-turing-institute/data-safe-haven issue 2523
  - purge protection is for good: Azure/azure-rest-api-specs issue 8075; Operation 'DeletedVaultPurge' is not allowed:
    MicrosoftDocs/azure-docs issue 55427
All others here are assumed.
"""

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from localazure.arm.errors import ArmError
from localazure.arm.kind import Change, Kind, merged
from localazure.arm.store import Body, Resource
from localazure.kinds.soft_deleted import Bin, DeletedResource
from localazure.services import Services

# Microsoft Learn, key-vault/general/soft-delete-overview
SHORTEST_DAYS, LONGEST_DAYS = 7, 90
DELETED = Bin("vaults")
_SUFFIX = "vault.azure.net"
_TAKEN = (
    "The vault name '{name}' is already in use. Vault names are globally unique so it is possible that the name is already "
    "taken. If you are sure that the vault name was not taken then it is possible that a vault with the same name was recently "
    "deleted but not purged after being placed in a recoverable state. If the vault is in a recoverable state then the vault "
    "will need to be purged before reusing the name. For more information about VaultAlreadyExists, soft delete and purging a "
    "vault follow this link https://go.microsoft.com/fwlink/?linkid=2147740."
)
_IN_DELETED_STATE = (
    "A vault with the same name already exists in deleted state. You need to either recover or purge existing key vault. "
    "Follow this link https://go.microsoft.com/fwlink/?linkid=2149745 for more information on soft delete."
)


class KeyVaults(Kind):
    """Created at once."""

    azure_type = azure_types.KEY_VAULT
    # azure-cli 2.91 sends the first, templates of azure-ai-ml 1.35.2 the second.
    extra_api_versions = frozenset({"2026-02-01", "2022-07-01"})
    created_status = 200
    has_system_data = True  # Test_KeyVault_Vault_20230701_CRUD (2025-04-01)
    globally_unique = (409, "VaultAlreadyExists", _TAKEN)

    def invalid_name(self, name: str, allowed: str) -> ArmError:  # noqa: ARG002
        message = (
            f"The vault name '{name}' is invalid. A vault's name must be between 3-24 alphanumeric characters. The name must "
            "begin with a letter, end with a letter or digit, and not contain consecutive hyphens. Follow this link for more "
            "information: https://go.microsoft.com/fwlink/?linkid=2147742"
        )
        return ArmError(400, "VaultNameNotValid", message)

    def check(self, change: Change) -> None:
        properties = change.body["properties"]
        recovers = properties.pop("createMode", "default") == "recover"
        remains = DELETED.find(change.id.name, change.services)
        if change.creating and remains is not None and not recovers:
            raise ArmError(409, "ConflictError", _IN_DELETED_STATE)
        if change.creating and recovers:
            _check_recovery(change, remains)
        if properties["tenantId"] != change.services.settings.tenant_id:
            raise _bad(f"The tenant '{properties['tenantId']}' isn't the subscription's tenant.", "properties.tenantId")
        rbac = (change.previous.properties if change.previous else {}).get("enableRbacAuthorization", False)
        if properties.get("accessPolicies") is None and not properties.get("enableRbacAuthorization", rbac) and not recovers:
            raise _bad("The parameter accessPolicies is not specified.", "properties.accessPolicies")
        _check_protection(change)

    def defaults(self, change: Change) -> Body:
        kept = change.previous.properties if change.previous else {}
        lasting = {name: kept[name] for name in ("softDeleteRetentionInDays", "enablePurgeProtection") if name in kept}
        return {
            "properties": {
                "accessPolicies": [],
                "enableRbacAuthorization": False,
                "enableSoftDelete": True,
                "enabledForDeployment": False,
                "publicNetworkAccess": "Enabled",
                "softDeleteRetentionInDays": LONGEST_DAYS,
                **lasting,
            }
        }

    async def provision(self, change: Change) -> Body:
        remains = DELETED.find(change.id.name, change.services) if change.creating else None
        if remains is not None and change.resource is not None:  # what it was comes back; the request's body is not looked at
            change.resource.body = remains.body
            with change.services.store.together():
                change.services.store.put(change.resource)
                DELETED.forget(change.id.name, change.services)
        return {"properties": {"vaultUri": f"https://{change.id.name.lower()}.{_SUFFIX}/"}}

    async def remove(self, resource: Resource, services: Services) -> None:
        DELETED.keep(resource.id.name, resource, resource.properties["softDeleteRetentionInDays"], services)

    def view(self, resource: Resource, services: Services) -> Body:
        connections: Body = {"properties": {"privateEndpointConnections": []}} if not resource.private.get("connections") else {}
        return merged(super().view(resource, services), connections)


def _check_recovery(change: Change, remains: DeletedResource | None) -> None:
    if remains is None:
        raise ArmError(
            404, "VaultNotFound", f"The vault '{change.id.name}' can't be recovered: it wasn't found among the deleted vaults."
        )
    parsed = parse(remains.id)
    if parsed is None or parsed.key != change.id.key or remains.location != change.body["location"]:
        message = f"The deleted vault '{remains.id}' in '{remains.location}' comes back where it was, and nowhere else."
        raise ArmError(409, "ConflictError", message)


def _check_protection(change: Change) -> None:
    properties, before = change.properties, change.previous.properties if change.previous else {}
    days = properties.get("softDeleteRetentionInDays", LONGEST_DAYS)
    if not SHORTEST_DAYS <= days <= LONGEST_DAYS:
        message = f"The value of 'softDeleteRetentionInDays' is {days}; it takes {SHORTEST_DAYS} to {LONGEST_DAYS} days."
        raise _bad(message, "properties.softDeleteRetentionInDays")
    given = properties.get("softDeleteRetentionInDays")
    if before and given is not None and given != before["softDeleteRetentionInDays"]:
        message = 'The property "softDeleteRetentionInDays" has been set already and it can\'t be modified.'
        raise _bad(message, "properties.softDeleteRetentionInDays")
    if properties.get("enableSoftDelete") is False and not before:
        # Test_MachineLearning_Workspaces_20240401_CRUD (2025-04-01): taken, and answered as true
        properties["enableSoftDelete"] = True
    if properties.get("enableSoftDelete") is False:
        message = (
            "The property \"enableSoftDelete\" can be set to false only for creating new vault. Enabling the 'soft delete' "
            "functionality is an irreversible action."
        )
        raise _bad(message, "properties.enableSoftDelete")
    if properties.get("enablePurgeProtection") is False:
        message = (
            'The property "enablePurgeProtection" cannot be set to false. Enabling the purge protection for a vault is an '
            "irreversible action."
        )
        raise _bad(message, "properties.enablePurgeProtection")


def _bad(message: str, target: str) -> ArmError:
    return ArmError(400, "BadRequest", message, target=target)
