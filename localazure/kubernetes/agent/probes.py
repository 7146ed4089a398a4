"""The probes of one running container: startup first, then readiness and liveness side by side.

What a probe or a hook does once is a command beside the container, a request, or a connection: why it failed, or "". Behaviour:
kubelet v1.36.2, pkg/kubelet/prober/worker.go and pkg/probe.
"""

import asyncio
import contextlib
import os
import signal
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, NamedTuple

Body = dict[str, Any]


class ProbeListener(NamedTuple):
    """Callbacks for the results of a container's probes."""

    started: Callable[[], None]
    ready: Callable[[bool], None]
    unhealthy: Callable[[str, str], None]  # which probe, and why
    restart: Callable[[str], Awaitable[None]]  # which probe has failed too often


Once = Callable[[Body, float], Awaitable[str]]


async def run(container: Body, once: Once, listener: ProbeListener) -> None:
    """Until it is cancelled, or the container is to be restarted. `once` tries a probe: why it failed, or ""."""
    startup = container.get("startupProbe")
    if startup and not await _started(startup, once, listener):
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


async def _streaks(
    probe: Body, name: str, once: Once, listener: ProbeListener, hurry: Callable[[], bool] = lambda: False
) -> AsyncIterator[int]:
    """After each try, how often it has succeeded in a row; below 0, how often it has failed. `hurry`: the next comes soon."""
    await asyncio.sleep(probe.get("initialDelaySeconds", 0))
    streak = 0
    while True:
        why = await once(probe, probe.get("timeoutSeconds", 1))
        streak = min(streak, 0) - 1 if why else max(streak, 0) + 1
        if why:
            listener.unhealthy(name, why)
        yield streak
        period = probe.get("periodSeconds", 10)
        await asyncio.sleep(min(1, period) if hurry() else period)


def _failed(probe: Body, streak: int) -> bool:
    return -streak >= probe.get("failureThreshold", 3)


async def _started(probe: Body, once: Once, listener: ProbeListener) -> bool:
    """Whether it succeeds before it has failed too often."""
    async for streak in _streaks(probe, "Startup", once, listener):
        if streak >= probe.get("successThreshold", 1):
            return True
        if _failed(probe, streak):
            break
    return False


async def _live(probe: Body, once: Once, listener: ProbeListener) -> None:
    async for streak in _streaks(probe, "Liveness", once, listener):
        if _failed(probe, streak):
            await listener.restart("liveness")
            return


async def _ready(probe: Body, once: Once, listener: ProbeListener) -> None:
    ready = False

    def hurry() -> bool:
        """One that isn't ready yet is asked again sooner, so that a pod is ready when it is."""
        return not ready

    async for streak in _streaks(probe, "Readiness", once, listener, hurry):
        now = streak >= probe.get("successThreshold", 1) or (ready and not _failed(probe, streak))
        if now != ready:
            ready = now
            listener.ready(ready)


_ANSWER_BYTES = 10 * 1024  # pkg/probe/http: of an answer or an output in an event
_HOST = "127.0.0.1"


class Beside(NamedTuple):
    """How things of one container are reached."""

    argv: Callable[[list[str]], list[str]]  # a command with the container's own paths
    env: Mapping[str, str]
    folder: str
    places: Callable[[Any], list[tuple[str, int]]]  # where on this machine a port, by its number or name, may answer


async def once(handler: Body, beside: Beside, seconds: float) -> str:
    """Does what is asked, within the given seconds."""
    try:
        async with asyncio.timeout(seconds):
            if "exec" in handler:
                return await _command(handler["exec"].get("command") or [], beside)
            if "httpGet" in handler:
                return await _http(handler["httpGet"], beside)
            if "tcpSocket" in handler:
                return await _tcp(beside.places(handler["tcpSocket"]["port"]))
            if "sleep" in handler:
                await asyncio.sleep(handler["sleep"]["seconds"])
                return ""
    except TimeoutError:
        return f"command timed out after {seconds:g}s" if "exec" in handler else "context deadline exceeded"
    except (OSError, ValueError) as error:
        return str(error.strerror or error) if isinstance(error, OSError) else str(error)
    return "the embedded Azure does not implement probes of the kind grpc"


async def _command(words: list[str], beside: Beside) -> str:
    argv = beside.argv(words)
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=beside.folder,
        env=dict(beside.env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    return "" if process.returncode == 0 else output.decode("utf-8", errors="replace").strip()[:_ANSWER_BYTES]


async def _http(given: Body, beside: Beside) -> str:
    places, scheme = beside.places(given["port"]), (given.get("scheme") or "HTTP").lower()
    path = given.get("path") or "/"
    address = f"{scheme}://{_HOST}:{places[0][1]}{path}"
    trust = ssl._create_unverified_context() if scheme == "https" else None  # noqa: S323 - a kubelet doesn't check it either
    try:
        reader, writer = await _connected(places, trust)
    except OSError as error:
        return f'Get "{address}": dial tcp {_HOST}:{places[0][1]}: connect: {_lower(error)}'
    try:
        headers = {"Host": f"{_HOST}:{places[0][1]}", "User-Agent": "kube-probe/1.36", "Accept": "*/*", "Connection": "close"}
        headers |= {one["name"]: one["value"] for one in given.get("httpHeaders") or ()}
        head = "".join(f"{name}: {text}\r\n" for name, text in headers.items())
        writer.write(f"GET {path} HTTP/1.1\r\n{head}\r\n".encode())
        await writer.drain()
        first = (await reader.readline()).split()
    finally:
        writer.close()
    if len(first) < 2 or not first[1].isdigit():
        return f'Get "{address}": EOF'
    status = int(first[1])
    return "" if 200 <= status < 400 else f"HTTP probe failed with statuscode: {status}"


async def _connected(
    places: list[tuple[str, int]], trust: ssl.SSLContext | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """To the first that answers; OSError where none does."""
    for host, port in places[:-1]:
        with contextlib.suppress(OSError):
            return await asyncio.open_connection(host, port, ssl=trust)
    return await asyncio.open_connection(*places[-1], ssl=trust)


async def _tcp(places: list[tuple[str, int]]) -> str:
    try:
        _, writer = await _connected(places)
    except OSError as error:
        return f"dial tcp {_HOST}:{places[0][1]}: connect: {_lower(error)}"
    writer.close()
    return ""


def _lower(error: OSError) -> str:
    return (os.strerror(error.errno) if error.errno else str(error)).lower()
