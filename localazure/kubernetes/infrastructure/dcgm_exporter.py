"""NVIDIA's DCGM exporter, emulated: `/metrics` and `/health` over HTTP on the port of its container.

Flags and variables as the real one has them; what the GPUs do is said by `gpu_usage`. Behaviour: NVIDIA/dcgm-exporter, pkg/cmd.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from localazure.kubernetes import gpu_usage
from localazure.kubernetes.client import KubeError
from localazure.kubernetes.infrastructure import dcgm_metrics
from localazure.kubernetes.infrastructure.context import ActorContext
from localazure.kubernetes.infrastructure.dcgm_metrics import CountersError, Holder, Metric
from localazure.kubernetes.infrastructure.device_map import ANNOTATION

PORT = 9400
DEFAULT_COUNTERS = "/etc/dcgm-exporter/default-counters.csv"
_FLAGS = {  # flag: variable
    "collectors": "DCGM_EXPORTER_COLLECTORS",
    "address": "DCGM_EXPORTER_LISTEN",
    "collect-interval": "DCGM_EXPORTER_INTERVAL",
    "kubernetes": "DCGM_EXPORTER_KUBERNETES",
    "kubernetes-virtual-gpus": "KUBERNETES_VIRTUAL_GPUS",
    "kubernetes-gpu-id-type": "DCGM_EXPORTER_KUBERNETES_GPU_ID_TYPE",
    "no-hostname": "DCGM_EXPORTER_NO_HOSTNAME",
}
_SHORT = {"f": "collectors", "a": "address", "c": "collect-interval", "k": "kubernetes", "n": "no-hostname"}
_SWITCHES = ("kubernetes", "kubernetes-virtual-gpus", "no-hostname")
_KEPT_SECONDS = 1.0  # what was seen of the GPUs


class DcgmExporter:
    """One run of the program."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._arguments = arguments
        self._metrics: list[Metric] = []
        self._text = ""
        self._read_at = 0.0

    async def run(self, context: ActorContext) -> int:
        values = self._values(context.env)
        _say(context, "info", "Starting dcgm-exporter")
        if not context.devices.gpus:
            _say(
                context,
                "error",
                "Failed to watch metrics: Error watching fields: The third-party Profiling module returned an "
                "unrecoverable error; no GPUs are visible",
            )
            return 1
        try:
            self._metrics = self._counters(context, values.get("collectors", DEFAULT_COUNTERS))
        except (CountersError, OSError) as error:
            _say(context, "fatal", f"Could not read metrics file: {error}")
            return 1
        number = int(values.get("address", f":{PORT}").rpartition(":")[2] or PORT)
        port = context.ports.get(number)
        if port is None:
            _say(context, "info", f"Listening on address :{number}, which isn't a port of the container here")
            await context.pause()
            return 0

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._answer(context, values, reader, writer)

        server = await asyncio.start_server(answer, "127.0.0.1", port)
        _say(context, "info", "Starting webserver")
        _say(context, "info", f"Listening on {values.get('address', f':{PORT}')}")
        async with server:
            await context.pause()
        return 0

    def _values(self, env: Mapping[str, str]) -> dict[str, str]:
        found = {flag: env[variable] for flag, variable in _FLAGS.items() if env.get(variable)}
        words = list(self._arguments)
        while words:
            flag, joined, value = words.pop(0).lstrip("-").partition("=")
            flag = _SHORT.get(flag, flag)
            if not joined and flag in _SWITCHES:
                value = "true"
            elif not joined and words:
                value = words.pop(0)
            found[flag] = value
        return found

    def _counters(self, context: ActorContext, file: str) -> list[Metric]:
        path = context.path(file)
        if path is None and file.startswith("/etc/dcgm-exporter/"):
            return list(dcgm_metrics.DEFAULT)  # the image's own
        return dcgm_metrics.read(context.read(file), lambda line: _say(context, "info", line))

    async def _answer(
        self, context: ActorContext, values: Mapping[str, str], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            request = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)).decode("latin-1")
            path = request.split(" ")[1].partition("?")[0]
            status, kind, body = "200 OK", "text/plain; version=0.0.4; charset=utf-8", ""
            if path == "/metrics":
                body = await self._read(context, values)
            elif path == "/health":
                body = "KO" if not context.devices.gpus else "OK"
            elif path == "/":
                kind, body = "text/html", '<html><body><h1>GPU Exporter</h1><p><a href="./metrics">Metrics</a></p></body></html>'
            else:
                status, body = "404 Not Found", "404 page not found\n"
            content = body.encode()
            head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\nConnection: close\r\n\r\n"
            writer.write(head.encode() + content)
            await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, ConnectionError, IndexError):
            pass  # the other side is gone
        finally:
            writer.close()

    async def _read(self, context: ActorContext, values: Mapping[str, str]) -> str:
        if time.monotonic() - self._read_at < _KEPT_SECONDS:
            return self._text
        state = context.devices.programs_of.state()
        found = await asyncio.to_thread(gpu_usage.sampled, state["programs"])
        with_pods = values.get("kubernetes", "false").lower() in ("true", "1", "t")
        holders = await self._holders(context) if with_pods else []
        host = context.env.get("NODE_NAME") or str(context.pod["metadata"]["name"])
        replicas = values.get("kubernetes-virtual-gpus", "false").lower() in ("true", "1", "t")
        self._text = dcgm_metrics.text(self._metrics, state, found, holders, host, pods=with_pods, replicas=replicas)
        self._read_at = time.monotonic()
        return self._text

    async def _holders(self, context: ActorContext) -> list[Holder]:
        try:
            listed = await context.api.list("/api/v1/pods", fields=f"spec.nodeName={context.node_name}")
        except KubeError as error:
            _say(context, "error", f"Failed to transform metrics for transform podMapper; err: {error.message}")
            return []
        names = {one["metadata"]["uid"]: one["metadata"] for one in listed["items"]}
        found: list[Holder] = []
        for (uid, container), resources in context.devices.holders().items():
            if uid in names:
                for ids in resources.values():
                    for one in ids:
                        device, _, replica = one.partition(ANNOTATION)
                        found.append(Holder(device, replica, names[uid]["namespace"], names[uid]["name"], container))
        return found


def _say(context: ActorContext, level: str, message: str) -> None:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    context.log(f'time="{now}" level={level} msg="{message}"')
