"""The changes of the subscription by faults: quotas, capacity, registrations, restrictions of sizes, forbidden actions, and
the networks that requests come from.

One object, handed to everything that answers from it; `Faults` keeps it up to date. Without faults it changes nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from azure_gpu.catalog import regions
from azure_gpu.catalog.sizes.lookup import normalise
from azure_gpu.catalog.sizes.model import same_family
from localazure.arm.caller import Caller
from localazure.arm.errors import ArmError, not_authorized
from localazure.fault import Fault

REGISTERED = "Registered"
_ACTIONS = {"PUT": "write", "PATCH": "write", "DELETE": "delete"}
_ALWAYS_REGISTERED = ("microsoft.resources", "microsoft.authorization")


@dataclass(slots=True)
class Deviations:
    """The faults that hold until they are cleared; of two about the same thing the later one counts."""

    faults: list[Fault] = field(default_factory=list[Fault])

    def quota(self, service: str, region: str, name: str, default: int) -> tuple[int, int]:
        """Limit and use of one quota: `default` and 0 where no fault says otherwise."""
        for fault in self._of("quota"):
            if fault.service == service and regions.normalise(fault.location) == region and same_family(fault.name, name):
                return fault.limit, fault.used
        return default, 0

    def lacks_capacity(self, region: str) -> bool:
        """Whether Container Instances has no machine left in a region."""
        return any(regions.normalise(fault.location) == region for fault in self._of("capacity"))

    def registration(self, namespace: str) -> str:
        """The state of a resource provider's registration."""
        return next((fault.registration for fault in self._of("provider") if fault.name.lower() == namespace.lower()), REGISTERED)

    def restrictions(self, size: str, region: str) -> list[tuple[str, str]]:
        """Why a size isn't available in a region: reason and zone, "" for the whole region."""
        return [
            (fault.reason, fault.zone)
            for fault in self._of("restrict")
            if normalise(fault.name).lower() == size.lower() and regions.normalise(fault.location) == region
        ]

    def forbidden(self) -> list[str]:
        """Actions that the caller may not do."""
        return sorted({fault.name for fault in self._of("forbid")})

    def networks(self) -> frozenset[str]:
        """Keys of the virtual networks in which whoever asks is."""
        return frozenset(fault.name.lower() for fault in self._of("inside"))

    def check_registered(self, namespace: str) -> None:
        """ArmError 409 in ARM's words where the subscription isn't registered."""
        if namespace.lower() not in _ALWAYS_REGISTERED and self.registration(namespace) != REGISTERED:
            raise ArmError(
                409,
                "MissingSubscriptionRegistration",
                f"The subscription is not registered to use namespace '{namespace}'. "
                "See https://aka.ms/rps-not-found for how to register subscriptions.",
                target=namespace,
            )

    def check_change(self, method: str, arm_type: str, scope: str, caller: Caller) -> None:
        """What forbids a change of a resource of this type: a right that is gone (403), or no registration (409)."""
        if method not in _ACTIONS:
            return
        action = f"{arm_type}/{_ACTIONS[method]}"
        if action.lower() in (name.lower() for name in self.forbidden()):
            raise not_authorized(caller, action, scope)
        if method != "DELETE":
            self.check_registered(arm_type.split("/")[0])

    def _of(self, kind: str) -> Iterator[Fault]:
        return (fault for fault in reversed(self.faults) if fault.kind == kind)
