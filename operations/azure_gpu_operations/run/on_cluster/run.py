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
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any

from azure_gpu.catalog.prices.price_book import Price
from azure_gpu.catalog.problems import Code, Problem, errors
from azure_gpu.catalog.services import groups
from azure_gpu.catalog.services.aks.workload_identity import CLIENT_ID_ANNOTATION, SERVICE_ACCOUNT, SOURCE
from azure_gpu.formats import dates, tags
from azure_gpu.formats.dates import instant
from azure_gpu.kubernetes import worker_group
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.azure import Arm
from azure_gpu_operations.clusters import queues
from azure_gpu_operations.clusters.api import ClusterApi
from azure_gpu_operations.clusters.arm_facts import API_VERSION, PoolFacts, pool_of
from azure_gpu_operations.clusters.connect import of_cluster, of_file
from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.clusters.objects import NodeSeen, node_of
from azure_gpu_operations.clusters.prices import node_price
from azure_gpu_operations.clusters.targets import ClusterTarget
from azure_gpu_operations.exit_codes import FAILED_RUN
from azure_gpu_operations.run import carried, names
from azure_gpu_operations.run.carried import NO_FILES, Files, RunFiles
from azure_gpu_operations.run.errors import RunError, WrongRunError
from azure_gpu_operations.run.on_cluster import outcome, placing, plan as bodies
from azure_gpu_operations.run.on_cluster.follow import End, Follower
from azure_gpu_operations.run.on_cluster.kinds import GROUP, JOB, KINDS, Kind
from azure_gpu_operations.run.on_cluster.placing import Placement
from azure_gpu_operations.run.on_cluster.request import ClusterRequest
from azure_gpu_operations.run.protocol import Cost, Outcome, Output, Say
from azure_gpu_operations.run.stack_registry import of_stack
from azure_gpu_operations.run.target import Target
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
        longest = worker_group.longest_name(request.nodes) if request.nodes > 1 else names.LONGEST
        with carried.carrying(arm, view.storage, request.target, request.arguments, request.files, identity, longest) as carrying:
            request = request._replace(target=carrying.target, arguments=tuple(carrying.arguments))
            image = request.target.image
            if request.target.context is not None:
                image = of_stack(arm, view).build(request.target.context, output.say)
            name = carrying.files.name or names.of_run(request.target, longest)
            body = bodies.job(name, cluster.namespace, view.name, image, request, placement)
            yield ClusterRun(
                api, view.name, cluster, name, output, request=request, placement=placement, body=body, files=carrying.files
            )


def find(arm: Arm, view: StackView, clusters: Iterable[ClusterTarget], name: str, output: Output) -> "ClusterRun | None":
    """The Job of this name in the namespaces of these clusters; unreachable ones are skipped with a warning."""
    for cluster in clusters:
        try:
            api = _api(arm, cluster)
            for kind in KINDS:
                if api.get(f"{kind.path(cluster.namespace)}/{name}") is not None:
                    return ClusterRun(api, view.name, cluster, name, output, kind=kind)
            api.close()
        except (ClusterError, WrongRunError) as error:
            output.say(f"warning: the {cluster.described} can't be reached: {error}")
    return None


