"""The activity log: writes that were refused or that failed, as Azure Monitor tells them.

Neither a request's body nor what it was authorised with is kept. The real log has the writes that succeeded too.

Form of an event: Microsoft Learn, azure-monitor/platform/activity-log-schema ("Administrative"); filters: REST reference of
Microsoft.Insights 2015-04-01, "Activity Logs - List". Kept for 90 days, as the service does, and at most KEPT of them.
"""

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from string import Template

from localazure.arm.caller import Caller
from localazure.arm.errors import ArmError
from localazure.arm.store import Body, Operation
from localazure.services import Services
from localazure.subscriptions import SUBSCRIPTION

DAYS = timedelta(days=90)
KEPT = 1000
MOST_CHARACTERS = 16_384  # of an error's text
_EVENTS = "activity/"
_EVENT = Template(Path(__file__).with_name("activity_event.json").read_text(encoding="utf-8"))
_VERBS = {"PUT": "write", "PATCH": "write", "DELETE": "delete", "POST": "action"}
_OPERATION_VERBS = {"put": "write", "delete": "delete"}  # by the operation's kind; every other is the name of an action
_CONDITION = re.compile(r"\s*(\w+)\s+(eq|ge|le)\s+(?:'((?:[^']|'')*)'|(\S+))\s*(?:and\b|$)", re.IGNORECASE)
_TIMES, _EQUAL = "eventtimestamp", ("resourcegroupname", "resourceuri", "resourceid", "resourceprovider", "status", "caller")
_IGNORED = ("eventchannels", "levels", "correlationid")  # a local log has one channel; of correlations see `_holds`


def refused(method: str, segments: Sequence[str], caller: Caller, error: ArmError, correlation: str, services: Services) -> None:
    """Remembers a write that ARM or a service refused. A reading is none."""
    below = len(segments) > 2 and segments[0].lower() == "subscriptions" and segments[1] == SUBSCRIPTION
    if method in _VERBS and below:
        target, action = _target(segments, method)
        _keep(target, f"{action}/{_VERBS[method]}", error.status, error.body(), caller.app_id, correlation, services)


def failed(operation: Operation, services: Services) -> None:
    """Remembers a long operation that ended as Failed."""
    target, action = _target(operation.resource_id.strip("/").split("/"), "PUT")
    verb = _OPERATION_VERBS.get(operation.kind, f"{operation.kind}/action")
    body = {"error": operation.error or {"code": "Failed", "message": "The operation failed."}}
    _keep(target, f"{action}/{verb}", HTTPStatus.CONFLICT, body, services.settings.client_id, operation.id, services)


def _target(segments: Sequence[str], method: str) -> tuple[str, str]:
    """The resource that a path is about, and the operation's name without its verb.

    A POST's last part is an action; what stands between the resource and the action belongs to the operation's name.
    """
    lower = [segment.lower() for segment in segments]
    if "providers" not in lower[2:]:
        group = segments[:4]
        return "/" + "/".join(group), "/".join(["Microsoft.Resources/subscriptions/resourceGroups", *segments[4:]])
    start = len(lower) - 1 - lower[::-1].index("providers")
    types, own = list(segments[start + 1 : start + 2]), list(segments)
    rest = list(segments[start + 2 :])
    if method == "POST" and len(rest) % 2 == 1:
        own = own[:-1]
        types += [*rest[:-1:2], rest[-1]]
    else:
        types += rest[::2]
    return "/" + "/".join(own), "/".join(types)


def _keep(target: str, name: str, status: int, error: Body, caller: str, correlation: str, services: Services) -> None:
    now, event = services.clock.stamp(), str(uuid.uuid4())
    segments = target.strip("/").split("/")
    namespace, _, rest = name.partition("/")
    words = {
        "action": name,
        "target": target,
        "caller": caller,
        "correlation": correlation or event,
        "event": event,
        "now": now,
        "phrase": phrase(status),
        "status": str(status),
        "error": json.dumps(error)[:MOST_CHARACTERS],
        "group": segments[3] if len(segments) > 3 and segments[2].lower() == "resourcegroups" else "",
        "namespace": namespace,
        "type": "/".join([namespace, *rest.split("/")[:-1]]),
        "subscription": SUBSCRIPTION,
        "tenant": services.settings.tenant_id,
    }
    record = json.loads(_EVENT.substitute({word: json.dumps(each)[1:-1] for word, each in words.items()}))
    services.store.put_document(f"{_EVENTS}{now}-{event}", record)
    if event.startswith("00"):  # now and then, because it reads all of them
        _forget_old(services)


def phrase(status: int) -> str:
    """A status in words, as ARM writes it."""
    return HTTPStatus(status).phrase.replace(" ", "") if status in {one.value for one in HTTPStatus} else str(status)


def _forget_old(services: Services) -> dict[str, Body]:
    """The events that are left, by name, the oldest first."""
    found = services.store.documents(_EVENTS)
    oldest = services.clock.stamp(before=DAYS)
    kept = {name: event for name, event in list(found.items())[-KEPT:] if event["eventTimestamp"] >= oldest}
    for name in found.keys() - kept.keys():
        services.store.delete_document(name)
    return kept


# Listing


def listed(conditions: str, select: str, services: Services) -> list[Body]:
    """The events that fit a `$filter`, the newest first; with `$select` only what it names. ArmError 400."""
    requested = _parsed(conditions)
    names = {name.strip() for name in select.split(",") if name.strip()}
    events = [event for event in reversed(_forget_old(services).values()) if all(_holds(event, *each) for each in requested)]
    return [{name: value for name, value in event.items() if not names or name in names} for event in events]


def _parsed(text: str) -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    position = 0
    while position < len(text):
        match = _CONDITION.match(text, position)
        name = match[1].lower() if match else ""
        compared = match[2].lower() if match else ""
        known = (name == _TIMES and compared in ("ge", "le")) or (name in (*_EQUAL, *_IGNORED) and compared == "eq")
        if match is None or not known:
            raise _invalid(f"The filter '{text}' is invalid at '{text[position:]}'.")
        value = (match[3] if match[3] is not None else match[4]).replace("''", "'")
        if name == _TIMES:
            value = _instant(value)
        found.append((name, compared, value))
        position = match.end()
    if not any(name == _TIMES and compared == "ge" for name, compared, _ in found):
        raise _invalid("The filter requires eventTimestamp ge '<time>'.")
    return found


def _holds(event: Body, name: str, compared: str, value: str) -> bool:
    match name:
        case "eventtimestamp":
            return event["eventTimestamp"] >= value if compared == "ge" else event["eventTimestamp"] <= value
        case "correlationid":
            return event["correlationId"].lower() == value.lower()
        case _ if name in _IGNORED:
            return True
        case _:
            return _compared(event)[name].lower().strip("/") == value.lower().strip("/")


def _compared(event: Body) -> Mapping[str, str]:
    return {
        "resourcegroupname": event["resourceGroupName"],
        "resourceuri": event["resourceId"],
        "resourceid": event["resourceId"],
        "resourceprovider": event["resourceProviderName"]["value"],
        "status": event["status"]["value"],
        "caller": event["caller"],
    }


def _instant(text: str) -> str:
    """A time as events have it, so that texts can be compared."""
    digits = re.sub(r"(\.\d{6})\d+", r"\1", text)  # clients send up to seven digits behind the point
    try:
        moment = datetime.fromisoformat(digits)
        in_utc = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:  # the first day, in a zone in which it is the day before
        raise _invalid(f"'{text}' isn't a valid time.") from error
    return in_utc.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _invalid(message: str) -> ArmError:
    return ArmError(400, "BadRequest", message, target="$filter")
