"""The port of each node: logs, exec and port-forward, for only the API server.

Requests come over HTTPS with a client certificate and are answered in a kubelet's words. Behaviour: kubelet v1.36.2,
pkg/kubelet/server/server.go and pkg/kubelet/kubelet_pods.go.
"""

import asyncio
import ssl
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from localazure.folder import read_json
from localazure.kubernetes import infrastructure
from localazure.kubernetes.agent import logs, node_http, process_spec, runs
from localazure.kubernetes.agent.container import Container
from localazure.kubernetes.agent.node import Node
from localazure.kubernetes.agent.node_forms import ADDRESS
from localazure.kubernetes.agent.node_http import Request
from localazure.kubernetes.agent.pod import Pod
from localazure.kubernetes.agent.settings import Settings
from localazure.kubernetes.agent.streams import NoStreamsError, Streams

Body = dict[str, Any]
_CALLER, _MASTERS = "kube-apiserver-kubelet-client", "system:masters"
_NO_SHELL = (
    'OCI runtime exec failed: exec failed: unable to start container process: exec: "{}": executable file not found in $PATH'
)


class _RefusedError(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class KubeletApi:
    """Of all nodes."""

    def __init__(self, settings: Callable[[], Settings], pods: Mapping[str, Pod], streams: Streams) -> None:
        self._settings = settings
        self._pods = pods
        self._streams = streams
        self._servers: dict[str, asyncio.Server] = {}
        self._trust: ssl.SSLContext | None = None

    async def serve(self, node: Node) -> int:
        """Opens the node's port."""
        self._trust = self._trust or self._context()
        self._servers[node.name], port = await node_http.serve(self._handle, self._trust, ADDRESS, node.preferred_port)
        return port

    async def unserve(self, name: str) -> None:
        self._servers.pop(name).close()

    async def close(self) -> None:
        for server in self._servers.values():
            server.close()
        await self._streams.close()

    def _context(self) -> ssl.SSLContext:
        settings = self._settings()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(settings.serving["certificate"], settings.serving["key"])
        context.load_verify_locations(str(settings.authority))
        context.verify_mode = ssl.CERT_REQUIRED
        return context

    async def _handle(self, request: Request) -> bool:
        """Whether the connection continues."""
        user, groups = _who(request.peer)
        if user != _CALLER and _MASTERS not in groups:
            verb = "create" if request.method == "POST" else "get"
            await request.answer(403, f"Forbidden (user={user}, verb={verb}, resource=nodes, subresource=[proxy])")
            return True
        try:
            return await self._routed(request)
        except _RefusedError as error:
            await request.answer(error.status, str(error))
        except NoStreamsError as error:
            await request.answer(500, str(error))
        return True

    async def _routed(self, request: Request) -> bool:
        first, *rest = request.path
        if first == "containerLogs" and len(rest) == 3:
            await self._logs(self._container(*rest), request)
            return True
        if first == "exec" and len(rest) in (3, 4):
            await self._streams.lead(request, self._exec(self._container(rest[0], rest[1], rest[-1]), request))
            return False
        if first == "portForward" and len(rest) in (2, 3):
            pod = self._pod(rest[0], rest[1])
            if not any(one.run for one in pod.containers):
                raise _RefusedError(500, f'unable to do port forwarding: pod not found ("{pod.name}_{pod.namespace}")')
            await self._streams.lead(request, {"ports": {str(inside): ours for inside, ours in pod.all_ports.items()}})
            return False
        raise _RefusedError(404, "404 page not found\n")

    def _pod(self, namespace: str, name: str) -> Pod:
        for pod in self._pods.values():
            if (pod.namespace, pod.name) == (namespace, name):
                return pod
        raise _RefusedError(404, f'pod "{name}" not found in namespace "{namespace}"')

    def _container(self, namespace: str, pod: str, name: str) -> Container:
        found = next((one for one in self._pod(namespace, pod).containers if one.name == name), None)
        if found is None:
            raise _RefusedError(404, f'container "{name}" not found in pod "{pod}"')
        return found

    # Logs

    async def _logs(self, container: Container, request: Request) -> None:
        attempt = _attempt(container, previous=request.parameter("previous") == "true")
        known = container.known(attempt)
        requested = logs.LogOptions(
            follow=request.parameter("follow") == "true",
            tail=_number(request, "tailLines"),
            since=_since(request),
            timestamps=request.parameter("timestamps") == "true",
            limit=_number(request, "limitBytes"),
        )

        def ended() -> bool:
            return container.run is None or container.run.known.folder != known.folder

        await request.begin()
        async for piece in logs.told(known.log, requested, ended):
            await request.piece(piece)
        await request.finish()

    # Programs beside a container

    def _exec(self, container: Container, request: Request) -> Body:
        words = request.query.get("command", [])
        if container.run is None:
            raise _RefusedError(500, f'container not found ("{container.name}")')
        if infrastructure.known(container.spec["image"]):
            return {"error": _NO_SHELL.format(words[0] if words else "")}
        folder = container.run.known.folder
        record, spec = read_json(folder / "run.json") or {}, read_json(folder / "spec.json") or {}
        argv = process_spec.beside(words, record, spec, folder)
        env = {**spec["env"], **({"TERM": "xterm"} if request.parameter("tty") in ("1", "true") else {})}
        try:
            argv[0] = process_spec.located(argv, spec)
        except ValueError as error:
            return {"error": str(error)}
        return {"argv": argv, "env": [f"{name}={text}" for name, text in env.items()], "dir": spec["workdir"]}


def _who(peer: dict[str, Any]) -> tuple[str, list[str]]:
    """Name and groups of a client certificate."""
    fields = [pair for part in peer.get("subject", ()) for pair in part]
    names = [text for name, text in fields if name == "commonName"]
    return (names[0] if names else "", [text for name, text in fields if name == "organizationName"])


def _attempt(container: Container, *, previous: bool) -> int:
    """The run whose log is requested. Refusals as in pkg/kubelet/kubelet_pods.go, validateContainerLogStatus."""
    pod = container.pod
    numbers = [one for one in runs.attempts(pod.folder, container.name) if container.known(one).log.exists()]
    where = f'container "{container.name}" in pod "{pod.name}"'
    if previous:
        present = runs.attempts(pod.folder, container.name)[-1:] if container.run or container.state.terminated else []
        before = [one for one in numbers if one not in present]
        if not before:
            raise _RefusedError(400, f'previous terminated container "{container.name}" in pod "{pod.name}" not found')
        return before[-1]
    if not numbers:
        reason, _ = container.state.waiting or ("", "")
        if reason:
            raise _RefusedError(400, f"{where} is waiting to start: {_LOG_REASONS.get(reason, reason)}")
        raise _RefusedError(400, f"{where} is not available")
    return numbers[-1]


_LOG_REASONS = {"ErrImagePull": "image can't be pulled", "ImagePullBackOff": "trying and failing to pull image"}


def _number(request: Request, name: str) -> int | None:
    text = request.parameter(name)
    return int(text) if text.isdigit() else None


def _since(request: Request) -> str:
    """As the log writes times, so that texts compare as times do."""
    seconds, time = request.parameter("sinceSeconds"), request.parameter("sinceTime")
    if seconds.isdigit():
        since = datetime.now(UTC) - timedelta(seconds=int(seconds))
    elif time:
        since = datetime.fromisoformat(time.replace("Z", "+00:00")).astimezone(UTC)
    else:
        return ""
    return since.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
