"""Features of resource providers, for which a subscription registers: each is registered, unless a fault says otherwise.

A fault names namespace and feature, as in `Microsoft.ContainerService/AKSInfinibandSupport`; registering ends what it says.
Which features exist isn't known here, so that any name is one.
"""

from typing import Any

from localazure.arm.store import Store
from localazure.lists.deviations import REGISTERED, Deviations
from localazure.subscriptions import SUBSCRIPTION

_DOCUMENT = "features"


def register(namespace: str, name: str, store: Store) -> None:
    store.put_document(_DOCUMENT, {"names": sorted({*_registered(store), f"{namespace}/{name}".lower()})})


def forget(full: str, store: Store) -> None:
    """What an earlier request registered under this name, because a fault says otherwise now."""
    store.put_document(_DOCUMENT, {"names": sorted({*_registered(store)} - {full.lower()})})


def feature(namespace: str, name: str, deviations: Deviations, store: Store) -> dict[str, Any]:
    """What `az feature show` prints."""
    full = f"{namespace}/{name}"
    registered = full.lower() in _registered(store)
    return {
        "id": f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Features/providers/{namespace}/features/{name}",
        "name": full,
        "type": "Microsoft.Features/providers/features",
        "properties": {"state": REGISTERED if registered else deviations.registration(full)},
    }


def _registered(store: Store) -> list[str]:
    return (store.document(_DOCUMENT) or {"names": []})["names"]
