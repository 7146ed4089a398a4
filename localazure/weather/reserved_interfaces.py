"""Network interfaces that stay reserved for a machine which found no capacity."""

from datetime import timedelta

from localazure.arm.store import Resource
from localazure.services import Services


def reserve(machine: Resource, services: Services) -> None:
    """The machine couldn't be allocated."""
    until = services.clock.now() + timedelta(seconds=services.weather.seconds("reserved-interfaces"))
    for each in (machine.properties.get("networkProfile") or {}).get("networkInterfaces") or ():
        nic = services.store.get(str(each.get("id") or ""))
        if nic is not None:
            nic.private["reserved"] = {"for": machine.id.text, "until": until.isoformat()}
            services.store.put(nic)


def reserved_for(nic: Resource, services: Services) -> str:
    """The id of the machine for which an interface is reserved; empty: none."""
    found = nic.private.get("reserved") or {}
    holds = services.weather.holds("reserved-interfaces") and found.get("until", "") > services.clock.now().isoformat()
    return found["for"] if holds else ""
