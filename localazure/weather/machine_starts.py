"""The minutes until a machine that a service starts (a Batch node, an instance of a managed endpoint) is available.

Here it is there at once, but for one thing: who it runs as has roles that were assigned a moment before, and a machine that takes
longer to start than such a role takes to work never meets the difference.
"""

from azure_gpu.formats import azure_types
from localazure.services import Services
from localazure.weather import times
from localazure.weather.parts import PARTS, ROLE_DELAY

_SECONDS = PARTS[ROLE_DELAY].seconds  # as a rule; a longer delay that somebody turned on is met


async def begin(services: Services) -> None:
    """Lets the time pass until the roles that are assigned by now work, as they do as a rule; but those of whoever is signed in,
    whom no machine runs as."""
    if not services.weather.holds(ROLE_DELAY):
        return
    person = services.settings.principal_id
    every = services.store.of_type(azure_types.ROLE_ASSIGNMENT.arm_type)
    assigned = [each for each in every if each.properties["principalId"] != person]
    remaining = _SECONDS - min((times.age(each.changed_at, services) for each in assigned), default=_SECONDS)
    if remaining > 0:
        await services.clock.sleep(remaining)
