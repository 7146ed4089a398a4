"""A run on a stack's cluster or edge: a Job of one pod.

Imported when a run starts, because the clients of Azure and Kubernetes load slowly.

Successful and stopped Jobs are removed. A failed or detached one is kept for a day, for `explain`.

Secrets: `--secret-env` is stored in a Secret that the Job owns; readers of Secrets in the namespace can read it until the Job is
deleted. Images: a script is built in the stack's registry. AKS pulls from it with its kubelet's identity; an edge with its
namespace's service account, or with `--pull-secret`, a Secret of the user: this project stores no registry password in a cluster.

Files: the pod uses the service account that the stack declares beside its jobs. The run doesn't create it, because its federated
credential needs permissions on the identity that the user of `run` may lack.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from azure_gpu.catalog.prices.price_book import Price
from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services import groups
from azure_gpu.catalog.services.aks.workload_identity import CLIENT_ID_ANNOTATION, SERVICE_ACCOUNT, SOURCE
from azure_gpu.kubernetes import worker_group
from azure_gpu_operations.azure import Arm
from azure_gpu_operations.batch.pool_cost import node_price
from azure_gpu_operations.clusters import queues
from azure_gpu_operations.clusters.api import ClusterApi
from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.clusters.objects import NodeSeen
from azure_gpu_operations.clusters.targets import ClusterTarget
from azure_gpu_operations.exit_codes import FAILED_RUN
from azure_gpu_operations.observed import in_cluster
from azure_gpu_operations.one_part import CLUSTER, EDGE
from azure_gpu_operations.run import carried, used_part
from azure_gpu_operations.run.carried import Files
from azure_gpu_operations.run.on_cluster import outcome, placing, plan as bodies
from azure_gpu_operations.run.on_cluster.follow import End, Follower
from azure_gpu_operations.run.on_cluster.outcome import GROUP, JOB, KINDS, Kind
from azure_gpu_operations.run.on_cluster.placing import Placement
from azure_gpu_operations.run.on_cluster.request import ClusterRequest
from azure_gpu_operations.run.protocol import Cost, Outcome, Output, Say, WrongRunError
from azure_gpu_operations.run.service_run import ServiceRun
from azure_gpu_operations.run.target import LONGEST_NAME, Target, run_name
from azure_gpu_operations.run.used_part import registry_of
from azure_gpu_operations.stack_view import StackView

_INSTALL = (
    f"run helm install jobset {groups.JOBSET.address} --version {groups.JOBSET.version} --namespace "
    f"{groups.JOBSET.namespace} --create-namespace"
)


@contextmanager
def plan(view: StackView, cluster: ClusterTarget, request: ClusterRequest, output: Output) -> Iterator["ClusterRun"]:
    """With the image built."""
    with closing(Arm(view.connection)) as arm, closing(_api(arm, cluster)) as api:
        placement = _placement(arm, api, view, cluster, request, output.say)
        _warn(arm, view, cluster, request, output.say)
        _check_namespace(api, cluster)
        if request.nodes > 1:
            _check_groups(api, cluster)
        if request.queue:
            total = request.gpus * request.nodes
            if wrong := queues.problems(api, cluster.namespace, request.queue, placement.resource, total):
                raise WrongRunError(wrong)
        identity = partial(_identity, arm, api, cluster, request.files)
        longest = worker_group.longest_name(request.nodes) if request.nodes > 1 else LONGEST_NAME
        with carried.carrying(arm, view.storage, request.target, request.arguments, request.files, identity, longest) as carrying:
            request = request._replace(target=carrying.target, arguments=tuple(carrying.arguments))
            image = request.target.image
            if request.target.context is not None:
                image = registry_of(arm, view).build(request.target.context, output.say)
            name = carrying.files.name or run_name(request.target, longest)
            body = bodies.job(name, cluster.namespace, view.name, image, request, placement)
            files, kind = carrying.files, GROUP if request.nodes > 1 else JOB
            yield ClusterRun(
                view.name, cluster.name, output, request, api, cluster, kind, placement, name=name, body=body, files=files
            )


def find(arm: Arm, view: StackView, clusters: Iterable[ClusterTarget], name: str, output: Output) -> "ClusterRun | None":
    """The Job of this name in the namespaces of these clusters; unreachable ones are skipped with a warning."""
    for cluster in clusters:
        try:
            api = _api(arm, cluster)
            for kind in KINDS:
                if api.get(f"{kind.path(cluster.namespace)}/{name}") is not None:
                    request = ClusterRequest(Target())
                    return ClusterRun(view.name, cluster.name, output, request, api, cluster, kind, name=name, is_sent=True)
            api.close()
        except (ClusterError, WrongRunError) as error:
            output.say(f"warning: the {cluster.described} can't be reached: {error}")
    return None


@dataclass
class ClusterRun(ServiceRun[ClusterRequest]):
    """One Job, or the JobSet of a group. It can be left with secrets too: it owns its Secret."""

    api: ClusterApi
    cluster: ClusterTarget
    kind: Kind
    placement: Placement | None = None
    body: Mapping[str, Any] | None = field(kw_only=True, default=None)
    stopped = "is removed"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._end = End()
        self._is_well = False
        limit = None if self.request.timeout_minutes is None else self.request.timeout_minutes * 60
        self._follower = Follower(
            self.api,
            self.cluster.namespace,
            self.name,
            self.output,
            kind=self.kind,
            hint=self.explain(),
            limit_seconds=limit,
        )

    @property
    def _path(self) -> str:
        return self.kind.path(self.cluster.namespace)

    def explain(self, name: str = "") -> str:
        kubeconfig = f" --kubeconfig {self.cluster.kubeconfig}" if self.cluster.kubeconfig is not None else ""
        return f"{super().explain(name)}{kubeconfig}"

    def _send(self) -> str:
        """Creates the Job; with secrets it is resumed after they are created."""
        assert self.body is not None, "it was created earlier"
        values, request = self.request.target.secrets, self.request
        try:
            made = self.api.create(self._path, self.body)
            if values:
                secret = bodies.secret(self.cluster.namespace, self.stack, values, {**self.body, "metadata": made["metadata"]})
                self.api.create(f"/api/v1/namespaces/{self.cluster.namespace}/secrets", secret)
                if not request.queue:  # else Kueue starts it, once the queue has room: pods wait for their Secret
                    self.api.merge(f"{self._path}/{self.name}", {"spec": {"suspend": False}})
        except ClusterError as error:
            with suppress(ClusterError, KeyboardInterrupt):
                self._cancel()
            if error.status in (400, 401, 403, 404, 422):
                raise self._rejected(error) from error
            raise
        pool, is_spot = (self.placement.pool, self.placement.is_spot) if self.placement else ("", False)
        where = (f", pool {pool}" if pool else "") + (", Spot" if is_spot else "")
        workers = f" as {request.nodes} workers" if request.nodes > 1 else ""
        return f"{request.target.described}{workers} on {self.cluster.described}{where}"

    def _rejected(self, error: ClusterError) -> WrongRunError:
        role = "assign yourself the role Azure Kubernetes Service RBAC Writer on it"
        fix = role if error.is_refusal and self.cluster.id else ""
        return WrongRunError([Problem("--on", f"the {self.cluster.described} rejected the job: {error}", fix=fix)])

    def follow(self) -> Outcome:
        self._end = end = self._follower.follow()
        if end.job is None:
            raise self.gone()
        if end.hopeless:
            if end.fix:
                self.say(f"fix: {end.fix}")
            return Outcome(FAILED_RUN, f"given up: {end.hopeless}")
        found = self.kind.outcome(end.job, end.pods, self.request.timeout_minutes)
        if found.why:
            self.say(found.why)
        if found.code == 0 and not end.lines:
            self.say("it wrote no output")
        self._is_well = found.code == 0
        self.end_files()
        return Outcome(found.code, found.words)

    def stop(self) -> bool:
        pods, nodes = self._follower.leave()
        self._end = End(pods=tuple(pods), nodes=nodes)
        return super().stop()

    def _cancel(self) -> None:
        self.api.delete(f"{self._path}/{self.name}")

    def cost(self) -> Cost:
        prices: dict[str, Price | None] = {name: node_price(node) for name, node in self._end.nodes.items()}
        now = datetime.now(UTC)
        use = outcome.use_of(self._end.pods, prices, now)
        return Cost(outcome.summary(use, now.date()), use.usd, use.seconds)

    def settle(self) -> None:
        if self._is_well or self._end.hopeless or self._end.is_late:  # a pod that waits would hold a node, which costs
            if self.did(self._cancel):
                self.say(f"{self.called} is removed")
        else:
            self.say(f"{self.called} is kept for a day; why it failed: {self.explain()}")


def _api(arm: Arm, cluster: ClusterTarget) -> ClusterApi:
    """The cluster's client. WrongRunError if it can't be reached: nothing was started."""
    try:
        return in_cluster.api_of(arm, cluster)
    except ClusterError as error:
        path = "--kubeconfig" if cluster.is_edge else "--cluster"
        raise WrongRunError([Problem(path, str(error), value=cluster.name)]) from error


def _identity(arm: Arm, api: ClusterApi, cluster: ClusterTarget, files: Files) -> str:
    """The client id of the identity that transfers files. WrongRunError if the cluster's pods can't use one."""
    security = ((in_cluster.body(arm, cluster.id) or {}).get("properties") or {}).get("securityProfile") or {}
    is_on = bool((security.get("workloadIdentity") or {}).get("enabled"))
    try:
        account = api.get(f"/api/v1/namespaces/{cluster.namespace}/serviceaccounts/{SERVICE_ACCOUNT}") if is_on else None
    except ClusterError as error:
        if error.status == 403:  # without read access the pod may still use it; errors then show in the pod
            return ""
        raise
    found = str((((account or {}).get("metadata") or {}).get("annotations") or {}).get(CLIENT_ID_ANNOTATION) or "")
    if found:
        return found
    what = f"the namespace {cluster.namespace} has no service account {SERVICE_ACCOUNT}" if is_on else "workload identity is off"
    message = f"files are transferred as the stack's identity, and pods of the {cluster.described} can't use it: {what}"
    fix = (
        "add `identity: create` to the stack's foundation, remove `workload_identity: false` and `on_cluster: false` of the "
        "cluster, and run `pulumi up`; for a cluster outside the stack use --on job"
    )
    path = "--input" if files.inputs else "--output"
    raise WrongRunError([Problem(path, message, cluster.name, fix=fix, source=str(SOURCE), code=Code.NOT_FOUND)])


def _placement(
    arm: Arm, api: ClusterApi, view: StackView, cluster: ClusterTarget, request: ClusterRequest, say: Say
) -> Placement:
    nodes = _nodes(api)
    if cluster.is_edge:
        found, problems = placing.on_edge(request, nodes)
    else:
        gpu_pools = view.gpu_pools.get(cluster.name) or {}
        resources = {pool: str(each["resource"]) for pool, each in gpu_pools.items() if each.get("resource")}
        found, problems = placing.on_aks(request, in_cluster.pools(arm, cluster.id), nodes, resources)
    if found is None:
        raise WrongRunError(problems)
    used_part.accepted(problems, say)
    return found


def _nodes(api: ClusterApi) -> tuple[NodeSeen, ...]:
    """Empty if this login may not read them; then nothing is concluded."""
    try:
        return in_cluster.nodes(api)
    except ClusterError as error:
        if error.status == 403:
            return ()
        raise


def _warn(arm: Arm, view: StackView, cluster: ClusterTarget, request: ClusterRequest, say: Say) -> None:
    kind = EDGE if cluster.is_edge else CLUSTER
    expired = used_part.expired(kind, view, cluster.name, lambda: in_cluster.body(arm, cluster.id) if cluster.id else None)
    used_part.accepted(expired, say)
    if cluster.is_edge and request.target.context is not None and not request.pull_secret:
        say(
            "warning: the edge pulls from the stack's registry with its service account; if that fails, create a Secret with "
            "`kubectl create secret docker-registry` in the namespace and add --pull-secret"
        )


def _lacks(api: ClusterApi, path: str) -> bool:
    """Whether something isn't there, before anything is built. Without read access the error comes from the Job."""
    try:
        return api.get(path) is None
    except ClusterError as error:
        if error.status == 403:
            return False
        raise


def _check_namespace(api: ClusterApi, cluster: ClusterTarget) -> None:
    if _lacks(api, f"/api/v1/namespaces/{cluster.namespace}"):
        fix = f"run kubectl create namespace {cluster.namespace}, or choose an existing one"
        raise WrongRunError(
            [Problem("--namespace", f"the {cluster.described} has no namespace of this name", cluster.namespace, fix=fix)]
        )


def _check_groups(api: ClusterApi, cluster: ClusterTarget) -> None:
    if _lacks(api, f"/apis/{worker_group.API_VERSION}"):
        message = f"the {cluster.described} has no JobSet, which groups of workers require"
        fix = "set `groups: true` of the cluster in the stack's file and run `pulumi up`" if not cluster.is_edge else _INSTALL
        raise WrongRunError([Problem("--nodes", message, fix=fix, source=str(groups.SOURCE), code=Code.NOT_FOUND)])
