"""The Kubernetes clusters of one state folder: each with its own control plane, known by its ARM id.

A cluster is remembered in its folder's `cluster.json`: its identity, its requested state, whether it runs, its ports and secrets.
It is found again after a restart of the embedded Azure, and its port and certificates stay what they are.
"""

import asyncio
import base64
import hmac
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from azure_gpu.catalog.services.aks.workload_identity import USES_IDENTITY
from localazure.arm.errors import ArmError
from localazure.folder import SECRET_MODE, random_secret, read_json, write_json
from localazure.kubernetes import control_plane, control_plane_parts, kubeconfigs, programs
from localazure.kubernetes.client import Body, KubeApi, KubeError
from localazure.kubernetes.control_plane_folder import ClusterFolder, id_of
from localazure.kubernetes.control_plane_parts import PORTS, Outside
from localazure.kubernetes.documents import document
from localazure.kubernetes.model import ClusterShape

RUNNING, STOPPED = "Running", "Stopped"  # powerState, as ARM spells it
AGENT, WEBHOOK = "agent", "webhook"  # who has a secret of the cluster's: the node agent, the API server

Record = dict[str, Any]


READY_SECONDS = 120.0
_POLL_SECONDS = 0.1
_STAND_BY_SECONDS = 2.0  # between two looks at the shims
_ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"  # what pods of a new cluster wait for
log = logging.getLogger(__name__)


class ClusterContext(NamedTuple):
    """Where clusters are kept, and what they connect to."""

    folder: Path  # all clusters
    programs: Callable[[], Path | None]
    url: str = ""  # the embedded Azure; empty: none, so that there is neither Entra nor Azure RBAC
    authority: Path = Path()  # the certificate that vouches for it
    bundle: Path | None = None  # what programs in pods trust: the system's authorities, and this one
    issuer: str = ""  # of Entra's tokens
    groups: Path = Path()  # the file that names the folder of the controllers of groups, where there is one
    agent: Callable[[ClusterFolder], Sequence[str]] = control_plane_parts.agent_command


