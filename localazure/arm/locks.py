"""Locks that serialize the changes of one resource; different resources don't wait for each other.

Held by a request for as long as it works on the resource, and by a cascade for each resource that it takes away. What holds the
lock of a parent may take that of a child, never the other way round.
"""

import asyncio
from weakref import WeakValueDictionary

from azure_gpu.formats.arm_ids import ArmId
from localazure.arm.kind import Kind


class Locks:
    """A lock lives for as long as somebody holds or awaits it."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, kind: Kind, resource_id: ArmId) -> asyncio.Lock:
        """A name that is unique in all of Azure is locked as such, so that two groups can't both take it."""
        key = f"{kind.arm_type}/{resource_id.name}".lower() if kind.globally_unique else resource_id.key
        return self._locks.setdefault(key, asyncio.Lock())
