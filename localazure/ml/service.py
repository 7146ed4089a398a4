"""Runs the deployments of online endpoints and routes requests to them. Kinds keep the ARM resources."""

import asyncio
import hashlib
import secrets
from datetime import datetime
from pathlib import Path

from starlette.types import ASGIApp

from azure_gpu.catalog.services.machine_learning.compute import KUBERNETES
from azure_gpu.formats import azure_types
from localazure.arm.store import Body, Resource
from localazure.blobs.service import Blobs
from localazure.containers.runtime import Runtime
from localazure.kubernetes.clusters import Clusters
from localazure.ml import assets, failures, settings
from localazure.ml.access import Identity
from localazure.ml.assets import Assets
from localazure.ml.authentication import Gate, own_token
from localazure.ml.downloads import InitializerLog, fetch
from localazure.ml.generations import MODELS, Generation, Plan, new
from localazure.ml.images import served
from localazure.ml.live import LiveEndpoint
from localazure.ml.pods import RunningOnCluster, cluster_of
from localazure.ml.router import PREFIX, Router
from localazure.ml.running import INITIALIZER, Running, of_file
from localazure.ml.slots import LiveDeployment
from localazure.services import Services


def containers_below(folder: Path) -> Path:
    """Where the runtime keeps the containers of all endpoints."""
    return folder / "containers"


AnyRunning = Running | RunningOnCluster

_DOCUMENT = "ml/online/"  # and the key of a deployment
SERVING, NEXT = "serving", "next"
KEYS, SECRET = "keys", "token_secret"  # of an endpoint's private part


