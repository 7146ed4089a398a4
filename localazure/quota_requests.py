"""The part of Azure's portal in which a GPU quota is requested: for every Batch account and environment of Container Apps that is
there, a support request for what its pools and profiles need and it has none of.

Requests are sent over ARM to a running server, and the result is what was granted.
"""

import json
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from azure_gpu.catalog.services.container_apps import QUOTAS
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import same_family
from localazure.errors import CommandError
from localazure.subscriptions import SUBSCRIPTION

CORES, GPUS = 96, 8  # requested of a family and of a profile: what the largest pool or job of the shipped stacks takes
GRANT_SECONDS, LOOK_SECONDS = 30.0, 0.5
_BATCH, _APPS, _SUPPORT = "2024-07-01", "2025-02-02-preview", "2024-04-01"
_WITHIN = f"/subscriptions/{SUBSCRIPTION}/providers"
_TICKETS = f"{_WITHIN}/Microsoft.Support/supportTickets"

Ask = Callable[[str, str, Any], tuple[int, dict[str, Any]]]  # method, path with its query, body; status and answer


@dataclass(frozen=True, slots=True)
class Shortage:
    """A quota that a resource needs and has none of."""

    resource: str  # its name
    quota: str
    region: str
    payload: dict[str, Any]


def request(ask: Ask, pause: Callable[[float], None] = time.sleep) -> list[Shortage]:
    """Requests what is lacking and waits until it is granted. CommandError where it isn't."""
    requested = list(_shortages(ask))
    tickets = [f"{_TICKETS}/q-{uuid.uuid4().hex}?api-version={_SUPPORT}" for _ in requested]
    for ticket, shortage in zip(tickets, requested, strict=True):
        _checked(*ask("PUT", ticket, _ticket(shortage)))
    for _ in range(round(GRANT_SECONDS / LOOK_SECONDS)):
        closed = all(_checked(*ask("GET", ticket, None))["properties"]["status"] == "Closed" for ticket in tickets)
        left = _shortages(ask) if requested else ()
        missing = [each for each in left if (each.resource, each.quota) in {(one.resource, one.quota) for one in requested}]
        if not missing:
            return requested
        if closed:
            raise CommandError(
                f"not granted: {_names(missing)}; a quota of vCPUs is only granted for a family with a size that is sold at the "
                "date of the Batch account or of one of its pools (the tag as-of; without one the server's date)"
            )
        pause(LOOK_SECONDS)
    raise CommandError(f"not granted within {GRANT_SECONDS:.0f} s: {_names(requested)}")


def _names(shortages: list[Shortage]) -> str:
    return ", ".join(f"{each.quota} of {each.resource}" for each in shortages)


def _shortages(ask: Ask) -> Iterator[Shortage]:
    for account in _listed(ask, f"{_WITHIN}/Microsoft.Batch/batchAccounts?api-version={_BATCH}"):
        limits = account["properties"].get("dedicatedCoreQuotaPerVMFamily") or []
        none = {each["name"] for each in limits if each["coreQuota"] == 0}
        pools = _listed(ask, f"{account['id']}/pools?api-version={_BATCH}")
        sizes = [SIZES.find(pool["properties"]["vmSize"]) for pool in pools]
        for family in {size.series.quota_family for size in sizes if size is not None and size.gpu is not None}:
            if any(same_family(family, name) for name in none):
                payload = {"AccountName": account["name"], "VMFamily": family, "NewLimit": CORES, "Type": "Dedicated"}
                yield Shortage(account["name"], family, account["location"], payload)
    for environment in _listed(ask, f"{_WITHIN}/Microsoft.App/managedEnvironments?api-version={_APPS}"):
        profiles = {each["workloadProfileType"] for each in environment["properties"].get("workloadProfiles") or []}
        needed = {QUOTAS[profile] for profile in profiles & set(QUOTAS)}
        for usage in _listed(ask, f"{environment['id']}/usages?api-version={_APPS}") if needed else []:
            name = usage["name"]["value"]
            if name in needed and usage["limit"] == 0:
                payload = {"ResourceId": environment["id"], "Type": name, "NewLimit": GPUS}
                yield Shortage(environment["name"], name, environment["location"], payload)


def _ticket(shortage: Shortage) -> dict[str, Any]:
    """Form: REST reference of Microsoft.Support 2024-04-01, "Support Tickets - Create"."""
    change = {"region": shortage.region, "payload": json.dumps(shortage.payload)}
    details = {"quotaChangeRequestSubType": "Account", "quotaChangeRequestVersion": "1.0", "quotaChangeRequests": [change]}
    service = "/providers/Microsoft.Support/services/quota"
    return {
        "properties": {
            "title": f"{shortage.quota} of {shortage.resource}",
            "description": "GPUs for its pools and jobs",
            "severity": "minimal",
            "serviceId": service,
            "problemClassificationId": f"{service}/problemClassifications/gpus",
            "contactDetails": {"country": "USA"},
            "quotaTicketDetails": details,
        }
    }


def _listed(ask: Ask, path: str) -> list[dict[str, Any]]:
    return _checked(*ask("GET", path, None))["value"]


def _checked(status: int, answer: dict[str, Any]) -> dict[str, Any]:
    if status >= 400:
        raise CommandError(f"{answer['error']['code']}: {answer['error']['message']}")
    return answer
