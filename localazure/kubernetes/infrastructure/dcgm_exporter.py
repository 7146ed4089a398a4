"""NVIDIA's DCGM exporter, emulated: `/health` and `/metrics` over HTTP on the port of its container.

The metrics are those that the usage of a simulated GPU has values for, whatever list of counters is given.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

from localazure.kubernetes import nvidia_smi
from localazure.kubernetes.client import KubeError
from localazure.kubernetes.infrastructure.context import ActorContext
from localazure.kubernetes.infrastructure.device_plugin import device_of

PORT = 9400
LISTEN = "DCGM_EXPORTER_LISTEN"  # the variable that names another port


class Holder(NamedTuple):
    """A container that has a GPU, an instance or a replica of one."""

    namespace: str
    pod: str
    container: str


class DcgmExporter:
    """One run of the program."""

    async def run(self, context: ActorContext) -> int:
        if not context.devices.gpus:
            context.log('level=error msg="Failed to watch metrics: no GPUs are visible"')
            return 1
        number = int(context.env.get(LISTEN, "").rpartition(":")[2] or PORT)
        port = context.ports.get(number)
        if port is None:
            context.log(f'level=info msg="Listening on :{number}, which isn\'t a port of the container here"')
            await context.pause()
            return 0

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await _answer(context, reader, writer)

        server = await asyncio.start_server(answer, "127.0.0.1", port)
        context.log(f'level=info msg="Listening on :{number}"')
        async with server:
            await context.pause()
        return 0


async def _answer(context: ActorContext, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        request = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)).decode("latin-1")
        path = request.split(" ")[1].partition("?")[0]
        status, body = "200 OK", "OK"
        if path == "/metrics":
            body = await _metrics(context)
        elif path != "/health":
            status, body = "404 Not Found", "404 page not found\n"
        content = body.encode()
        head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {len(content)}\r\n"
        writer.write(f"{head}Connection: close\r\n\r\n".encode() + content)
        await writer.drain()
    except (TimeoutError, asyncio.IncompleteReadError, ConnectionError, IndexError):
        pass  # the other side is gone
    finally:
        writer.close()


async def _metrics(context: ActorContext) -> str:
    state = context.devices.programs_of.state()
    found = await asyncio.to_thread(nvidia_smi.sampled, state["programs"])
    holders = await _holders(context)
    host = context.env.get("NODE_NAME") or str(context.pod["metadata"]["name"])
    lines: list[str] = []
    for gpu in state["gpus"]:
        for instance in gpu["instances"] or [None]:
            labels = {
                "gpu": str(gpu["index"]),
                "UUID": gpu["uuid"],
                "device": f"nvidia{gpu['index']}",
                "modelName": gpu["name"],
                **({"GPU_I_PROFILE": instance["profile"], "GPU_I_ID": str(instance["index"] + 7)} if instance else {}),
                "Hostname": host,
            }
            holder = holders.get((instance or gpu)["uuid"])
            inner = ",".join(f'{name}="{text}"' for name, text in {**labels, **(holder._asdict() if holder else {})}.items())
            lines += [f"{name}{{{inner}}} {value}" for name, value in _values(gpu, instance, state, found).items()]
    return "\n".join([*lines, ""])


def _values(gpu: Any, instance: Any, state: Mapping[str, Any], found: Any) -> dict[str, str]:
    busy, used = nvidia_smi.of_gpu(gpu, state["containers"], found)
    total = gpu["memory_mib"]
    if instance:
        used, total = nvidia_smi.of_instance(instance, state["containers"], found), instance["memory_mib"]
    return {
        "DCGM_FI_DEV_GPU_UTIL": str(busy),
        "DCGM_FI_DEV_FB_USED": str(used),
        "DCGM_FI_DEV_FB_FREE": str(total - used),
        "DCGM_FI_DEV_GPU_TEMP": str(nvidia_smi.celsius(busy)),
        "DCGM_FI_DEV_POWER_USAGE": f"{nvidia_smi.watts(gpu, busy):.6f}",
        "DCGM_FI_PROF_GR_ENGINE_ACTIVE": f"{busy / 100:.6f}",
    }


async def _holders(context: ActorContext) -> dict[str, Holder]:
    """By GPU or instance the last of the containers that have it."""
    try:
        listed = await context.api.list("/api/v1/pods", fields=f"spec.nodeName={context.node_name}")
    except KubeError as error:
        context.log(f'level=error msg="Failed to list pods: {error.message}"')
        return {}
    pods = {one["metadata"]["uid"]: one["metadata"] for one in listed["items"]}
    return {
        device_of(one): Holder(pods[uid]["namespace"], pods[uid]["name"], container)
        for (uid, container), resources in context.devices.holders().items()
        if uid in pods
        for ids in resources.values()
        for one in ids
    }
