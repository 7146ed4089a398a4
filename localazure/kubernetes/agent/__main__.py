"""`python -m localazure.kubernetes.agent FOLDER`: the node agent of the cluster in this folder, until SIGTERM.

What pods run continues when it ends; `localazure.containers.runtime.Runtime(FOLDER / "pods").reap()` ends that.
"""

import asyncio
import contextlib
import logging
import os
import signal
import sys
from pathlib import Path

from localazure.containers import locks
from localazure.kubernetes.agent.agent import Agent
from localazure.kubernetes.control_plane_folder import ClusterFolder

_ALREADY = 3  # another agent stands over this cluster


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m localazure.kubernetes.agent FOLDER\n")
        return 2
    files = ClusterFolder(Path(arguments[0]))
    files.agent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(files.agent / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if not locks.taken(lock):
        sys.stderr.write(f"another agent stands over {files.root}\n")
        return _ALREADY
    os.truncate(lock, 0)
    os.write(lock, str(os.getpid()).encode())
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(_run(files))
    return 0


async def _run(files: ClusterFolder) -> None:
    running = asyncio.create_task(Agent(files).run())
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, running.cancel)
    await running


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