class ClusterRun:
    """One Job, once its image is built. `body` None: it was created earlier."""

    def __init__(
        self,
        api: ClusterApi,
        stack: str,
        cluster: ClusterTarget,
        name: str,
        output: Output,
        *,
        request: ClusterRequest = ClusterRequest(Target()),  # noqa: B008 - immutable
        placement: Placement | None = None,
        body: Mapping[str, Any] | None = None,
        files: RunFiles = NO_FILES,
        kind: Kind = JOB,
    ) -> None:
        self._files = files
        self._api, self._stack, self._cluster, self._request = api, stack, cluster, request
        self._placement, self._body, self._say = placement, body, output.say
        self._kind = GROUP if request.nodes > 1 else kind
        self._is_made = body is None
        self._end = End()
        self._is_well = False
        kubeconfig = f" --kubeconfig {cluster.kubeconfig}" if cluster.kubeconfig is not None else ""
        self._explain = f"{COMMAND} explain {name} --stack {stack}{kubeconfig}"
        self.place, self.name = cluster.name, name
        self._follower = Follower(
            api,
            cluster.namespace,
            name,
            kind=self._kind,
            show=output.show,
            say=output.say,
            hint=self._explain,
            limit_seconds=None if request.timeout_minutes is None else request.timeout_minutes * 60,
        )

    @property
    def kept_as(self) -> str:
        return self._files.kept_as

    @property
    def can_be_left(self) -> bool:
        """Always, after its creation: the Job owns its Secret."""
        return self._is_made

    def start(self) -> None:
        """Creates the Job; with secrets it is resumed after they are created."""
        assert self._body is not None, "it was created earlier"
        values = self._request.target.secrets
        path = self._kind.path(self._cluster.namespace)
        self._is_made = True  # even after an error it may exist
        try:
            made = self._api.create(path, self._body)
            if values:
                secret = bodies.secret(self._cluster.namespace, self._stack, values, {**self._body, "metadata": made["metadata"]})
                self._api.create(f"/api/v1/namespaces/{self._cluster.namespace}/secrets", secret)
                if not self._request.queue:  # else Kueue starts it, once the queue has room: pods wait for their Secret
                    self._api.merge(f"{path}/{self.name}", {"spec": {"suspend": False}})
        except ClusterError as error:
            self._remove(quiet=True)
            if error.status in (400, 401, 403, 404, 422):
                what = f"the {self._cluster.described} rejected the job: {error}"
                fix = (
                    "assign yourself the role Azure Kubernetes Service RBAC Writer on it"
                    if error.is_refusal and self._cluster.id
                    else ""
                )
                raise WrongRunError([Problem("--on", what, fix=fix)]) from error
            raise
        where = f", pool {self._placement.pool}" if self._placement and self._placement.pool else ""
        spot = ", Spot" if self._placement and self._placement.is_spot else ""
        workers = f" as {self._request.nodes} workers" if self._request.nodes > 1 else ""
        self._say(f"started {self._request.target.described}{workers} on {self._cluster.described}{where}{spot}: job {self.name}")
        self._files.tell(self._say)

    def follow(self) -> Outcome:
        self._end = end = self._follower.follow()
        if end.job is None:
            raise RunError(f"the job {self.name} doesn't exist any more; it was deleted outside the stack")
        if end.hopeless:
            if end.fix:
                self._say(f"fix: {end.fix}")
            return Outcome(FAILED_RUN, f"given up: {end.hopeless}")
        found = self._kind.outcome(end.job, end.pods, self._request.timeout_minutes)
        if found.why:
            self._say(found.why)
        if found.code == 0 and not end.lines:
            self._say("it wrote no output")
        self._is_well = found.code == 0
        self._files.end(self._say, self._stack)
        return Outcome(found.code, found.words)

    def stop(self) -> bool:
        pods, nodes = self._follower.leave()
        self._end = End(pods=tuple(pods), nodes=nodes)
        if not self._is_made or not self._remove():
            return False
        self._say(f"the job {self.name} is removed")
        return True

    def cost(self) -> Cost:
        prices: dict[str, Price | None] = {name: node_price(node) for name, node in self._end.nodes.items()}
        now = datetime.now(UTC)
        use = outcome.use_of(self._end.pods, prices, now)
        return Cost(outcome.summary(use, now.date()), use.usd, use.seconds)

    def settle(self) -> None:
        if self._is_well or self._end.hopeless or self._end.is_late:  # a pod that waits would hold a node, which costs
            if self._remove():
                self._say(f"the job {self.name} is removed")
        else:
            self._say(f"the job {self.name} is kept for a day; why it failed: {self._explain}")

    def _remove(self, *, quiet: bool = False) -> bool:
        """Returns False, after a message, if the Job may still be running."""
        try:
            self._api.delete(f"{self._kind.path(self._cluster.namespace)}/{self.name}")
        except (KeyboardInterrupt, ClusterError) as error:
            reason = f" ({error})" if str(error) else ""
            if not quiet:
                self._say(
                    f"the job {self.name} may still be running and billed{reason}; see: {COMMAND} running --stack {self._stack}"
                )
            return False
        return True


