"""Terminals and outputs of running containers over a websocket, as `az container exec` and `attach` use them.

Asking for one gives an address and a password. The address is opened once and for a short time; the first message is the
password, then bytes go both ways: what is typed, and what the program prints. There is no message for a changed window: clients
give its size when they ask.
"""

import asyncio
import contextlib
import fcntl
import hashlib
import hmac
import os
import pty
import secrets
import signal
import struct
import sys
import termios
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from localazure.containers import exec_entry
from localazure.containers.followed_log import FollowedLog
from localazure.containers.runtime import Runtime
from localazure.folder import random_secret
from localazure.services import Services

PATH = "/container-consoles"
OPEN_FOR = timedelta(minutes=1)
FIRST_MESSAGE_SECONDS = 10
_POLL_SECONDS = 0.05
_DOCUMENTS = "consoles/"
_CHUNK = 65536
_REFUSED = 1008  # RFC 6455: policy violation


class Console(NamedTuple):
    """What a client asked for: a program's terminal, or without a command the container's output."""

    group: str
    container: str
    command: str = ""
    rows: int = 0
    columns: int = 0


def opened(console: Console, services: Services) -> tuple[str, str]:
    """The address of a new console, and its password."""
    _forget_old(services)
    ticket, password = secrets.token_urlsafe(16), random_secret()
    record = {"console": console._asdict(), "password": _hash(password), "made": services.clock.stamp()}
    services.store.put_document(_DOCUMENTS + ticket, record)
    size = f"?rows={console.rows}&cols={console.columns}" if console.command else ""
    return f"{services.settings.url.replace('https:', 'wss:')}{PATH}/{ticket}{size}", password


def route(runtime: Runtime, services: Services) -> WebSocketRoute:
    async def serve(socket: WebSocket) -> None:
        await socket.accept()
        try:
            console = await _asked_for(socket, services)
            if console is None:
                await socket.close(_REFUSED)
                return
            await (_terminal(socket, console, runtime) if console.command else _output(socket, console, runtime))
            await socket.close()
        except (WebSocketDisconnect, RuntimeError):
            return  # the client has gone

    return WebSocketRoute(PATH + "/{ticket}", serve)


async def _asked_for(socket: WebSocket, services: Services) -> Console | None:
    """The console that a ticket and the first message open; it can't be opened again."""
    try:
        async with asyncio.timeout(FIRST_MESSAGE_SECONDS):
            first = await socket.receive()
    except TimeoutError:
        return None
    _forget_old(services)
    name = _DOCUMENTS + socket.path_params["ticket"]
    record = services.store.document(name)  # only now: another connection may have opened it meanwhile
    given = first.get("text") or (first.get("bytes") or b"").decode("utf-8", errors="replace")
    if record is None or not hmac.compare_digest(_hash(given), record["password"]):
        return None
    services.store.delete_document(name)
    return Console(**record["console"])


def _forget_old(services: Services) -> None:
    for name, record in services.store.documents(_DOCUMENTS).items():
        if record["made"] < services.clock.stamp(before=OPEN_FOR):
            services.store.delete_document(name)


def _hash(password: str) -> str:
    return hashlib.sha256(password.encode("utf-8", errors="replace")).hexdigest()


# A program's terminal


async def _terminal(socket: WebSocket, console: Console, runtime: Runtime) -> None:
    """Runs the program until it ends, the client goes, or the container does."""
    with contextlib.ExitStack() as opened:
        ours, theirs = pty.openpty()
        opened.callback(os.close, ours)
        fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", console.rows, console.columns, 0, 0))
        os.set_blocking(ours, False)
        folder = runtime.folder_of(console.group, console.container)
        program = (sys.executable, "-I", "-S", exec_entry.__file__, str(folder), console.command)
        try:
            process = await asyncio.create_subprocess_exec(*program, stdin=theirs, stdout=theirs, stderr=theirs)
        except OSError as error:  # such as a command that is longer than this machine takes
            await socket.send_bytes(f"exec: {error.strerror}\r\n".encode())
            return
        finally:
            os.close(theirs)
        tasks = [
            asyncio.create_task(_print(socket, ours)),
            asyncio.create_task(_type(socket, ours)),
            asyncio.create_task(_gone(console, runtime)),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            _end(process)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await process.wait()


def _end(process: asyncio.subprocess.Process) -> None:
    """Ends the program and what it started in its session: an interactive shell gives each of its jobs a separate group."""
    alone = [process.pid] if process.returncode is None else []  # the id of one that has ended may be another's by now
    for each in {*alone, *_session(process.pid)}:
        try:
            os.kill(each, signal.SIGKILL)
        except ProcessLookupError:
            continue


def _session(pid: int) -> list[int]:
    """The processes of a session; none where there is no /proc."""
    found: list[int] = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if fields[3] == str(pid):  # proc(5): field 6
            found.append(int(stat.parent.name))
    return found


async def _print(socket: WebSocket, terminal: int) -> None:
    """Sends what the program prints, until it has closed its terminal."""
    while True:
        await _readable(terminal)
        try:
            chunk = os.read(terminal, _CHUNK)
        except BlockingIOError:
            continue
        except OSError:  # Linux says so where nobody has the other end any more
            return
        if not chunk:
            return
        await socket.send_bytes(chunk)


async def _readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(descriptor, lambda: ready.done() or ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)


async def _type(socket: WebSocket, terminal: int) -> None:
    """Passes on what the client sends, until it goes."""
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return
        waiting = message.get("bytes") or (message.get("text") or "").encode()
        while waiting:
            try:
                waiting = waiting[os.write(terminal, waiting) :]
            except BlockingIOError:
                await asyncio.sleep(_POLL_SECONDS)
            except OSError:
                return


async def _gone(console: Console, runtime: Runtime) -> None:
    """Returns when the container's present run has ended."""
    began = _begun(console, runtime)
    while began and _begun(console, runtime) == began:
        await asyncio.sleep(10 * _POLL_SECONDS)


def _begun(console: Console, runtime: Runtime) -> str:
    current = (runtime.states(console.group).get(console.container) or {}).get("current") or {}
    return current["startTime"] if current.get("state") == "Running" else ""


# A container's output


async def _output(socket: WebSocket, console: Console, runtime: Runtime) -> None:
    """Sends what the container prints from its present run's beginning on, until it ends or the client goes."""
    client = asyncio.create_task(_until_gone(socket))
    log = FollowedLog(runtime.folder_of(console.group, console.container) / "log")
    began = _begun(console, runtime)
    try:
        while began and not client.done():
            runs_on = _begun(console, runtime) == began
            told = await asyncio.to_thread(log.read_on)
            for start in range(0, len(told), _CHUNK):
                await socket.send_bytes(told[start : start + _CHUNK])
            if not runs_on:
                return
            await asyncio.sleep(_POLL_SECONDS)
    finally:
        client.cancel()


async def _until_gone(socket: WebSocket) -> None:
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass
