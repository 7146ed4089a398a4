"""Objects of the cluster as they are now, with a callback for each change.

They are a dictionary by uid, which is kept up to date while the agent runs.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from localazure.kubernetes.client import KubeApi, KubeError

Body = dict[str, Any]
log = logging.getLogger(__name__)
_AGAIN_SECONDS = 1.0


class Reflected:
    """Those at one path, all or the ones that `fields` selects."""

    def __init__(self, api: Callable[[], KubeApi], path: str, told: Callable[[Body, bool], None], fields: str = "") -> None:
        """`told`: an object, and whether it is gone."""
        self._api, self._path, self._fields = api, path, fields
        self._told = told
        self.known: dict[str, Body] = {}
        self.synced = asyncio.Event()

    async def run(self) -> None:
        """For ever."""
        while True:
            try:
                async for event in self._api().follow(self._path, fields=self._fields):
                    if event.type == "SYNCED":
                        self._all({one["metadata"]["uid"]: one for one in event.object.get("items") or ()})
                    elif event.type == "DELETED":
                        self._gone(event.object)
                    else:
                        self._there(event.object)
            except KubeError as error:
                log.warning("%s can't be watched: %s", self._path, error)
                await asyncio.sleep(_AGAIN_SECONDS)

    def _all(self, found: dict[str, Body]) -> None:
        for one in [one for uid, one in self.known.items() if uid not in found]:
            self._gone(one)
        for one in found.values():
            self._there(one)
        self.synced.set()

    def _there(self, one: Body) -> None:
        self.known[one["metadata"]["uid"]] = one
        self._told(one, False)

    def _gone(self, one: Body) -> None:
        self.known.pop(one["metadata"]["uid"], None)
        self._told(one, True)
