"""The network of one cluster's pods, without root: an address of this machine for each, names, and Services that lead to pods.

Variables put a program into the network (see `pod_network.c`); each namespace has a file of names; each Service that has a pod
has a listener on this machine at its address and port. Names: Kubernetes' DNS specification,
https://github.com/kubernetes/dns/blob/master/docs/specification.md
"""

import asyncio
import contextlib
import hashlib
import logging
import random
import secrets
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from localazure.folder import write_whole
from localazure.kubernetes.agent.pod_facts import PodFacts
from localazure.kubernetes.agent.reflected import Reflected
from localazure.kubernetes.agent.streams import pump
from localazure.kubernetes.client import KubeApi

Body = dict[str, Any]
log = logging.getLogger(__name__)
ZONE = "cluster.local"
_SOURCE = Path(__file__).with_name("pod_network.c")
_COMPILERS = ("cc", "gcc", "clang", "g++")
_SERVICES, _SLICES = "/api/v1/services", "/apis/discovery.k8s.io/v1/endpointslices"
_SERVICE_OF = "kubernetes.io/service-name"  # the label of an EndpointSlice
_HOST = "127.0.0.1"
_AGAIN_SECONDS = 1.0


def new_loopback() -> str:
    """An address of this machine for one pod, out of four million, so that pods of other clusters hardly have it too; where a
    system has no more than one loopback address, that one."""
    if sys.platform != "linux":
        return _HOST
    return f"127.{128 + secrets.randbelow(64)}.{secrets.randbelow(256)}.{1 + secrets.randbelow(254)}"


class Port(NamedTuple):
    """Where a Service answers."""

    address: str
    port: int


