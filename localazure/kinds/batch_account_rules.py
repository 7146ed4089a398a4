"""What the refusals of Batch accounts depend on beside the body, and what an account's settings mean.

Read of the service itself: the sentence of a name that is taken (Azure/azure-rest-api-specs, example
LocationCheckNameAvailability_AlreadyExists of 2025-06-01). How it refuses an auto-storage account isn't known;
InvalidPropertyValue, its general code, stands there.
"""

from azure_gpu.formats import azure_types
from localazure.arm.kind import Change
from localazure.arm.store import Body, Resource
from localazure.lists.batch import ACCOUNTS
from localazure.services import Services

SHARED_KEY = "SharedKey"
BY_IDENTITY = "BatchAccountManagedIdentity"
AUTHENTICATION_MODES = (SHARED_KEY, "AAD", "TaskAuthenticationToken")  # all of them where the body says nothing


def facts(change: Change) -> Body:
    """A name is taken once in a region, and here once in all of them: the address of an account names no region."""
    services, region, name = change.services, change.body["location"], change.id.name.lower()
    accounts = services.store.of_type(azure_types.BATCH_ACCOUNT.arm_type) if change.creating else []
    taken = [other.location == region for other in accounts if other.id.name.lower() == name]
    limit, used = services.deviations.quota("batch", region, "accounts", ACCOUNTS)
    return {
        "taken": ("here" if taken[0] else "elsewhere") if taken else "",
        "limit": limit,
        "full": change.creating and sum(other.location == region for other in accounts) + used >= limit,
    }


def allows_shared_key(account: Resource) -> bool:
    modes = account.properties.get("allowedAuthenticationModes")
    return SHARED_KEY in (AUTHENTICATION_MODES if modes is None else modes)


def storage_of(account: Resource, services: Services) -> Resource | None:
    """The storage account that is linked to this account; None where none is, or where it is gone."""
    given = (account.properties.get("autoStorage") or {}).get("storageAccountId")
    return services.store.get(given) if given else None
