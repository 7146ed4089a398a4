"""Reads recent failures from the subscription's activity log, the newest first; none if the log can't be read. What succeeded
later, or was deleted since, is no failure any more.

Source: Microsoft Learn, REST reference of Azure Monitor 2015-04-01, "Activity Logs - List": the filter takes a time and one of
resourceUri, resourceGroupName and a few others; properties.statusMessage holds ARM's answer as JSON text.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from azure_gpu.formats import arm_ids
from azure_gpu.formats.dates import instant
from azure_gpu.stack.requests import Name
from azure_gpu_operations.azure import Arm, AzureError
from azure_gpu_operations.explain.facts import Refusal

API_VERSION = "2015-04-01"
DAYS = 7


def of_resource(arm: Arm, resource_id: str) -> tuple[Refusal, ...]:
    return tuple(refusal for _, refusal in _failed(arm, f"resourceUri eq '{_quoted(resource_id)}'"))


def below(arm: Arm, parent_id: str) -> dict[str, tuple[Refusal, ...]]:
    """The failures of each resource below another, by its id in lower case, the newest first."""
    group, prefix = parent_id.split("/")[4], f"{parent_id.lower()}/"
    found: dict[str, tuple[Refusal, ...]] = {}
    for resource_id, refusal in _failed(arm, f"resourceGroupName eq '{_quoted(group)}'"):
        if resource_id.lower().startswith(prefix):
            found[resource_id.lower()] = (*found.get(resource_id.lower(), ()), refusal)
    return found


def find(arm: Arm, resource_group: str, name: str, planned: Sequence[Name]) -> str:
    """The id of what was last refused in a resource group and is called so, or is one of `planned`; "" where there is none.

    A stack whose first update failed has no id of the failed resource; its plan has the name.
    """
    planned_names = {(each.arm_type.lower(), each.name.lower()) for each in planned}
    for resource_id, _ in _failed(arm, f"resourceGroupName eq '{_quoted(resource_group)}'"):
        found = arm_ids.parse(resource_id)
        if found and (found.name.lower() == name.lower() or (found.type.lower(), found.name.lower()) in planned_names):
            return resource_id
    return ""


def _failed(arm: Arm, condition: str) -> list[tuple[str, Refusal]]:
    now = datetime.now(UTC)
    since = now - timedelta(days=DAYS)
    query = f"eventTimestamp ge '{_stamp(since)}' and eventTimestamp le '{_stamp(now + timedelta(minutes=5))}' and {condition}"
    path = f"/subscriptions/{arm.subscription_id}/providers/Microsoft.Insights/eventtypes/management/values"
    try:
        events = list(arm.values(path, API_VERSION, **{"$filter": query}))
    except AzureError:
        return []
    earliest = datetime.min.replace(tzinfo=UTC)
    done: dict[tuple[str, str], datetime] = {}  # the last success of each operation on each resource
    for event in events:
        if _value(event.get("status")) == "Succeeded":
            key = (str(event.get("resourceId", "")).lower(), _value(event.get("operationName")).lower())
            done[key] = max(done.get(key, earliest), instant(event.get("eventTimestamp")) or earliest)

    def is_over(resource_id: str, refusal: Refusal) -> bool:
        operation = refusal.operation.lower()
        ends = (operation, f"{operation.rpartition('/')[0]}/delete")
        return any(done.get((resource_id.lower(), end), earliest) > (refusal.at or earliest) for end in ends)

    failures = [(str(event.get("resourceId", "")), event) for event in events if _value(event.get("status")) == "Failed"]
    found = [(resource_id, refusal) for resource_id, event in failures if not is_over(resource_id, refusal := refusal_of(event))]
    return sorted(found, key=lambda each: each[1].at or earliest, reverse=True)


def refusal_of(event: dict[str, Any]) -> Refusal:
    """One failed event. The message is ARM's with all its details, or as much of the text as there is."""
    properties = event.get("properties") or {}
    text = str(properties.get("statusMessage") or "")
    code, message = "", text
    try:
        answer = json.loads(text)
        error = answer.get("error") or answer
        code, message = str(error.get("code") or ""), "; ".join(_messages(error))
    except (ValueError, AttributeError):
        pass
    operation = _value(event.get("operationName"))
    at = instant(event.get("eventTimestamp"))
    return Refusal(code or _value(event.get("subStatus")) or str(properties.get("statusCode") or ""), message, at, operation)


def _messages(error: dict[str, Any]) -> list[str]:
    """An error's own message and those of its details, each once."""
    found = [str(error.get("message") or "")]
    for detail in error.get("details") or []:
        found += _messages(detail)
    return list(dict.fromkeys(each for each in found if each))


def _value(field: Any) -> str:
    return str(field.get("value") or "") if isinstance(field, dict) else str(field or "")


def _quoted(text: str) -> str:
    return text.replace("'", "''")


def _stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
