"""The probes of one running container: startup first, then readiness and liveness side by side.

Behaviour: kubelet v1.36.2, pkg/kubelet/prober/worker.go.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

Body = dict[str, Any]


class ProbeListener(NamedTuple):
    """Callbacks for the results of a container's probes."""

    started: Callable[[], None]
    ready: Callable[[bool], None]
    unhealthy: Callable[[str, str], None]  # which probe, and why
    restart: Callable[[str], Awaitable[None]]  # which probe has failed too often


async def run(container: Body, once: Callable[[Body, float], Awaitable[str]], listener: ProbeListener) -> None:
    """Until it is cancelled, or the container is to be restarted. `once` tries a probe: why it failed, or ""."""
    startup = container.get("startupProbe")
    if startup and not await _until(startup, "Startup", once, listener):
        await listener.restart("startup")
        return
    listener.started()
    loops = []
    if container.get("livenessProbe"):
        loops.append(asyncio.create_task(_live(container["livenessProbe"], once, listener)))
    if container.get("readinessProbe"):
        loops.append(asyncio.create_task(_ready(container["readinessProbe"], once, listener)))
    else:
        listener.ready(True)
    try:
        await asyncio.gather(*loops)
    finally:
        for loop in loops:
            loop.cancel()


async def _until(probe: Body, name: str, once: Callable[[Body, float], Awaitable[str]], listener: ProbeListener) -> bool:
    """Whether it succeeds before it has failed too often."""
    await asyncio.sleep(probe.get("initialDelaySeconds", 0))
    failures, successes = 0, 0
    while True:
        why = await once(probe, probe.get("timeoutSeconds", 1))
        if why:
            failures, successes = failures + 1, 0
            listener.unhealthy(name, why)
        else:
            failures, successes = 0, successes + 1
        if successes >= probe.get("successThreshold", 1):
            return True
        if failures >= probe.get("failureThreshold", 3):
            return False
        await asyncio.sleep(probe.get("periodSeconds", 10))


async def _live(probe: Body, once: Callable[[Body, float], Awaitable[str]], listener: ProbeListener) -> None:
    await asyncio.sleep(probe.get("initialDelaySeconds", 0))
    failures = 0
    while failures < probe.get("failureThreshold", 3):
        why = await once(probe, probe.get("timeoutSeconds", 1))
        failures = failures + 1 if why else 0
        if why:
            listener.unhealthy("Liveness", why)
        if failures < probe.get("failureThreshold", 3):
            await asyncio.sleep(probe.get("periodSeconds", 10))
    await listener.restart("liveness")


async def _ready(probe: Body, once: Callable[[Body, float], Awaitable[str]], listener: ProbeListener) -> None:
    await asyncio.sleep(probe.get("initialDelaySeconds", 0))
    failures, successes, ready = 0, 0, False
    while True:
        why = await once(probe, probe.get("timeoutSeconds", 1))
        if why:
            failures, successes = failures + 1, 0
            listener.unhealthy("Readiness", why)
        else:
            failures, successes = 0, successes + 1
        before = ready
        if successes >= probe.get("successThreshold", 1):
            ready = True
        elif failures >= probe.get("failureThreshold", 3):
            ready = False
        if ready != before:
            listener.ready(ready)
        # One that isn't ready yet is asked again sooner, so that a pod is ready when it is.
        await asyncio.sleep(probe.get("periodSeconds", 10) if ready else min(1, probe.get("periodSeconds", 10)))
