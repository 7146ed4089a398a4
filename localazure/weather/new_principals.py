"""The time until a new principal is known everywhere in the directory."""

from localazure.arm.store import Body, Resource
from localazure.services import Services
from localazure.weather import times
from localazure.weather.parts import NEW_PRINCIPALS


def is_found(owner: Resource, assignment: Body, services: Services) -> bool:
    """Whether a role assignment finds the principal of `owner`. One that says its type isn't looked up. `assignment`: its
    properties as they were sent."""
    if not services.weather.holds(NEW_PRINCIPALS) or assignment.get("principalType"):
        return True
    return times.age(owner.created_at, services) >= services.weather.seconds(NEW_PRINCIPALS)
