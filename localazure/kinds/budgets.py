"""Budgets of a subscription or a resource group. Kept and shown; nothing here costs money, so no notification is sent.

What is answered: the recorded session TestBudgetAtResourceGroupLevel of Azure/azure-powershell (2018-06-12, api-version
2018-01-31): 201 with Location, 200, 404 with the code 404, times of day cut off, keys of notifications with a small first letter,
lists of contacts filled in, and no spending in the answer to a PUT. Sentences of the service were read in
  - Start date of budgets cannot be updated: jpsnover/ai-triad-research pull request 1697 (2026-09-01), Azure/CanadaPubSecALZ
    issue 317 (2022-06-15)
  - Start date for monthly time grain, and one year: hashicorp/terraform-provider-azurerm pull request 12121 (2021-06-09)
  - There are changes made to Budget: MicrosoftDocs/azure-docs issue 34023 (2019-06-26), which shows the envelope and code 400 too
That `contactEmails` may be left out: Azure/bicep-types-az issue 1784 (2023-08-24); that roles alone may be told:
Azure/terraform-azurerm-lz-vending issue 394 (2024-08-09). Limits are of the REST description, and their sentences assumed.
"""

import hashlib
from datetime import UTC, date, datetime
from typing import Any

from azure_gpu.catalog.budgets import MOST_CONTACTS, MOST_NOTIFICATIONS, MOST_PERCENT
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import RESOURCE_GROUP_TYPE, SUBSCRIPTION_TYPE, ArmId, parse
from localazure.arm.errors import ArmError
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body, Resource
from localazure.services import Services

_CURRENCY = "USD"
_YEARS = 10  # the end where none is given: "we default this to 10 years from the start date"
_EARLIEST = date(2017, 6, 1)
_CONTACTS = ("contactEmails", "contactRoles", "contactGroups")
_SPENT: Body = {"amount": 0.0, "unit": _CURRENCY}


class Budgets(Kind):
    """An extension of a subscription or a resource group."""

    azure_type = azure_types.BUDGET
    location = "none"
    patchable = False
    shows_state = False
    created_location = True

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

    def check(self, change: Change) -> None:
        scope = parse(change.id.scope)
        if scope is None or scope.type not in (SUBSCRIPTION_TYPE, RESOURCE_GROUP_TYPE):
            raise _bad(f"A budget is of a subscription or a resource group, and not of '{change.id.scope}'.")
        given = change.body.get("eTag")
        if change.previous is not None and given and given != _etag(change.previous):
            raise _bad(f"There are changes made to Budget {change.id.name}. Please get the latest budget to avoid overwrite.")
        _check_period(change)
        _check_notifications(change.properties.get("notifications") or {})

    async def provision(self, change: Change) -> Body:
        start = _day(change.properties["timePeriod"]["startDate"], "startDate")
        end = change.properties["timePeriod"].get("endDate")
        last = _day(end, "endDate") if end else start.replace(year=start.year + _YEARS)
        return {"properties": {"timePeriod": {"startDate": _written(start), "endDate": _written(last)}}}

    def view(self, resource: Resource, services: Services) -> Body:
        body = super().view(resource, services)
        properties = dict(body["properties"])
        notifications = {_small(key): _filled(each) for key, each in (properties.get("notifications") or {}).items()}
        forecast = any(each.get("thresholdType") == "Forecasted" for each in notifications.values())
        shown = {
            **properties,
            "amount": float(properties["amount"]),
            "notifications": notifications,
            "currentSpend": None if resource.answering else _SPENT,
            **({"forecastSpend": _SPENT} if forecast and not resource.answering else {}),
        }
        return {**body, "eTag": _etag(resource), "properties": shown}

    def listed(self, scope: str, conditions: str, services: Services) -> list[Resource]:
        found = super().listed(scope, conditions, services)
        return [each for each in found if each.id.scope.lower() == scope.lower()]


def _check_period(change: Change) -> None:
    """Validated by the clock, and not by the day at which services are validated."""
    period = change.properties["timePeriod"]
    start = _day(period["startDate"], "startDate")
    if change.previous is not None:
        before = _day(change.previous.service["properties"]["timePeriod"]["startDate"], "startDate")
        if start != before:
            raise _bad("Start date of budgets cannot be updated. Please delete and create a new budget.")
    elif start.day != 1 or start < _EARLIEST:
        raise _bad(f"Start date {start.isoformat()} should be the first of a month, on or after {_EARLIEST.isoformat()}.")
    else:
        now = change.services.clock.now().astimezone(UTC).date()
        if start < now.replace(day=1):
            raise _bad("Start date for monthly time grain should not be prior to current month.")
        if start > now.replace(year=now.year + 1, day=1):
            raise _bad("Start date of the budget cannot be more than 1 year into the future.")
    end = period.get("endDate")
    if end and _day(end, "endDate") <= start:
        raise _bad("Start date should be less than end date.")


def _check_notifications(notifications: Body) -> None:
    if len(notifications) > MOST_NOTIFICATIONS:
        raise _bad(f"A budget can have up to {MOST_NOTIFICATIONS} notifications, and not {len(notifications)}.")
    for key, each in notifications.items():
        told = {name: each.get(name) or [] for name in _CONTACTS}
        if not any(told.values()):
            raise _bad(f"Notification '{key}' should have at least one contact email, contact role or contact group.")
        if max(len(told["contactEmails"]), len(told["contactGroups"])) > MOST_CONTACTS:
            raise _bad(f"Notification '{key}' can have up to {MOST_CONTACTS} contacts of a kind.")
        if not 0 <= float(each["threshold"]) <= MOST_PERCENT:
            raise _bad(f"Threshold of notification '{key}' should be between 0 and {MOST_PERCENT}.")


def _day(text: Any, name: str) -> date:
    try:
        return datetime.fromisoformat(str(text)).date()
    except ValueError:
        raise _bad(f"'{text}' isn't a valid date for {name}.") from None


def _written(day: date) -> str:
    return f"{day.isoformat()}T00:00:00Z"


def _small(key: str) -> str:
    return key[:1].lower() + key[1:]


def _filled(notification: Body) -> Body:
    lists = {name: notification.get(name) or [] for name in _CONTACTS}
    return {"thresholdType": "Actual", **notification, "threshold": float(notification["threshold"]), **lists}


def _etag(resource: Resource) -> str:
    """`"1d402990c723f84"`: another one after each change."""
    return f'"{hashlib.sha256(f"{resource.key}{resource.changed_at}".encode()).hexdigest()[:15]}"'


def _bad(message: str) -> ArmError:
    return ArmError(400, "400", message)
