"""The delay until role assignments take effect; a caller that was refused meanwhile is refused for some time more.

A machine that a service starts (a Batch node, an instance of a managed endpoint) is there at once, where Azure takes minutes, but
for one thing: who it runs as has roles that were assigned a moment before, and a machine that takes longer to start than such a
role takes to work never meets the difference. And a new principal isn't known everywhere in the directory for a while.
"""

from collections.abc import Hashable, Sequence
from datetime import timedelta

from azure_gpu.formats import azure_types
from localazure.arm.store import Body, Resource
from localazure.services import Services
from localazure.weather import times
from localazure.weather.parts import PARTS

REFUSAL_KEPT = timedelta(seconds=3)  # a webhook of AKS keeps one for 3 minutes: kubeguard/guard, authz/providers/azure/azure.go
_MOST_KEPT = 1000
_SECONDS = PARTS["role-delay"].seconds  # as a rule; a longer delay that somebody turned on is met


def work(assignments: Sequence[Resource], question: Hashable, services: Services) -> bool:
    """Whether one of the assignments that permit something works by now. `question`: who wants what, for the memory of refusals;
    a refusal that comes out of that memory doesn't make it last longer."""
    weather = services.weather
    if not weather.holds("role-delay"):
        return bool(assignments)
    now, refused_until = services.clock.now(), weather.refusals.get(question)
    if refused_until is not None and now < refused_until:
        return False
    delay = weather.seconds("role-delay")
    if any(times.age(each.changed_at, services) >= delay for each in assignments):
        weather.refusals.pop(question, None)
        return True
    if len(weather.refusals) >= _MOST_KEPT:
        weather.refusals.clear()
    weather.refusals[question] = now + REFUSAL_KEPT
    return False


async def machine_starts(services: Services) -> None:
    """Lets the time pass until the roles that are assigned by now work, as they do as a rule; but those of whoever is signed in,
    whom no machine runs as."""
    if not services.weather.holds("role-delay"):
        return
    person = services.settings.principal_id
    every = services.store.of_type(azure_types.ROLE_ASSIGNMENT.arm_type)
    assigned = [each for each in every if each.properties["principalId"] != person]
    remaining = _SECONDS - min((times.age(each.changed_at, services) for each in assigned), default=_SECONDS)
    if remaining > 0:
        await services.clock.sleep(remaining)


def is_found(owner: Resource, assignment: Body, services: Services) -> bool:
    """Whether a role assignment finds the principal of `owner`. One that says its type isn't looked up. `assignment`: its
    properties as they were sent."""
    if not services.weather.holds("new-principals") or assignment.get("principalType"):
        return True
    return times.age(owner.created_at, services) >= services.weather.seconds("new-principals")
