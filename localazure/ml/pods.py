"""The instances of Kubernetes online deployments: pods of the cluster that the endpoint's compute is attached to.

The service's own controllers and router don't run in the cluster: the embedded Azure makes the Deployment itself, and its router
reaches each pod at the port that the node agent gave it. Model and code are folders of this machine that the pods are told.
"""

import asyncio
import contextlib
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from azure_gpu.formats import azure_types
from localazure.arm.errors import ArmError
from localazure.folder import read_json
from localazure.kinds import ml_compute_rules, ml_computes
from localazure.kubernetes.client import KubeApi, KubeError
from localazure.kubernetes.clusters import Clusters
from localazure.ml import failures, pod_forms
from localazure.ml.generations import Generation, Plan
from localazure.ml.pod_forms import CONTAINER, GENERATION, LABEL
from localazure.ml.running import Watched, stopped
from localazure.ml.settings import Probe
from localazure.ml.slots import LiveDeployment
from localazure.services import Services
from localazure.waiting import canceled

Body = dict[str, Any]

POLL_SECONDS = 0.3
_MANAGER = "azureml"
_GONE_SECONDS = 60.0
_SETTLING_SECONDS = 20.0  # a node that has just come has its GPUs, or shares of them, some seconds later
_SHOWN_LINES = 20
_CRASHES = 2  # restarts after which a pod counts as crashed
_PULL = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName")


class Cluster(NamedTuple):
    """Where the pods of a compute run."""

    api: KubeApi
    namespace: str
    folder: Path  # of the cluster
    shape: Body  # what each pod requests


def cluster_of(key: str, clusters: Clusters, services: Services) -> Cluster:
    """ArmError: InferencingClientCallFailed where the compute, its cluster or the extension doesn't exist."""
    deployment = services.store.get(key)
    endpoint = services.store.get(deployment.id.scope) if deployment is not None else None
    if deployment is None or endpoint is None:
        raise failures.of("InferencingClientCallFailed", "The deployment has gone.")
    compute = services.store.at(str(endpoint.properties["compute"]).removeprefix("azureml:"), azure_types.ML_COMPUTE)
    if compute is None:
        message = f"The compute of the endpoint '{endpoint.id.name}' was detached."
        raise failures.of("InferencingClientCallFailed", message)
    cluster = ml_computes.cluster_of(compute, services)
    if cluster is None or not clusters.exists(cluster.key):
        raise failures.of("InferencingClientCallFailed", f"The cluster of the compute '{compute.id.name}' isn't there.")
    if ml_compute_rules.extension_of(cluster, services) is None:
        message = f"The cluster '{cluster.id.name}' has no extension of Azure Machine Learning."
        raise failures.of("InferencingClientCallFailed", message)
    try:
        api = clusters.api(cluster.key)
    except KubeError as error:
        raise failures.of("InferencingClientCallFailed", error.message) from error
    own: Body = ml_compute_rules.inner(compute.body)
    default = str(own.get("defaultInstanceType") or ml_compute_rules.DEFAULT_INSTANCE_TYPE)
    return Cluster(
        api=api,
        namespace=str(own.get("namespace") or "default"),
        folder=clusters.folder(cluster.key),
        shape=pod_forms.shape_of(deployment.properties, ml_computes.instance_types(compute), default),
    )