def _api(arm: Arm, cluster: ClusterTarget) -> ClusterApi:
    """The cluster's client. WrongRunError if it can't be reached: nothing was started."""
    try:
        if cluster.kubeconfig is not None:
            return of_file(cluster.kubeconfig, cluster.context)[0]
        return of_cluster(arm, cluster.id)
    except ClusterError as error:
        path = "--kubeconfig" if cluster.is_edge else "--cluster"
        raise WrongRunError([Problem(path, str(error), value=cluster.name)]) from error


def _identity(arm: Arm, api: ClusterApi, cluster: ClusterTarget, files: Files) -> str:
    """The client id of the identity that transfers files. WrongRunError if the cluster's pods can't use one."""
    security = ((arm.get(cluster.id, API_VERSION) or {}).get("properties") or {}).get("securityProfile") or {}
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
        found, problems = placing.on_aks(request, _pools(arm, cluster), nodes, resources)
    if found is None or errors(problems):
        raise WrongRunError(problems)
    for warning in problems:
        say(f"warning: {warning}")
    return found


def _pools(arm: Arm, cluster: ClusterTarget) -> list[PoolFacts]:
    return [pool_of(each) for each in arm.values(f"{cluster.id}/agentPools", API_VERSION)]


def _nodes(api: ClusterApi) -> list[NodeSeen]:
    """Empty if this login may not read them; then nothing is concluded."""
    try:
        return [node_of(each) for each in api.items("/api/v1/nodes")]
    except ClusterError as error:
        if error.status == 403:
            return []
        raise


def _warn(arm: Arm, view: StackView, cluster: ClusterTarget, request: ClusterRequest, say: Say) -> None:
    end = instant(view.expires_at.get(cluster.name))
    as_of = ((arm.get(cluster.id, API_VERSION) or {}).get("tags") or {}).get(tags.AS_OF, "") if cluster.id and end else ""
    if end is not None and end.date() <= (dates.parse_day(as_of) or datetime.now(UTC).date()):
        section = "edges" if cluster.is_edge else "clusters"
        say(
            f"warning: {section}.{cluster.name}.expires_after: it expired on {end.date().isoformat()} and may be "
            f"destroyed at any time; fix: set a later date and run `pulumi up --stack {view.name}`"
        )
    if cluster.is_edge and request.target.context is not None and not request.pull_secret:
        say(
            "warning: the edge pulls from the stack's registry with its service account; if that fails, create a Secret with "
            "`kubectl create secret docker-registry` in the namespace and add --pull-secret"
        )


def _check_namespace(api: ClusterApi, cluster: ClusterTarget) -> None:
    """Checked before anything is built. Without read access the error comes from the Job."""
    try:
        found = api.get(f"/api/v1/namespaces/{cluster.namespace}")
    except ClusterError as error:
        if error.status == 403:
            return
        raise
    if found is None:
        fix = f"run kubectl create namespace {cluster.namespace}, or choose an existing one"
        raise WrongRunError(
            [Problem("--namespace", f"the {cluster.described} has no namespace of this name", cluster.namespace, fix=fix)]
        )


def _check_groups(api: ClusterApi, cluster: ClusterTarget) -> None:
    """Checked before anything is built."""
    try:
        found = api.get(f"/apis/{worker_group.API_VERSION}")
    except ClusterError as error:
        if error.status == 403:
            return
        raise
    if found is None:
        message = f"the {cluster.described} has no JobSet, which groups of workers require"
        fix = "set `groups: true` of the cluster in the stack's file and run `pulumi up`" if not cluster.is_edge else _INSTALL
        raise WrongRunError([Problem("--nodes", message, fix=fix, source=str(groups.SOURCE), code=Code.NOT_FOUND)])
