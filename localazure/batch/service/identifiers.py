"""Rules for ids and numbers in the data plane beyond a body's shape.

Limits: the documentation of azure-batch 15.1's models (id, priority, maxParallelTasks, BatchTaskConstraints, requiredSlots).
"""

import re

from localazure.arm.store import Body
from localazure.batch import durations
from localazure.batch.errors import invalid_value

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
PRIORITIES = (-1000, 1000)
MOST_SLOTS = 256
MOST_INT = 2**31 - 1


def check_id(name: str, value: str) -> None:
    if not _ID.fullmatch(value):
        reason = "It takes 1 to 64 letters, digits, hyphens and underscores"
        raise invalid_value(name, value[:100], reason)


def check_range(name: str, value: int | None, least: int, most: int = MOST_INT) -> None:
    if value is not None and not least <= value <= most:
        raise invalid_value(name, value, f"It takes {least} to {most}")


def check_constraints(constraints: Body | None, path: str) -> None:
    for name in ("maxWallClockTime", "retentionTime"):
        check_duration((constraints or {}).get(name), f"{path}.{name}")
    check_range(f"{path}.maxTaskRetryCount", (constraints or {}).get("maxTaskRetryCount"), -1)


def check_duration(text: str | None, path: str) -> None:
    if text is not None and durations.parse(text) is None:
        raise invalid_value(path, text[:100], "It takes an ISO 8601 duration, such as PT30M")
