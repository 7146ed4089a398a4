"""The quota families that a Batch account lists, in its order and spelling, and those that it can have a quota of.

The list: Azure Service Operator's session Test_Batch_Account_CRUD_v20240701 (2025-11-11), West US 2. There each of them was 0.
"""

from azure_gpu.catalog.sizes.model import same_family
from azure_gpu.formats import azure_types
from localazure import evidence
from localazure.arm import checks
from localazure.arm.as_of import request_date
from localazure.arm.store import Resource
from localazure.lists.query import ListQuery
from localazure.services import Services

FAMILIES = tuple(name for (name,) in evidence.read("batch_families.tsv"))


def sold(account: Resource, services: Services) -> list[str]:
    """The families with a size that is sold at the date of the account or of one of its pools, each in one spelling.

    A pool is validated at the date of its own `as-of` tag, so what it may be made of is what the account has a quota of.
    """
    group = checks.group_of(account.id, services.store)
    parts = [account, *services.store.of_type(azure_types.BATCH_POOL.arm_type, account.key)]
    found: list[str] = []
    for day in sorted({request_date(None, part, group, services.clock) for part in parts}, reverse=True):
        listed = ListQuery(region=account.location, as_of=day, deviations=services.deviations).families()
        found += [family for family in listed if not any(same_family(family, other) for other in found)]
    return sorted(found, key=str.lower)
