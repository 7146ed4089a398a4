"""Instants as the store writes them, and their age."""

from datetime import UTC, datetime

from localazure.services import Services


def age(stamp: str, services: Services) -> float:
    """The seconds since an instant that `Clock.stamp` wrote; as good as forever where there is none."""
    if not stamp:
        return float("inf")
    then = datetime.fromisoformat(stamp.replace("Z", "+00:00"))
    return (services.clock.now() - (then if then.tzinfo else then.replace(tzinfo=UTC))).total_seconds()
