"""Minimum durations of operations that are quick here, so that others meet them while they run."""

from localazure import evidence
from localazure.services import Services


async def begin(arm_type: str, services: Services) -> None:
    """Lets time pass before the work of an operation; it is in progress meanwhile."""
    seconds = services.weather.seconds(evidence.types().get(arm_type, {}).get("slow", ""))
    if seconds:
        await services.clock.sleep(seconds)