class Clusters:
    """Starts, stops and finds clusters. Calls for one cluster wait for each other."""

    def __init__(self, context: ClusterContext) -> None:
        self._context = context
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._apis: dict[str, KubeApi] = {}
        self._background: set[asyncio.Task[None]] = set()

    # Records

    def _folder(self, key: str) -> ClusterFolder:
        return ClusterFolder.of(self._context.folder, key.lower())

    def _find(self, key: str) -> Record | None:
        return read_json(self._folder(key).record)

    def _of(self, key: str) -> Record:
        """ArmError 404 where there is no such cluster."""
        record = self._find(key)
        if record is None:
            raise ArmError(404, "NotFound", f"There is no cluster {key}.")
        return record

    def _all(self) -> list[Record]:
        found = (read_json(path) for path in sorted(self._context.folder.glob("*/cluster.json")))
        return [record for record in found if record is not None]

    def _write(self, record: Record) -> None:
        write_json(self._folder(record["key"]).record, record, SECRET_MODE)

    def _asked_for(self, shape: ClusterShape) -> Record:
        """The cluster's record, with what it is asked to be now; a new one where there was none."""
        record = self._find(shape.key) or _new_record()
        record |= {"key": shape.key.lower(), "shape": shape._asdict()}
        self._write(record)
        return record

    def _key_with(self, whose: str, given: str) -> str | None:
        """The cluster whose secret this is."""
        same = (one for one in self._all() if hmac.compare_digest(str(one["secrets"][whose]).encode(), given.encode()))
        return next((str(one["key"]) for one in same), None)

    # What there is

    def folder(self, key: str) -> Path:
        return self._folder(key).root

    def exists(self, key: str) -> bool:
        return self._find(key) is not None

    def power(self, key: str) -> str:
        return str(self._of(key)["power"])

    def shape(self, key: str) -> ClusterShape:
        return shape_of(self._of(key))

    def records(self) -> list[ClusterShape]:
        return [shape_of(record) for record in self._all()]

    def server(self, key: str) -> str:
        """Where its API answers."""
        return control_plane_parts.server_of(self._of(key)["ports"])

    def issuer(self, key: str) -> str:
        """Who vouches for its service accounts: workload identity's OIDC issuer."""
        if not self._context.url:
            return "https://kubernetes.default.svc.cluster.local"
        return f"{self._context.url}/kubernetes/oidc/{id_of(key)}/"

    def kubeconfig(self, key: str, who: str, form: str = "") -> str:
        """What AKS hands out, as YAML. `who`: "admin", "user", "monitoring"; `form`: "exec" or "azure"."""
        admin = self._folder(key).pki.pair("admin")
        return kubeconfigs.handed_out(self.shape(key), self.server(key), self._authority(key), admin, who, form)

    def kubeconfig_inside(self, key: str, token: str | None) -> dict[str, Any]:
        """For a program that reaches it from inside of its network: with a token of Entra's, or as its administrator."""
        pki = self._folder(key).pki
        found = kubeconfigs.by_files(self.server(key), pki.authority, pki.pair("admin"))
        if token is not None:
            found["users"][0]["user"] = {"token": token}
        return found

    @property
    def programs(self) -> Path | None:
        """The folder of the control planes' programs, which has kubectl."""
        return self._context.programs()

    def _authority(self, key: str) -> Path:
        """The certificate that vouches for its API server."""
        return self._folder(key).pki.authority

    def api(self, key: str) -> KubeApi:
        """A client with every right, kept and closed here."""
        key = key.lower()
        server = self.server(key)
        if key not in self._apis or self._apis[key].server != server:
            pki = self._folder(key).pki
            pair = pki.pair("admin")
            self._apis[key] = KubeApi(server, pki.authority, pair.certificate, pair.key)
        return self._apis[key]

    def agent_key(self, token: str) -> str | None:
        """The cluster whose node agent has this token."""
        return self._key_with(AGENT, token)

    def key_of_webhook(self, identifier: str, secret: str) -> str | None:
        """The cluster with this id, where `secret` is what its API server asks with."""
        key = self._key_with(WEBHOOK, secret)
        return key if key is not None and id_of(key) == identifier else None

    def key_of(self, identifier: str) -> str | None:
        """The cluster with this id."""
        return next((str(record["key"]) for record in self._all() if id_of(record["key"]) == identifier), None)

    # What is done with them

    async def apply(self, shape: ClusterShape) -> None:
        """Makes the cluster this one, and returns when it answers. ArmError where it can't be run on this machine."""
        if self._context.programs() is None:
            raise _no_programs()
        async with self._locks[shape.key.lower()]:
            folder = self._folder(shape.key)
            folder.make()
            record = self._asked_for(shape)
            if record["power"] == RUNNING:
                await self._run(folder, record)
                await self._await_ready(shape.key)
                await self._bind_admins(shape)
                await self._set_webhook(shape)

    async def stop(self, key: str) -> None:
        """Ends the control plane and all pods; what is stored stays."""
        await self._switch(key, STOPPED)

    async def start(self, key: str) -> None:
        """Runs a stopped cluster again; returns when it answers."""
        await self._switch(key, RUNNING)

    async def remove(self, key: str) -> None:
        """Ends everything of the cluster and forgets it."""
        async with self._locks[key.lower()]:
            await self._close_api(key)
            await control_plane.remove(self._folder(key))

    async def started(self) -> None:
        """Resumes what an earlier server left: clusters that run are found, and those that should are started, in time."""
        for record in self._all():
            if record["power"] == RUNNING:
                self._in_background(self._take_up(str(record["key"])))
        self._in_background(self._stand_by())

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def stopping(self) -> None:
        """Leaves the clusters to their shims."""
        for task in list(self._background):
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        for key in list(self._apis):
            await self._close_api(key)

    async def _stand_by(self) -> None:
        """A shim that was killed gets a successor, for as long as this server runs."""
        while True:
            await asyncio.sleep(_STAND_BY_SECONDS)
            for record in self._all() if self._context.programs() is not None else ():
                key = str(record["key"])
                alone = record["power"] == RUNNING and not control_plane.is_whole(self._folder(key))
                if alone and not self._locks[key].locked():
                    await self._take_up(key)

    async def _take_up(self, key: str) -> None:
        try:
            async with self._locks[key]:
                record = self._find(key)
                if record is not None and record["power"] == RUNNING:
                    await self._run(self._folder(key), record)
        except (ArmError, OSError) as error:
            log.warning("cluster %s was not started: %s", key, error)

    async def _switch(self, key: str, power: str) -> None:
        async with self._locks[key.lower()]:
            folder, record = self._folder(key), self._of(key)
            record["power"] = power
            self._write(record)
            if power == RUNNING:
                await self._run(folder, record)
                await self._await_ready(key)
            else:
                await self._close_api(key)
                await control_plane.end(folder)
                await control_plane.end_pods(folder)

    async def _run(self, folder: ClusterFolder, record: Record) -> None:
        programs_folder = self._context.programs()
        if programs_folder is None:
            raise _no_programs()
        await asyncio.to_thread(folder.pki.make)
        await control_plane.end_earlier(folder)
        if not control_plane.runs(folder):
            replace_taken_ports(record)
            self._write(record)
        shape, server = shape_of(record), control_plane_parts.server_of(record["ports"])
        control_plane_parts.write_files(folder, server, self._outside(shape, record))
        self._write_clients(folder, record, programs_folder)
        issuer = self.issuer(shape.key)
        told = {**record["ports"], "issuer": issuer, "keys": f"{issuer}openid/v1/jwks" if self._context.url else ""}
        store, api_server, *others = (control_plane_parts.part(name, folder, programs_folder, told) for name in programs.NEEDED)
        settings = {"url": self._context.url, "entra": shape.entra, "azureRbac": shape.azure_rbac}
        await asyncio.gather(
            control_plane.run(folder, control_plane.STORE, [store]),
            control_plane.run(folder, control_plane.SERVER, [api_server._replace(settings=settings)]),
        )
        await self._await(shape.key, lambda api: api.text("/readyz"))
        if command := self._context.agent(folder):
            others.append(control_plane_parts.agent_part(folder, command))
        await control_plane.run(folder, control_plane.CONTROLLERS, others)

    async def _await_ready(self, key: str) -> None:
        """Until pods can be made in it. ArmError where that doesn't come about."""
        await self._await(key, lambda api: api.find(_ACCOUNT))

    async def _await(self, key: str, look: Callable[[KubeApi], Awaitable[object]]) -> None:
        api = self.api(key)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + READY_SECONDS
        while loop.time() < deadline:
            try:
                if await look(api):
                    return
            except KubeError as error:
                log.debug("cluster %s: %s", key, error)
            await asyncio.sleep(_POLL_SECONDS)
        why = control_plane.last_words(self._folder(key))
        raise ArmError(500, "InternalOperationError", f"The control plane of the cluster didn't become ready: {why}.")

    async def _bind_admins(self, shape: ClusterShape) -> None:
        """The groups of `adminGroupObjectIDs` are administrators by Kubernetes' own rules."""
        binding = document("objects")["admins"]
        group = {"apiGroup": binding["roleRef"]["apiGroup"], "kind": "Group"}
        binding["subjects"] = [{**group, "name": each} for each in shape.admin_groups]
        await self._place(shape, "clusterrolebindings", binding, wanted=bool(shape.admin_groups))

    async def _set_webhook(self, shape: ClusterShape) -> None:
        """Pods that are to speak as an identity are changed by the embedded Azure, where the cluster has that on."""
        found, wanted = document("objects")["identity_webhook"], bool(shape.workload_identity and self._context.url)
        url = f"{self._context.url}/kubernetes/workload-identity/{id_of(shape.key)}"
        bundle = base64.b64encode(self._context.authority.read_bytes()).decode("ascii") if wanted else ""
        found["webhooks"][0] |= {
            "clientConfig": {"url": url, "caBundle": bundle},
            "objectSelector": {"matchLabels": dict(USES_IDENTITY)},
        }
        await self._place(shape, "mutatingwebhookconfigurations", found, wanted=wanted)

    async def _place(self, shape: ClusterShape, kinds: str, body: Body, *, wanted: bool) -> None:
        api, path = self.api(shape.key), f"/apis/{body['apiVersion']}/{kinds}/{body['metadata']['name']}"
        await (api.apply(path, body, field_manager="aks") if wanted else api.delete(path))

    def _write_clients(self, folder: ClusterFolder, record: Record, programs_folder: Path) -> None:
        pki, server = folder.pki, control_plane_parts.server_of(record["ports"])
        write_json(folder.admin_kubeconfig, kubeconfigs.by_files(server, pki.authority, pki.pair("admin")), SECRET_MODE)
        client, serving = pki.pair("agent"), pki.pair("kubelet")
        settings = {
            "server": server,
            "ca": str(pki.authority),
            "client": {"certificate": str(client.certificate), "key": str(client.key)},
            "serving": {"certificate": str(serving.certificate), "key": str(serving.key)},
            "programs": str(programs_folder),
            "groups": str(self._context.groups),
            "embedded": {
                "url": self._context.url,
                "ca": str(self._context.authority),
                "token": record["secrets"][AGENT],
                "bundle": str(self._context.bundle or ""),
            },
        }
        if read_json(folder.agent_settings) != settings:
            write_json(folder.agent_settings, settings, SECRET_MODE)

    def _outside(self, shape: ClusterShape, record: Record) -> Outside | None:
        if not (self._context.url and shape.entra):
            return None
        webhook = f"{self._context.url}/kubernetes/authorization/{id_of(shape.key)}" if shape.azure_rbac else ""
        return Outside(self._context.authority, self._context.issuer, webhook, record["secrets"][WEBHOOK])

    async def _close_api(self, key: str) -> None:
        api = self._apis.pop(key.lower(), None)
        if api is not None:
            await api.close()


def _no_programs() -> ArmError:
    return ArmError(
        501, "NotImplemented", f"The embedded Azure has no Kubernetes on this machine yet: `{programs.MAKE}` builds it, once."
    )


def _new_record() -> Record:
    taken: set[int] = set()
    for _ in PORTS:
        taken.add(control_plane.free_port(taken))
    ports = dict(zip(PORTS, sorted(taken), strict=True))
    return {"power": RUNNING, "ports": ports, "secrets": {AGENT: random_secret(), WEBHOOK: random_secret()}}


def replace_taken_ports(record: Record) -> None:
    """Before a start: somebody else may have taken a port meanwhile."""
    ports = record["ports"]
    for name, port in ports.items():
        if not control_plane.is_free(port):
            ports[name] = control_plane.free_port(set(ports.values()))


def shape_of(record: Record) -> ClusterShape:
    return ClusterShape(**{**record["shape"], "key": record["key"]})
