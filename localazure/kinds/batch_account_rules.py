"""Rules of Azure Batch for accounts beside those of the table, and what isn't implemented here.

Read of the service itself: the sentence of a name that is taken (Azure/azure-rest-api-specs, example
LocationCheckNameAvailability_AlreadyExists of 2025-06-01). How it refuses an auto-storage account isn't known;
InvalidPropertyValue, its general code, stands there.
"""

from azure_gpu.formats import azure_types
from localazure.arm.errors import not_implemented
from localazure.arm.kind import Change
from localazure.arm.store import Body, Resource
from localazure.kinds import attached_identities
from localazure.kinds.batch_refusals import cannot_be_updated, invalid_value, refusal
from localazure.lists.batch import ACCOUNTS
from localazure.services import Services

BY_IDENTITY = "BatchAccountManagedIdentity"
SHARED_KEY = "SharedKey"
AUTHENTICATION_MODES = (SHARED_KEY, "AAD", "TaskAuthenticationToken")  # all of them where the body says nothing
_STORAGE = "properties.autoStorage"


def check(change: Change) -> None:
    properties = change.body.setdefault("properties", {})
    if change.previous is None:
        _check_name(change)
    elif properties.get("poolAllocationMode", "BatchService") != change.previous.properties.get("poolAllocationMode"):
        raise cannot_be_updated("properties.poolAllocationMode")
    if properties.get("autoStorage"):
        _check_storage(properties["autoStorage"], change.body.get("identity") or {}, change.services)


def allows_shared_key(account: Resource) -> bool:
    modes = account.properties.get("allowedAuthenticationModes")
    return SHARED_KEY in (AUTHENTICATION_MODES if modes is None else modes)


def storage_of(account: Resource, services: Services) -> Resource | None:
    """The storage account that is linked to this account; None where none is, or where it is gone."""
    given = (account.properties.get("autoStorage") or {}).get("storageAccountId")
    return services.store.get(given) if given else None


def _check_name(change: Change) -> None:
    """A name is taken once in a region, and here once in all of them: the address of an account names no region."""
    services, region = change.services, change.body["location"]
    accounts = services.store.of_type(azure_types.BATCH_ACCOUNT.arm_type)
    for other in accounts:
        if other.id.name.lower() == change.id.name.lower():
            if other.location != region:
                raise not_implemented(f"two Batch accounts named '{change.id.name}' in different regions")
            raise refusal(409, "AccountAlreadyExists", f"An account named '{change.id.name}' is already in use.")
    limit, used = services.deviations.quota("batch", region, "accounts", ACCOUNTS)
    if sum(other.location == region for other in accounts) + used >= limit:
        # The service's own code isn't known.
        message = f"The regional account quota of Batch accounts of {limit} for the specified subscription has been reached."
        raise refusal(409, "SubscriptionQuotaExceeded", message)


def _check_storage(given: Body, identity: Body, services: Services) -> None:
    storage_id = given["storageAccountId"]
    storage = services.store.at(storage_id, azure_types.STORAGE_ACCOUNT)
    if storage is None:
        reason = f"There is no storage account '{storage_id}'."
        raise invalid_value(f"{_STORAGE}.storageAccountId", reason, storage_id)
    if given.get("authenticationMode") == BY_IDENTITY:
        if identity.get("type", "None") == "None":
            reason = "The authentication mode BatchAccountManagedIdentity needs an identity of the Batch account."
            raise invalid_value(f"{_STORAGE}.authenticationMode", reason, BY_IDENTITY)
    elif storage.properties.get("allowSharedKeyAccess") is False:
        reason = f"The storage account '{storage.id.name}' allows no access by key; {BY_IDENTITY} needs none."
        raise invalid_value(f"{_STORAGE}.authenticationMode", reason, given.get("authenticationMode") or "StorageKeys")
    node = (given.get("nodeIdentityReference") or {}).get("resourceId")
    if node is not None and attached_identities.principal_of(node, services) is None:
        reason = f"There is no user-assigned identity '{node}'."
        raise invalid_value(f"{_STORAGE}.nodeIdentityReference.resourceId", reason, node)
