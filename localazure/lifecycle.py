"""Starts and stops the server process of a state folder. One folder has one server."""

import asyncio
import os
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

from localazure import endpoint
from localazure.endpoint import Endpoint
from localazure.entra import identity as identities
from localazure.errors import CommandError
from localazure.folder import LocalFolder, locked, write_whole
from localazure.nothing_runs import choice
from localazure.plugin import installation
from localazure.process import POLL_SECONDS
from localazure.weather import state

START_SECONDS = 60
STOP_SECONDS = 15


def start(
    folder: LocalFolder,
    checkout: Path,
    as_of: date | None,
    engine_bin: Path | None,
    kubernetes_bin: Path | None = None,
    weather: str | None = None,
    *,
    nothing_runs: bool = False,
) -> tuple[Endpoint, bool]:
    """Starts the server in the background, waits until it answers, and writes the environment. False: it ran already.

    `kubernetes_bin`: where the programs of Kubernetes lie; `weather`: rough or calm; `nothing_runs`: start no process for what is
    declared. All are remembered in the folder, for this server and those after it.
    """
    from localazure import environment  # here, because only a start needs them
    from localazure.nothing_runs import kubernetes_api

    folder.create()
    if kubernetes_bin is not None:
        write_whole(folder.kubernetes_bin, f"{kubernetes_bin.resolve()}\n")
    with locked(folder.start_lock, wait=True):
        running = endpoint.read(folder)
        fresh = running is None or not running.alive
        if running is not None and not fresh and as_of is not None and running.as_of != as_of.isoformat():
            raise CommandError(
                f"a server already runs with --as-of {running.as_of or 'today'}, not {as_of}; "
                "run `python -m localazure stop` first"
            )
        if weather is not None and not fresh and weather != (kept := state.kept(folder.weather)):
            raise CommandError(
                f"a server already runs with --weather {kept}, not {weather}; run `python -m localazure stop` first"
            )
        choice.settle(folder, weather, nothing_runs=nothing_runs)
        child = _spawn(folder, checkout, as_of) if fresh else None
        answering = _wait_until_it_answers(folder, child)
        if choice.kept(folder):
            kubernetes_api.install(folder, answering.url)
        environment.write(folder, identities.load(folder), answering.url, engine_bin)
        for name in installation.STAND_INS:
            # Where nothing runs, the stand-ins plan without an API server; Pulumi's own can't.
            real = None if choice.kept(folder) else installation.real_plugin(folder, name, os.environ)
            installation.install(folder.pulumi_home, Path(sys.executable), checkout, name, real=real)
        return answering, fresh


def stop(folder: LocalFolder) -> bool:
    """Ends the server, every container's process, every node and cluster, and what keeps the blobs. False: no server ran."""
    if not folder.root.exists():
        return False
    from localazure.blobs import keeper

    with locked(folder.start_lock, wait=True):
        last = endpoint.read(folder)
        ran = last is not None and last.alive
        if last is not None:
            last.process.end(STOP_SECONDS)
        if not choice.kept(folder):  # where nothing runs there is no process, and loading this takes a third of a second
            asyncio.run(_reap(folder))
        keeper.await_end(folder.blobs)
        return ran


async def _reap(folder: LocalFolder) -> None:
    """Ends the processes that a server left running: containers, Batch nodes, machines and clusters."""
    from localazure.batch.nodes import agent as nodes
    from localazure.containers.runtime import Runtime
    from localazure.kubernetes import control_plane
    from localazure.ml.service import containers_below

    of_endpoints = containers_below(folder.ml_endpoints)
    of_groups = (folder.containers, folder.replicas, of_endpoints, folder.machine_containers, folder.ml_jobs)
    containers = (Runtime(part).reap() for part in of_groups)
    of_nodes = (nodes.reap(part) for part in (folder.batch, folder.machines))
    await asyncio.gather(*containers, *of_nodes, control_plane.reap(folder.clusters))


def running(folder: LocalFolder) -> Endpoint:
    """The server that runs. CommandError where none does."""
    last = endpoint.read(folder)
    if last is None or not last.alive:
        raise CommandError(f"no server runs for {folder.root}; run `python -m localazure start`")
    return last


def _spawn(folder: LocalFolder, checkout: Path, as_of: date | None) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "localazure", "--state", str(folder.root), "--checkout", str(checkout), "serve"]
    if as_of is not None:
        command += ["--as-of", as_of.isoformat()]
    with folder.server_log.open("ab") as log:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=Path(__file__).parents[1],
            start_new_session=True,  # an interrupt at the terminal is for whoever typed the command
        )


def _wait_until_it_answers(folder: LocalFolder, child: "subprocess.Popen[bytes] | None") -> Endpoint:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        known = endpoint.read(folder)
        if known is not None and known.alive and endpoint.answers(folder, known):
            return known
        if child is not None and child.poll() is not None:
            lines = folder.server_log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            said = lines[-1].strip() if lines else "it left no word"
            raise CommandError(f"the server failed to start: {said} (see {folder.server_log})")
        time.sleep(POLL_SECONDS)
    if child is not None:
        child.kill()
    raise CommandError(f"the server didn't answer within {START_SECONDS} s; see its log {folder.server_log}")
