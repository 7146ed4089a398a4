"""Registrations of resource providers by `az provider register`; microsoft.insights isn't registered at first."""

from typing import Any

from localazure.arm.errors import ArmError
from localazure.services import Services
from localazure.subscriptions import SUBSCRIPTION

INSIGHTS = "microsoft.insights"
_DOCUMENT = "registrations"
_NOT_REGISTERED, _REGISTERED = "NotRegistered", "Registered"


class NotRegisteredError(ArmError):
    """What the service of diagnostic settings answers, without ARM's envelope: Azure/azure-rest-api-specs issue 12060."""

    def body(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message}


def register(namespace: str, services: Services, *, registered: bool) -> None:
    kept = services.store.document(_DOCUMENT) or {}
    services.store.put_document(_DOCUMENT, {**kept, namespace.lower(): _REGISTERED if registered else _NOT_REGISTERED})


def state(namespace: str, services: Services) -> str:
    """What a list of providers tells; a fault about the provider goes before everything."""
    told = services.deviations.registration(namespace)
    if told != _REGISTERED:
        return told
    kept = (services.store.document(_DOCUMENT) or {}).get(namespace.lower())
    if kept is not None:
        return str(kept)
    missing = namespace.lower() == INSIGHTS and services.weather.holds("unregistered-insights")
    return _NOT_REGISTERED if missing else _REGISTERED


def check_insights(services: Services) -> None:
    """For a diagnostic setting. Other types of the provider are ARM's to refuse, and clients register for them."""
    if services.weather.holds("unregistered-insights") and state(INSIGHTS, services) != _REGISTERED:
        raise NotRegisteredError(409, "Conflict", f"The subscription '{SUBSCRIPTION}' is not registered to use {INSIGHTS}.")
