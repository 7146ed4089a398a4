"""Budgets of a subscription or a resource group. Kept and shown; nothing here costs money, so no notification is sent.

What is answered: the recorded session TestBudgetAtResourceGroupLevel of Azure/azure-powershell (2018-06-12, api-version
2018-01-31): 201 with Location, 200, 404 with the code 404, times of day cut off, keys of notifications with a small first letter,
lists of contacts filled in, and no spending in the answer to a PUT.
That `contactEmails` may be left out: Azure/bicep-types-az issue 1784 (2023-08-24); that roles alone may be told:
Azure/terraform-azurerm-lz-vending issue 394 (2024-08-09).
"""

import hashlib
from datetime import UTC, date, datetime
from typing import Any

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId, parse
from localazure.arm.errors import ArmError
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body, Resource
from localazure.evidence import Refusal
from localazure.services import Services

_CURRENCY = "USD"
_YEARS = 10  # the end where none is given: "we default this to 10 years from the start date"
_SPENT: Body = {"amount": 0.0, "unit": _CURRENCY}


class Budgets(Kind):
    """An extension of a subscription or a resource group."""

    azure_type = azure_types.BUDGET

    def not_found(self, resource_id: ArmId) -> ArmError:
        entity = f"ResourceGroup, SubscriptionGuid: {resource_id.subscription}, resourceGroup: {resource_id.resource_group}"
        if not resource_id.resource_group:
            entity = f"Subscription, SubscriptionGuid: {resource_id.subscription}"
        return ArmError(404, "404", f"No budget found matching budgetName: {resource_id.name}, under entityType: {entity}.")

    def read(self, body: Body) -> Body:
        properties = body.get("properties")
        notifications = properties.get("notifications") if isinstance(properties, dict) else None
        if not isinstance(properties, dict) or not isinstance(notifications, dict):
            return body
        told = {key: {"contactEmails": [], **each} if isinstance(each, dict) else each for key, each in notifications.items()}
        return {**body, "properties": {**properties, "notifications": told}}

    def facts(self, change: Change) -> Body:
        """Of the clock, and not of the day at which services are validated."""
        scope = parse(change.id.scope)
        period, before = change.properties["timePeriod"], change.previous
        start, end = _day(period["startDate"]), _day(period.get("endDate"))
        now = change.services.clock.now().astimezone(UTC).date().replace(day=1)
        return {
            "scope": scope.type if scope is not None else "",
            "start": start,
            "end": end,
            "ends_first": bool(end) and end <= start,
            "month": now.isoformat(),
            "next_year": now.replace(year=now.year + 1).isoformat(),
            "was_start": _day(before.service["properties"]["timePeriod"]["startDate"]) if before else "",
            "etag": _etag(before) if before else "",
        }

    def refusal(self, row: Refusal, message: str, target: str, value: Any) -> ArmError:  # noqa: ARG002
        return ArmError(int(row.status), row.code, message)

    async def provision(self, change: Change) -> Body:
        period = change.properties["timePeriod"]
        start = date.fromisoformat(_day(period["startDate"]))
        last = _day(period.get("endDate")) or start.replace(year=start.year + _YEARS).isoformat()
        return {"properties": {"timePeriod": {"startDate": _written(start.isoformat()), "endDate": _written(last)}}}

    def view(self, resource: Resource, services: Services) -> Body:
        body = super().view(resource, services)
        properties = dict(body["properties"])
        notifications = {f"{key[:1].lower()}{key[1:]}": each for key, each in (properties.get("notifications") or {}).items()}
        forecast = any(each.get("thresholdType") == "Forecasted" for each in notifications.values())
        shown = {
            **properties,
            "notifications": notifications,
            "currentSpend": None if resource.answering else _SPENT,
            **({"forecastSpend": _SPENT} if forecast and not resource.answering else {}),
        }
        return {**body, "eTag": _etag(resource), "properties": shown}

    def listed(self, scope: str, conditions: str, services: Services) -> list[Resource]:
        found = super().listed(scope, conditions, services)
        return [each for each in found if each.id.scope.lower() == scope.lower()]


def _day(text: Any) -> str:
    """ "" where it is none."""
    try:
        return datetime.fromisoformat(str(text)).date().isoformat()
    except ValueError:
        return ""


def _written(day: str) -> str:
    return f"{day}T00:00:00Z"


def _etag(resource: Resource) -> str:
    """`"1d402990c723f84"`: another one after each change."""
    return f'"{hashlib.sha256(f"{resource.key}{resource.changed_at}".encode()).hexdigest()[:15]}"'
