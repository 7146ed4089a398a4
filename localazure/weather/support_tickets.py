"""Support requests for quota: Microsoft.Support/supportTickets, which this Azure reads by itself and grants.

`PUT /subscriptions/ID/providers/Microsoft.Support/supportTickets/NAME`, as `az support in-subscription tickets create` sends it.
Form: REST reference of Microsoft.Support 2024-04-01, "Support Tickets - Create"; what `quotaTicketDetails` says for Batch:
Microsoft Learn, rest/api/support/quota-payload, with the examples of the API's description (Dedicated, LowPriority, Pools, Jobs
of an account). For an environment of Container Apps no payload is published: `ResourceId`, `Type` (the quota's name) and
`NewLimit` are ours. Codes of refusals are assumed.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from azure_gpu.catalog import regions
from azure_gpu.catalog.sizes.model import same_family
from azure_gpu.formats import azure_types
from localazure.arm.errors import refused
from localazure.arm.store import Body, Resource
from localazure.kinds import batch_families
from localazure.services import Services
from localazure.subscriptions import SUBSCRIPTION
from localazure.weather import times

_TYPE = "Microsoft.Support/supportTickets"
_DOCUMENTS = "support-tickets/"
_REQUIRED = ("contactDetails", "description", "problemClassificationId", "serviceId", "severity", "title")
_DEDICATED = "Dedicated"  # the type of a request for vCPUs of a family, which are a Batch account's
_TYPES: Mapping[str, str] = {"LowPriority": "lowPriorityCores", "Pools": "pools", "Jobs": "jobs"}  # of Batch


def listed(services: Services) -> list[Body]:
    return [_document(kept, services) for kept in services.store.documents(_DOCUMENTS).values()]


def one(name: str, services: Services) -> Body:
    kept = services.store.document(_DOCUMENTS + name.lower())
    if kept is None:
        raise refused("ticket: none", name=name)
    return _document(kept, services)


def granted(resource: Resource, delay: float, services: Services) -> list[tuple[str, int]]:
    """Quotas of a resource that were requested and are granted by now: name and limit, the last at the end."""
    tickets = sorted(services.store.documents(_DOCUMENTS).values(), key=lambda one: one["created"])
    return [
        (grant["name"], grant["limit"])
        for ticket in tickets
        if times.age(ticket["created"], services) >= delay
        for grant in ticket["grants"]
        if grant["key"] == resource.key and grant["made"] == resource.created_at
    ]


def created(name: str, body: Body, services: Services) -> Body:
    if services.store.document(_DOCUMENTS + name.lower()) is not None:
        raise refused("ticket: twice", name=name)
    properties: Body = body.get("properties") or {}
    missing = [each for each in _REQUIRED if not properties.get(each)]
    if missing:
        message = "; ".join(f"'properties.{each}' is required" for each in missing)
        raise refused("ticket: missing", message=message, path=f"properties.{missing[0]}")
    details: Body = properties.get("quotaTicketDetails") or {}
    grants = [grant for each in details.get("quotaChangeRequests") or [] for grant in _grants(each, services)]
    kept = {"name": name, "properties": properties, "grants": grants, "created": services.clock.stamp()}
    services.store.put_document(_DOCUMENTS + name.lower(), kept)
    return _document(kept, services)


def _grants(request: Body, services: Services) -> Iterator[Body]:
    """What one change request leads to: nothing where it is about no resource that is here, or a family that isn't sold."""
    try:
        payload: Any = json.loads(str(request.get("payload")))
    except ValueError:
        payload = None
    if not isinstance(payload, dict) or not isinstance(payload.get("NewLimit"), int):
        raise refused("ticket: payload")
    name = _quota(payload)
    region = regions.normalise(str(request.get("region") or ""))
    for resource in _resources(payload, region, services):
        if payload.get("Type") == _DEDICATED and not _is_sold(name, resource, services):
            continue
        yield {"key": resource.key, "made": resource.created_at, "name": name, "limit": payload["NewLimit"]}


def _quota(payload: Body) -> str:
    kind = str(payload.get("Type") or "")
    return str(payload.get("VMFamily") or "") if kind == _DEDICATED else _TYPES.get(kind, kind)


def _is_sold(family: str, account: Resource, services: Services) -> bool:
    return any(same_family(family, other) for other in batch_families.sold(account, services))


def _resources(payload: Body, region: str, services: Services) -> list[Resource]:
    if payload.get("ResourceId"):
        found = services.store.get(str(payload["ResourceId"]))
        return [found] if found is not None else []
    accounts = services.store.named(azure_types.BATCH_ACCOUNT.arm_type, str(payload.get("AccountName") or ""))
    return [account for account in accounts if account.location == region]


def _document(kept: Body, services: Services) -> Body:
    weather = services.weather
    over = times.age(kept["created"], services) >= max(weather.seconds("batch-quota"), weather.seconds("environment-quota"))
    properties = {
        **kept["properties"],
        "supportTicketId": kept["created"].replace("-", "")[:8] + "0010001",
        "createdDate": kept["created"],
        "modifiedDate": kept["created"],
        "status": "Closed" if over else "Open",
    }
    return {
        "id": f"/subscriptions/{SUBSCRIPTION}/providers/{_TYPE}/{kept['name']}",
        "name": kept["name"],
        "type": _TYPE,
        "properties": properties,
    }
