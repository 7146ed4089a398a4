"""Microsoft.Batch in a region: how many accounts there may be, which sizes a pool may have, whether an account's name is free.

Accounts themselves are not served: the list of them is empty.
"""

from typing import Any

from catalog import names
from catalog.size_use import Service
from localazure.lists.asked import Asked

ACCOUNT_TYPE = "Microsoft.Batch/batchAccounts"
ACCOUNTS = 10


def quotas(asked: Asked) -> dict[str, Any]:
    limit, _ = asked.deviations.quota("batch", asked.region, "accounts", ACCOUNTS)
    return {"accountQuota": limit}


def sizes(asked: Asked) -> list[dict[str, Any]]:
    """The sizes that Batch takes, with the day on which they end where one is announced."""
    rows: list[dict[str, Any]] = []
    for size in asked.sizes_of(Service.BATCH):
        row: dict[str, Any] = {"name": size.name, "familyName": size.series.quota_family, "capabilities": []}
        end = size.lifecycle.end_in(asked.region)
        if end is not None:
            row["batchSupportEndOfLife"] = f"{end.day.isoformat()}T00:00:00Z"
        rows.append(row)
    return rows


def accounts(asked: Asked) -> list[dict[str, Any]]:  # noqa: ARG001 - every list is asked alike
    return []


def name_availability(name: str) -> dict[str, Any]:
    problems = names.check(ACCOUNT_TYPE, name, "name")
    if problems:
        return {"nameAvailable": False, "reason": "Invalid", "message": f"An account name takes {problems[0].allowed}."}
    return {"nameAvailable": True}
