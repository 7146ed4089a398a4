"""Watches whether an instance is ready, by its readiness probe.

Until the first success, and after a request found nobody, it is tried often; then at the probe's own period. Like the service, an
instance is taken out of the traffic when as many tries in a row have failed as the probe's `failureThreshold` says.
"""

import asyncio
from collections.abc import Callable

from localazure.ml.settings import Probe
from localazure.ml.slots import Instance
from localazure.ml.upstream import LostError, NobodyListensError, Upstream
from localazure.waiting import canceled

OFTEN_SECONDS = 0.25


class Watch:
    """One instance, watched."""

    def __init__(self, instance: Instance, upstream: Upstream, path: str, probe: Probe, changed: Callable[[], None]) -> None:
        self.instance = instance
        self.probe = probe  # may be replaced
        self.why = "it was not asked yet"  # the last try failed
        self._upstream = upstream
        self._path = path.encode()
        self._changed = changed
        self._failures = self._successes = 0
        self._task = asyncio.create_task(self._run(), name=f"readiness of {instance.name}")

    async def stop(self) -> None:
        await canceled(self._task)
        self._upstream.close()
        self.instance.upstream.close()

    async def _run(self) -> None:
        while True:
            self.instance.disturbed.clear()
            self._judge(await self._why())
            seconds = self.probe.period if self.instance.ready else OFTEN_SECONDS
            try:
                async with asyncio.timeout(seconds):
                    await self.instance.disturbed.wait()
            except TimeoutError:
                continue
            self._failures = self._successes = 0  # a request found nobody there
            await asyncio.sleep(OFTEN_SECONDS / 5)

    def _judge(self, why: str) -> None:
        self.why = why
        if why:
            self._failures, self._successes = self._failures + 1, 0
            if self._failures >= self.probe.failure_threshold:
                self.instance.ready = False
            return
        self._failures, self._successes = 0, self._successes + 1
        if not self.instance.ready and self._successes >= self.probe.success_threshold:
            self.instance.ready = True
            self._changed()

    async def _why(self) -> str:
        """Why a try failed, or ""."""
        try:
            async with asyncio.timeout(self.probe.timeout):
                answer = await self._upstream.ask(b"GET", self._path, [(b"user-agent", b"kube-probe/local")], b"")
                status = await answer.drained()
        except NobodyListensError:
            return "connection refused"
        except LostError:
            return "the connection was closed without an answer"
        except TimeoutError:
            return f"no answer within {self.probe.timeout:g} s"
        return "" if 200 <= status < 400 else f"HTTP probe failed with statuscode: {status}"
