"""AKS's run command: a shell command with kubectl that reaches the API of a cluster from inside of its network.

AKS runs it in a pod, `command-<id>` in the namespace `aks-command`. Here it is a process of this machine, so that neither nodes
nor policies keep it from starting, and it has helm where this machine does. The first 512 kB of its output are kept
(MicrosoftDocs/azure-aks-docs, articles/aks/access-private-cluster.md, 2025-06-10).
"""

import asyncio
import io
import os
import shutil
import signal
import uuid
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from localazure.folder import SECRET_MODE, write_json
from localazure.kubernetes.clusters import Clusters

OUTPUT_BYTES = 512 * 1024
_KEPT = 50  # results of this server; older ones are gone
_AS_KUBECONFIG = ".kube-config"
Stamp = Callable[[], str]  # the time, as ARM writes it


@dataclass(slots=True)
class Command:
    """One command. Without an exit code it still runs."""

    id: str
    cluster: str
    started_at: str = ""
    finished_at: str = ""
    exit_code: int | None = None
    output: str = ""


class RunCommands:
    """Those of all clusters, for as long as this server runs."""

    def __init__(self, clusters: Clusters) -> None:
        self._clusters = clusters
        self._commands: dict[str, Command] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def find(self, key: str, command_id: str) -> Command | None:
        found = self._commands.get(command_id)
        return found if found is not None and found.cluster == key else None

    def begin(self, key: str, shell: str, token: str | None, files: bytes, stamp: Stamp) -> Command:
        """`token`: of Entra, for the one who asks; None: an administrator. `files`: a zip. zipfile.BadZipFile if it is none."""
        archive = zipfile.ZipFile(io.BytesIO(files)) if files else None
        command = Command(uuid.uuid4().hex, key)
        folder = self._clusters.folder(key) / "commands" / command.id
        folder.mkdir(parents=True, mode=0o700)
        if archive is not None:
            archive.extractall(folder)
        write_json(folder / _AS_KUBECONFIG, self._clusters.kubeconfig_inside(key, token), SECRET_MODE)
        self._commands[command.id] = command
        for old in list(self._commands)[:-_KEPT]:
            del self._commands[old]
        task = asyncio.create_task(self._run(command, folder, shell, stamp))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return command

    async def _run(self, command: Command, folder: Path, shell: str, stamp: Stamp) -> None:
        environment = {
            "PATH": os.pathsep.join(str(each) for each in (self._clusters.programs, os.environ.get("PATH", os.defpath)) if each),
            "KUBECONFIG": str(folder / _AS_KUBECONFIG),
            "HOME": str(folder),
        }
        command.started_at = stamp()
        try:
            process = await asyncio.create_subprocess_exec(
                *("/bin/sh", "-c", shell),
                cwd=folder,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                command.output = await _first(process)
                exit_code = await process.wait()
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # what it has left, and all of it where this server stops
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        command.finished_at, command.exit_code = stamp(), exit_code


async def _first(process: asyncio.subprocess.Process) -> str:
    """The beginning of its output; the rest is read, so that it can end."""
    assert process.stdout is not None
    kept = b""
    while part := await process.stdout.read(65536):
        kept += part[: OUTPUT_BYTES - len(kept)]
    return kept.decode("utf-8", errors="replace")