class RunningOnCluster(Watched):
    """Pods of a cluster, by the deployment's object there. Watches are by the pod's uid."""

    def __init__(self, live: LiveDeployment, files: Path, name: str, cluster: Callable[[], Cluster]) -> None:
        super().__init__(live, files)
        self._name = name  # of the object
        self._cluster = cluster
        self._readiness: Probe | None = None
        self._followed: dict[str, Generation] = {}  # by id: whose pods take requests
        self._following: asyncio.Task[None] | None = None

    # A generation by itself, as of `running.Running`

    def ports(self, _: Plan) -> tuple[int, ...]:
        return ()  # the node agent gives them

    async def halt(self, _: Generation) -> None:
        """Pods go on being restarted, as at the service, until the deployment is updated or deleted."""

    async def discard(self, generation: Generation) -> None:
        self._followed.pop(generation.id, None)
        await asyncio.to_thread(shutil.rmtree, self.folder(generation), ignore_errors=True)

    # Changes

    async def begin(self, generation: Generation, plan: Plan, readiness: Probe) -> None:
        """Rolls a generation out. ArmError where it doesn't get ready; Kubernetes then leaves the pods before it as they are."""
        self._follow(generation, readiness)
        await self._apply(generation, plan, readiness)
        await self._until_rolled_out(generation, readiness)
        before, self.serving = self.serving, generation
        if before is not None and before.id != generation.id:
            await self._until_gone(self._cluster(), before)  # its pods read their model until their end
            await self.discard(before)

    def take_up(self, generation: Generation, readiness: Probe) -> None:
        self.serving = generation
        self._follow(generation, readiness)

    async def scale(self, plan: Plan, _: object, readiness: Probe) -> None:
        if self.serving is None:
            raise ValueError("what doesn't serve can't be scaled")
        await self._apply(self.serving, plan, readiness)
        await self._until_rolled_out(self.serving, readiness)

    def probe(self, readiness: Probe) -> None:
        self._readiness = readiness
        super().probe(readiness)

    async def end(self) -> None:
        """No more requests; then the pods are gone."""
        self.live.instances = []
        await self._until_idle(lambda: self.live.pending)
        await self.close()
        try:
            await self._delete(self._cluster())
        except (ArmError, KubeError):
            return  # the cluster has gone, and its pods with it

    async def close(self) -> None:
        if self._following is not None:
            await canceled(self._following)
            self._following = None
        await super().close()

    async def log(self, generation: Generation, tail: int | None) -> str:
        """What the pods of a generation printed."""
        try:
            cluster = self._cluster()
            pods = await self._pods(cluster, generation)
        except (ArmError, KubeError) as error:
            return f"{error}\n"
        parts: list[str] = []
        for pod in pods:
            parts.append(f"Instance status ({pod['metadata']['name']}): {pod['status'].get('phase')}\n")
            parts.append(await self._log(cluster, pod, tail))
        return "".join(parts)

    # The cluster

    async def _apply(self, generation: Generation, plan: Plan, readiness: Probe) -> None:
        cluster = self._cluster()
        try:
            if await cluster.api.find(f"/api/v1/namespaces/{cluster.namespace}") is None:
                raise failures.of("NamespaceNotFound", f"The cluster has no namespace '{cluster.namespace}'.")
            body = pod_forms.object_of(
                self._name, cluster.namespace, generation, plan, readiness, cluster.shape, self.folder(generation)
            )
            await cluster.api.apply(f"{_path(cluster)}/{self._name}", body, field_manager=_MANAGER)
        except KubeError as error:
            raise _refused(error) from error

    async def _until_rolled_out(self, generation: Generation, readiness: Probe) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + readiness.patience
        refused: dict[str, float] = {}  # since when the autoscaler refuses nodes to a pod, by its uid
        while True:
            cluster = self._cluster()
            try:
                status, requested = await self._status(cluster)
                pods = await self._pods(cluster, generation)
                there = {int(status.get(name) or 0) for name in ("updatedReplicas", "replicas", "availableReplicas")}
                if there == {requested} and sum(each.ready for each in self.live.instances) >= requested:
                    return
                for pod in pods:
                    reason, final = await self._waiting_for_a_node(cluster, pod)
                    if not final:
                        refused.pop(pod["metadata"]["uid"], None)
                    elif loop.time() < refused.setdefault(pod["metadata"]["uid"], loop.time()) + _SETTLING_SECONDS:
                        continue
                    if reason and (final or loop.time() >= deadline):
                        raise failures.of("OutOfQuota", f"OutOfQuota: {reason}")
                    await self._check(cluster, pod)
            except KubeError as error:
                raise _refused(error) from error
            if loop.time() >= deadline:
                raise failures.never_ready("readiness", "the pods didn't get ready in time", "")
            await asyncio.sleep(POLL_SECONDS)

    async def _waiting_for_a_node(self, cluster: Cluster, pod: Body) -> tuple[str, bool]:
        """Why a pod is on no node, "" where it is or hasn't been looked at; and whether the autoscaler adds no node for it."""
        conditions = pod["status"].get("conditions") or ()
        scheduled: Body = next((each for each in conditions if each["type"] == "PodScheduled"), {})
        if scheduled.get("status") != "False" or scheduled.get("reason") != "Unschedulable":
            return "", False
        refused = await self._event(cluster, pod, "NotTriggerScaleUp")
        text = f"Kubernetes unschedulable. Details:{scheduled.get('message', '')} {refused}".rstrip()
        return text, bool(refused)

    async def _check(self, cluster: Cluster, pod: Body) -> None:
        """ArmError where a pod won't run."""
        for state in pod["status"].get("containerStatuses") or ():
            waiting = (state.get("state") or {}).get("waiting") or {}
            if waiting.get("reason") in _PULL and waiting.get("reason") != "ErrImagePull":
                raise failures.of("ImagePullLoopBackOff", f"The image can't be pulled: {waiting.get('message', '')}")
            if state.get("restartCount", 0) >= _CRASHES:
                log = await self._log(cluster, pod, _SHOWN_LINES)
                ended = (state.get("lastState") or {}).get("terminated") or {}
                code = "PodOutOfMemory" if ended.get("reason") == "OOMKilled" else "DeploymentCrashLoopBackOff"
                why = f"User container has crashed or terminated with exit code {ended.get('exitCode')}."
                raise failures.of(code, why, f" The last lines of its log:\n{log}")

    async def _status(self, cluster: Cluster) -> tuple[Body, int]:
        found = await cluster.api.get(f"{_path(cluster)}/{self._name}")
        status: Body = found.get("status") or {}
        current = status.get("observedGeneration") == found["metadata"]["generation"]
        return (status if current else {}), int(found["spec"]["replicas"])

    async def _pods(self, cluster: Cluster, generation: Generation | None = None) -> list[Body]:
        labels = f"{LABEL}={self._name}" + (f",{GENERATION}={generation.id}" if generation else "")
        found = await cluster.api.list(f"/api/v1/namespaces/{cluster.namespace}/pods", labels=labels)
        return list(found["items"])

    async def _event(self, cluster: Cluster, pod: Body, reason: str) -> str:
        fields = f"involvedObject.uid={pod['metadata']['uid']},reason={reason}"
        found = await cluster.api.list(f"/api/v1/namespaces/{cluster.namespace}/events", fields=fields)
        return str(found["items"][0].get("message", reason)) if found["items"] else ""

    async def _log(self, cluster: Cluster, pod: Body, tail: int | None) -> str:
        path = f"/api/v1/namespaces/{cluster.namespace}/pods/{pod['metadata']['name']}/log"
        query: Mapping[str, str] = {"container": CONTAINER, **({"tailLines": str(tail)} if tail is not None else {})}
        restarted = any(each.get("restartCount") for each in pod["status"].get("containerStatuses") or ())
        for previous in ["true", "false"] if restarted else ["false"]:
            try:
                found = await cluster.api.text(path, **query, previous=previous)
            except KubeError:
                continue
            if found:
                return found
        return ""

    async def _delete(self, cluster: Cluster) -> None:
        await cluster.api.delete(f"{_path(cluster)}/{self._name}")
        await self._until_gone(cluster)

    async def _until_gone(self, cluster: Cluster, generation: Generation | None = None) -> None:
        """Until the pods are gone, those of a generation or all; not for ever."""
        deadline = asyncio.get_running_loop().time() + _GONE_SECONDS
        while asyncio.get_running_loop().time() < deadline:
            with contextlib.suppress(KubeError):
                if not await self._pods(cluster, generation):
                    return
            await asyncio.sleep(POLL_SECONDS)

    # Following the pods

    def _follow(self, generation: Generation, readiness: Probe) -> None:
        self._readiness = readiness
        self._followed[generation.id] = generation
        if self._following is None:
            self._following = asyncio.create_task(self._run(), name=f"pods of {self._name}")

    async def _run(self) -> None:
        while True:
            try:
                cluster = self._cluster()
                pods = [each for each in await self._pods(cluster) if not each["metadata"].get("deletionTimestamp")]
            except (ArmError, KubeError):
                await asyncio.sleep(POLL_SECONDS * 3)
                continue
            await self._took(cluster, {each["metadata"]["uid"]: each for each in pods})
            await asyncio.sleep(POLL_SECONDS)

    async def _took(self, cluster: Cluster, pods: Mapping[str, Body]) -> None:
        """The instances are the pods that run and have a port."""
        gone = [self._watches.pop(uid) for uid in list(self._watches) if uid not in pods]
        for uid, pod in pods.items():
            generation = self._followed.get(pod["metadata"]["labels"].get(GENERATION, ""))
            if uid in self._watches or generation is None or pod["status"].get("phase") != "Running":
                continue
            ports = ((read_json(cluster.folder / "pods" / uid / "pod.json") or {}).get("ports") or {}).get(CONTAINER) or {}
            asked = (str(generation.score[0]), str(generation.readiness[0]))
            if all(ports.get(each) for each in asked) and self._readiness is not None:
                self._watches[uid] = self._watch(pod["metadata"]["name"], generation, ports, self._readiness)
        self._show()
        await stopped(gone)


def _path(cluster: Cluster) -> str:
    return f"/apis/apps/v1/namespaces/{cluster.namespace}/deployments"


def _refused(error: KubeError) -> ArmError:
    if error.status in (400, 422):
        return failures.of("InvalidDeploymentSpec", error.message)
    return failures.of("InferencingClientCallFailed", f"The cluster can't be reached, or refuses: {error.message}")
