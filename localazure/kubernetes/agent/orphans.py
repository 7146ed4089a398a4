"""Pods that were deleted while no agent ran: what is left of them ends."""

import asyncio
import shutil
import signal
from collections.abc import Iterable
from pathlib import Path

from localazure.containers import supervision
from localazure.kubernetes.agent import leftovers

_SECONDS, _POLL_SECONDS = 3.0, 0.05


async def end(pods: Path, known: Iterable[str]) -> None:
    """`pods`: a folder for each pod by uid. `known`: those that are there."""
    kept = set(known)
    await asyncio.gather(*(end_one(folder) for folder in pods.glob("*/") if folder.name not in kept))


async def end_one(pod: Path) -> None:
    """What a pod's folder tells of ends, and the folder goes."""
    runs = [spec.parent for spec in pod.glob("*/spec.json")]
    loop = asyncio.get_running_loop()
    until = loop.time() + _SECONDS
    for run in runs:
        supervision.signal_leader(supervision.holder(run) or 0, signal.SIGTERM)
        await asyncio.to_thread((run / "spec.json").unlink, missing_ok=True)  # a shim without it ends, with its container
    while any(supervision.holder(run) is not None for run in runs) and loop.time() < until:
        await asyncio.sleep(_POLL_SECONDS)
    for run in runs:
        await asyncio.to_thread(leftovers.end, run)
    await asyncio.to_thread(shutil.rmtree, pod, ignore_errors=True)