class Network:
    """The network of one agent's pods."""

    def __init__(self, folder: Path, api: Callable[[], KubeApi], pods: Mapping[str, PodFacts]) -> None:
        """`folder`: for the library and the names. `pods`: those that run here, by uid."""
        self._folder = folder
        self._pods = pods
        self._reflected = services, slices = [Reflected(api, path, lambda *_: self._due.set()) for path in (_SERVICES, _SLICES)]
        self._services, self._slices = services.known, slices.known  # by uid
        self._due = asyncio.Event()
        self._compiled = asyncio.Event()
        self._library: Path | None = None
        self._listeners: dict[Port, asyncio.Server] = {}
        self._told: set[Port] = set()  # refusals of this machine are said once

    async def run(self) -> None:
        """For ever."""
        work = [
            asyncio.create_task(self._compile()),
            *(asyncio.create_task(one.run()) for one in self._reflected),
            asyncio.create_task(self._keep_up()),
        ]
        try:
            await asyncio.gather(*work)
        finally:
            for task in work:
                task.cancel()
            await asyncio.wait(work)
            for listener in self._listeners.values():
                listener.close()

    # What a container is started with

    async def variables(self, pod: PodFacts, given: Mapping[str, str]) -> dict[str, str]:
        """The variables of a container of the pod; none where this machine has no network. Its names are known from here on."""
        await self._compiled.wait()
        if self._library is None:
            return {}
        self._write_names(pod.namespace)
        self._due.set()  # pods of other namespaces may reach it by its address
        preloaded = given.get("LD_PRELOAD", "")
        found = {
            "LD_PRELOAD": f"{self._library}{f' {preloaded}' if preloaded else ''}",
            "AZURE_GPU_POD_HOSTS": str(self._names_file(pod.namespace)),
            "AZURE_GPU_POD_PORTS": ",".join(str(ours) for ours in pod.all_ports.values()),
        }
        return found | ({"AZURE_GPU_POD_LOOPBACK": pod.loopback} if pod.loopback != _HOST else {})

    async def _compile(self) -> None:
        """Makes the library once for these sources; without a compiler, or where programs can't be given one, there is none."""
        try:
            self._library = await self._built()
        except OSError as error:
            log.warning("pods have no network: %s", error)
        self._compiled.set()

    async def _built(self) -> Path | None:
        compiler = next((found for name in _COMPILERS if (found := shutil.which(name))), None)
        digest = hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:12]
        library = self._folder / f"pod_network-{digest}.so"
        if library.exists():
            return library
        if sys.platform != "linux" or compiler is None:
            log.warning("pods have no network: it needs Linux and a C compiler (%s)", ", ".join(_COMPILERS))
            return None
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        half = library.with_suffix(".half")
        flags = ["-O2", "-shared", "-fPIC", "-x", "c", str(_SOURCE), "-o", str(half), "-ldl"]
        process = await asyncio.create_subprocess_exec(
            compiler, *flags, stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
        )
        _, said = await process.communicate()
        if process.returncode != 0:
            log.warning("pods have no network: %s", said.decode(errors="replace").strip())
            return None
        half.rename(library)
        return library

    # What the cluster says

    async def _keep_up(self) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            try:
                for namespace in {pod.namespace for pod in self._pods.values()}:
                    self._write_names(namespace)
                await self._listen()
            except OSError as error:  # a full disk, say: tried again
                log.warning("names and Services: %s", error)
                await asyncio.sleep(_AGAIN_SECONDS)
                self._due.set()

    def _endpoints(self, service: Body) -> list[tuple[Body, Body]]:
        """The endpoints that are ready, each with its slice."""
        metadata = service["metadata"]
        return [
            (one, found)
            for found in self._slices.values()
            if found["metadata"]["namespace"] == metadata["namespace"]
            and (found["metadata"].get("labels") or {}).get(_SERVICE_OF) == metadata["name"]
            for one in found.get("endpoints") or ()
            if (one.get("conditions") or {}).get("ready", True) is not False
        ]

    def _pod_of(self, endpoint: Body) -> PodFacts | None:
        return self._pods.get((endpoint.get("targetRef") or {}).get("uid", ""))

    # Names

    def _names_file(self, namespace: str) -> Path:
        return self._folder / "names" / namespace / "hosts"

    def _write_names(self, namespace: str) -> None:
        file = self._names_file(namespace)
        text = "".join(f"{address} {' '.join(names)}\n" for address, names in self._names(namespace))
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(file, text, 0o600)

    def _names(self, seen_from: str) -> Iterable[tuple[str, list[str]]]:
        """Addresses with their names, as a pod of the namespace resolves them."""
        told: set[tuple[str, str]] = set()
        for pod in self._pods.values():
            spec = pod.body["spec"]
            if pod.over:
                continue  # its successor may have its names
            if pod.loopback != _HOST:
                yield pod.loopback, [pod.ip] if pod.ip else []
            if pod.namespace == seen_from and spec.get("subdomain") and spec.get("hostname"):
                # A container's own names are in its /etc/hosts before DNS knows them.
                told.add((pod.loopback, spec["hostname"]))
                yield pod.loopback, _spelled(f"{spec['hostname']}.{spec['subdomain']}", pod.namespace, seen_from)
        for service in self._services.values():
            metadata, address = service["metadata"], service["spec"].get("clusterIP")
            names = _spelled(metadata["name"], metadata["namespace"], seen_from)
            if address and address != "None":
                yield address, names
                continue
            for endpoint, _ in self._endpoints(service) if address == "None" else ():
                pod = self._pod_of(endpoint)
                if pod is None:
                    continue
                yield pod.loopback, names
                host = endpoint.get("hostname")
                if host and (pod.loopback, host) not in told:
                    yield pod.loopback, _spelled(f"{host}.{metadata['name']}", metadata["namespace"], seen_from)

    # Services

    async def _listen(self) -> None:
        requested = {
            Port(service["spec"]["clusterIP"], port["port"]): (service, port)
            for service in self._services.values()
            if service["spec"].get("clusterIP", "None").startswith("127.") and self._endpoints(service)
            for port in service["spec"].get("ports") or ()
            if port.get("protocol", "TCP") == "TCP"
        }
        for one in [one for one in self._listeners if one not in requested]:
            self._listeners.pop(one).close()
        for one, (service, port) in requested.items():
            if one in self._listeners:
                continue
            uid, name = service["metadata"]["uid"], port.get("name", "")
            try:
                self._listeners[one] = await asyncio.start_server(partial(self._lead, uid, name), one.address, one.port)
            except OSError as error:  # a port below 1024 without the right to it, or this machine has no such address
                if one not in self._told:
                    log.warning("Service %s at %s:%s: %s", service["metadata"]["name"], one.address, one.port, error)
                    self._told.add(one)

    async def _lead(self, uid: str, port: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A connection to one port of a Service: to one of its pods, by chance, as kube-proxy leads it."""
        service = self._services.get(uid)
        endpoints = self._endpoints(service) if service else []
        random.shuffle(endpoints)
        for endpoint, found in endpoints:
            number = next((one["port"] for one in found.get("ports") or () if one.get("name", "") == port), 0)
            pod = self._pod_of(endpoint)
            places = pod.reached_at(number) if pod is not None else [(address, number) for address in endpoint["addresses"]]
            for address, inside in places:
                with contextlib.suppress(OSError):
                    there, back = await asyncio.open_connection(address, inside)
                    await _both(reader, writer, there, back)
                    return
        writer.close()


def _spelled(name: str, namespace: str, seen_from: str) -> list[str]:
    """All spellings of a name of the namespace that a pod's search path finds."""
    whole = [f"{name}.{namespace}.svc.{ZONE}", f"{name}.{namespace}.svc", f"{name}.{namespace}"]
    return [*whole, name] if namespace == seen_from else whole


async def _both(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, there: asyncio.StreamReader, back: asyncio.StreamWriter
) -> None:
    try:
        await asyncio.gather(pump(reader, back), pump(there, writer))
    finally:
        for one in (writer, back):
            one.close()
