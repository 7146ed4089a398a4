"""The delay until role assignments take effect; a caller that was refused meanwhile is refused for some time more."""

from collections.abc import Hashable, Sequence
from datetime import timedelta

from localazure.arm.store import Resource
from localazure.services import Services
from localazure.weather import times
from localazure.weather.parts import ROLE_DELAY

REFUSAL_KEPT = timedelta(seconds=3)  # a webhook of AKS keeps one for 3 minutes: kubeguard/guard, authz/providers/azure/azure.go
_MOST_KEPT = 1000


def work(assignments: Sequence[Resource], question: Hashable, services: Services) -> bool:
    """Whether one of the assignments that permit something works by now. `question`: who wants what, for the memory of refusals;
    a refusal that comes out of that memory doesn't make it last longer."""
    weather = services.weather
    if not weather.holds(ROLE_DELAY):
        return bool(assignments)
    now, refused_until = services.clock.now(), weather.refusals.get(question)
    if refused_until is not None and now < refused_until:
        return False
    delay = weather.seconds(ROLE_DELAY)
    if any(times.age(each.changed_at, services) >= delay for each in assignments):
        weather.refusals.pop(question, None)
        return True
    if len(weather.refusals) >= _MOST_KEPT:
        weather.refusals.clear()
    weather.refusals[question] = now + REFUSAL_KEPT
    return False
