"""The pods of the cluster as they are now, with a callback for each change.

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


class Pods:
    """Those that are bound to a node."""

    def __init__(self, api: Callable[[], KubeApi], told: Callable[[Body, bool], None]) -> None:
        """`told`: a pod, and whether it is gone."""
        self._api = api
        self._told = told
        self.known: dict[str, Body] = {}
        self.synced = asyncio.Event()

    async def run(self) -> None:
        """For ever."""
        while True:
            try:
                async for event in self._api().follow("/api/v1/pods", fields="spec.nodeName!="):
                    if event.type == "SYNCED":
                        self._all({one["metadata"]["uid"]: one for one in event.object.get("items") or ()})
                    elif event.type == "DELETED":
                        self._gone(event.object)
                    else:
                        self._there(event.object)
            except KubeError as error:
                log.warning("pods can't be watched: %s", error)
                await asyncio.sleep(_AGAIN_SECONDS)

    def _all(self, found: dict[str, Body]) -> None:
        for pod in [pod for uid, pod in self.known.items() if uid not in found]:
            self._gone(pod)
        for pod in found.values():
            self._there(pod)
        self.synced.set()

    def _there(self, pod: Body) -> None:
        self.known[pod["metadata"]["uid"]] = pod
        self._told(pod, False)

    def _gone(self, pod: Body) -> None:
        self.known.pop(pod["metadata"]["uid"], None)
        self._told(pod, True)
