"""Deletes a resource with everything below it: children, a group's resources, role assignments on any of them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from localazure.arm.kind import Kind
from localazure.arm.locks import Locks
from localazure.arm.store import Resource
from localazure.services import Services


async def remove(
    resource: Resource,
    kinds: Mapping[str, Kind],
    services: Services,
    locks: Locks,
    cancel: Callable[[str], Awaitable[None]],
) -> None:
    """Removes what lies below, the deepest first, then the resource. `cancel` ends what is in progress for a resource below.

    Requests that are at work on something below are waited for: one that restarts containers would start them again afterwards.
    ArmError from a kind leaves what is not removed yet as it is.
    """
    # Asked again each time: a request that was accepted before may have added something.
    while below := services.store.below(resource.key):
        for each in sorted(below, key=lambda one: one.key.count("/"), reverse=True):
            async with locks.of(kinds[each.id.type.lower()], each.id):
                await cancel(each.key)
                if not services.store.below(each.key):  # else next time, behind what its creation has added meanwhile
                    await _remove_one(each, kinds, services)
            await asyncio.sleep(0)  # a group may hold a thousand; others are answered in between
    await _remove_one(resource, kinds, services)


async def _remove_one(resource: Resource, kinds: Mapping[str, Kind], services: Services) -> None:
    await kinds[resource.id.type.lower()].remove(resource, services)
    services.store.delete(resource.key)