class OnlineEndpoints:
    """What runs for the endpoints of one server."""

    def __init__(self, services: Services, blobs: Blobs, kubernetes: Clusters, folder: Path) -> None:
        self._services = services
        self._blobs = blobs
        self._clusters = kubernetes
        self._folder = folder
        self._runtime = Runtime(containers_below(folder))
        self._live: dict[tuple[str, str], LiveEndpoint] = {}  # by region and name in lower case
        self._running: dict[str, AnyRunning] = {}  # by the deployment's key
        self._router = Router(
            lambda region, name: self._live.get((region, name)), Gate(services, lambda: asyncio.get_running_loop().time())
        )

    def around(self, app: ASGIApp) -> ASGIApp:
        return self._router.around(app)

    # The server

    async def started(self) -> None:
        """Resumes what an earlier server left."""
        self._apply_all()
        store = self._services.store
        groups: list[str] = []
        for deployment in store.of_type(azure_types.ML_ONLINE_DEPLOYMENT.arm_type):
            record = self._record(deployment.key)
            groups += [Generation(**each).group for each in record.values()]
            if SERVING in record:
                self._take_up(deployment, Generation(**record[SERVING]))
        await self._runtime.adopt(groups)
        for endpoint in store.of_type(azure_types.ML_ONLINE_ENDPOINT.arm_type):
            self._share(endpoint)

    async def stopping(self) -> None:
        """Leaves the containers to the next server."""
        await self._router.close()
        await asyncio.gather(*(running.close() for running in self._running.values()))

    # Endpoints

    def scoring_uri(self, endpoint: Resource, below: str = "score") -> str:
        return f"{self._services.settings.url}{PREFIX}{endpoint.location}/{endpoint.id.name.lower()}/{below}"

    def new_keys(self, given: Body) -> Body:
        """What a new endpoint has: its keys, those that were given or made here."""
        keys = {name: str(given.get(name) or secrets.token_urlsafe(32)) for name in ("primaryKey", "secondaryKey")}
        return {KEYS: keys, SECRET: secrets.token_urlsafe(48)}

    def token(self, endpoint: Resource) -> tuple[str, datetime, datetime]:
        return own_token(endpoint.key, endpoint.private[SECRET], self._services.clock.now())

    def apply(self, endpoint: Resource) -> None:
        """An endpoint is what ARM has of it, from the next request on."""
        where = (endpoint.location, endpoint.id.name.lower())
        live = self._live.get(where)
        if live is None:
            live = self._live[where] = LiveEndpoint(key=endpoint.key, name=endpoint.id.name)
        live.auth_mode = endpoint.properties["authMode"]
        live.keys = tuple(each.encode() for each in endpoint.private[KEYS].values())
        live.secret = endpoint.private[SECRET]
        live.private = endpoint.properties.get("publicNetworkAccess") == "Disabled"
        self._share(endpoint)

    def forget(self, endpoint: Resource) -> None:
        self._live.pop((endpoint.location, endpoint.id.name.lower()), None)

    def _apply_all(self) -> None:
        for endpoint in self._services.store.of_type(azure_types.ML_ONLINE_ENDPOINT.arm_type):
            if endpoint.private.get(KEYS):
                self.apply(endpoint)

    def _share(self, endpoint: Resource) -> None:
        live = self._live.get((endpoint.location, endpoint.id.name.lower()))
        if live is not None:
            live.share(endpoint.properties.get("traffic"), endpoint.properties.get("mirrorTraffic"))

    # Deployments

    async def deploy(self, deployment: Resource, *, resumed: bool = False) -> None:
        """Makes a deployment run as its body says. ArmError in the service's words."""
        running = self._of(deployment)
        running.live.settings = settings.requests(deployment.properties)
        readiness = settings.probe(deployment.properties, "readinessProbe")
        log = self._initializer_log(deployment.key)
        found = assets.of_deployment(deployment, self._services)
        identity = Identity(found.endpoint, found.workspace, self._services)
        plan = await self._planned(deployment, found, identity, log)
        count = int((deployment.body.get("sku") or {}).get("capacity") or 1)
        serving = running.serving
        if serving is not None and serving.fingerprint == plan.fingerprint():
            await self._scaled(deployment, running, plan, count, readiness)
            return
        begun = self._record(deployment.key).get(NEXT)
        generation = Generation(**begun) if begun and resumed and begun["fingerprint"] == plan.fingerprint() else None
        if generation is None:
            if begun:
                await running.discard(Generation(**begun))
            generation = new(deployment.key, plan)
            generation.scale(count, running.ports(plan))
            self._remember(deployment.key, NEXT, generation)
        try:
            await self._fetched(deployment, found, identity, running.folder(generation), log)
            await running.begin(generation, plan, readiness)
        except Exception:
            await running.halt(generation)
            raise
        self._serves_now(deployment.key, generation.document())
        self._share_of(deployment)

    async def remove(self, deployment: Resource) -> None:
        """Drains and ends a deployment. Bears being called twice."""
        live = self._endpoint_of(deployment)
        if live is not None:
            live.deployments.pop(deployment.id.name.lower(), None)
        running = self._of(deployment)
        await running.end()
        for each in self._record(deployment.key).values():
            await running.discard(Generation(**each))
        self._running.pop(deployment.key, None)
        self._forget(deployment.key)
        self._initializer_log(deployment.key).path.unlink(missing_ok=True)
        self._build_log(deployment.key).unlink(missing_ok=True)

    def serves(self, deployment_key: str) -> bool:
        """Whether a deployment has begun to serve once."""
        return SERVING in self._record(deployment_key)

    async def log(self, deployment: Resource, kind: str, tail: int | None) -> str:
        """What `getLogs` answers."""
        if kind == INITIALIZER:
            return of_file(self._initializer_log(deployment.key).path, tail)
        record = self._record(deployment.key)
        chosen = record.get(NEXT) or record.get(SERVING)
        if chosen is None:
            return of_file(self._build_log(deployment.key), tail)
        return await self._of(deployment).log(Generation(**chosen), tail)

    # Parts

    async def _planned(self, deployment: Resource, found: Assets, identity: Identity, log: InitializerLog) -> Plan:
        properties = deployment.properties
        code: Body = properties.get("codeConfiguration") or {}
        puller = None if properties["endpointComputeType"] == KUBERNETES else identity
        image = await served(found.environment, code, puller, self._build_log(deployment.key), self._services)
        mount = str(properties.get("modelMountPath") or MODELS).rstrip("/")
        log.say(f"Image {image.image.digest}")
        return Plan(
            served=image,
            variables={name: str(value) for name, value in (properties.get("environmentVariables") or {}).items()},
            model_path=f"{mount}/{found.model_name}/{found.model_version}" if found.model_uri else "",
            liveness=settings.probe(properties, "livenessProbe"),
            gpus=found.gpus,
            sources={"model": found.model_uri, "code": found.code_uri},
        )

    async def _fetched(self, deployment: Resource, found: Assets, identity: Identity, folder: Path, log: InitializerLog) -> None:
        """Model and code, where they haven't come yet."""
        whole = folder / ".whole"
        if whole.exists():
            return
        for what, uri in (("model", found.model_uri), ("code", found.code_uri)):
            if uri:
                await fetch(what, uri, folder / what, found.workspace, identity, log, self._blobs, self._services)
        code: Body = deployment.properties.get("codeConfiguration") or {}
        script = str(code.get("scoringScript") or "")
        if found.code_uri and not (folder / "code" / script).is_file():
            raise failures.of("BadArgument", f"User code has no scoring script '{script}'.")
        folder.mkdir(parents=True, exist_ok=True)  # there is nothing in it without model and code
        whole.touch()

    async def _scaled(self, deployment: Resource, running: AnyRunning, plan: Plan, count: int, readiness: settings.Probe) -> None:
        generation = running.serving
        if generation is None:
            raise ValueError("only what serves is scaled")
        before = set(generation.ports)
        generation.scale(count, running.ports(plan))
        self._remember(deployment.key, SERVING, generation)
        running.probe(readiness)
        await running.scale(plan, before - set(generation.ports), readiness)

    def _of(self, deployment: Resource) -> AnyRunning:
        key, files = deployment.key, self._folder / "files"
        if key not in self._running:
            live = LiveDeployment(deployment.id.name, settings.requests(deployment.properties))
            self._running[key] = (
                RunningOnCluster(live, files, _plain_name(key), lambda: cluster_of(key, self._clusters, self._services))
                if live.settings.kubernetes
                else Running(live, files, self._runtime)
            )
        return self._running[key]

    def _take_up(self, deployment: Resource, generation: Generation) -> None:
        self._of(deployment).take_up(generation, settings.probe(deployment.properties, "readinessProbe"))
        self._share_of(deployment)

    def _share_of(self, deployment: Resource) -> None:
        """What serves is what requests may name."""
        live = self._endpoint_of(deployment)
        if live is not None:
            live.deployments[deployment.id.name.lower()] = self._of(deployment).live

    def _endpoint_of(self, deployment: Resource) -> LiveEndpoint | None:
        endpoint = self._services.store.get(deployment.id.scope)
        return self._live.get((endpoint.location, endpoint.id.name.lower())) if endpoint is not None else None

    def _record(self, key: str) -> dict[str, Body]:
        return self._services.store.document(f"{_DOCUMENT}{key}") or {}

    def _serves_now(self, key: str, generation: Body) -> None:
        """And none is to take its place."""
        self._services.store.put_document(f"{_DOCUMENT}{key}", {SERVING: generation})

    def _forget(self, key: str) -> None:
        self._services.store.delete_document(f"{_DOCUMENT}{key}")

    def _remember(self, key: str, what: str, generation: Generation) -> None:
        self._services.store.put_document(f"{_DOCUMENT}{key}", {**self._record(key), what: generation.document()})

    def _initializer_log(self, key: str) -> InitializerLog:
        return InitializerLog(self._folder / "logs" / f"{_plain_name(key)}-storage-initializer.log")

    def _build_log(self, key: str) -> Path:
        return self._folder / "logs" / f"{_plain_name(key)}-build.log"


def _plain_name(key: str) -> str:
    """A name that a person recognises and that no two deployments share, for files and, as it has no more than 63 characters, for
    a cluster's objects and labels."""
    _, _, names = key.rpartition("/onlineendpoints/")
    return f"{names.replace('/deployments/', '-')[:54]}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"
