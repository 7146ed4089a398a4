"""Microsoft.Batch in a region: how many accounts there may be, which sizes a pool may have, whether an account's name is free.

Names are unique in a region at the service, and in all regions here: the address of an account names no region.
"""

from typing import Any

from azure_gpu.catalog.size_use import Service
from azure_gpu.formats.azure_types import BATCH_ACCOUNT
from localazure.arm.checks import wrong_name
from localazure.arm.store import Store
from localazure.lists.query import ListQuery

ACCOUNTS = 1000  # more than the service gives, as all quotas here


def quotas(query: ListQuery) -> dict[str, Any]:
    limit, _ = query.deviations.quota("batch", query.region, "accounts", ACCOUNTS)
    return {"accountQuota": limit}


def sizes(query: ListQuery) -> list[dict[str, Any]]:
    """The sizes that Batch takes, with the day on which they end where one is announced."""
    rows: list[dict[str, Any]] = []
    for size in query.sizes_of(Service.BATCH):
        row: dict[str, Any] = {"name": size.name, "familyName": size.series.quota_family, "capabilities": []}
        end = size.lifecycle.end_in(query.region)
        if end is not None:
            row["batchSupportEndOfLife"] = f"{end.day.isoformat()}T00:00:00Z"
        rows.append(row)
    return rows


def name_availability(name: str, store: Store) -> dict[str, Any]:
    allowed = wrong_name(BATCH_ACCOUNT.arm_type, name)
    if allowed:
        return {"nameAvailable": False, "reason": "Invalid", "message": f"An account name takes {allowed}."}
    if store.named(BATCH_ACCOUNT.arm_type, name):
        return {"nameAvailable": False, "reason": "AlreadyExists", "message": f"An account named '{name}' is already in use."}
    return {"nameAvailable": True}
