"""Times as Kubernetes writes them: whole seconds in objects, six digits in leases and logs."""

from datetime import UTC, datetime


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def whole(stamp: str) -> str:
    """A time with a fraction, without it."""
    return stamp if "." not in stamp else stamp.partition(".")[0] + "Z"


def seconds(stamp: str) -> float:
    return datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()
