"""A run on a stack's cluster or edge: a Job of one pod.

In: a stack's view, a `Place`, a `Wanted`. Out: a `Plan`, or a `Run` that is there already. Loaded when a run begins: the clients
of Azure and Kubernetes take longer to load than a command line to be rejected.

A Job that went well is removed, and so is one that is stopped. One that failed or was left running stays for a day, so
that `explain` can tell why.

Secrets: `--secret-env` lies in a Secret that belongs to the Job and goes with it; whoever may read Secrets in the namespace can
read it until then. A script is built in the stack's registry. A cluster of AKS pulls from there as its kubelet's identity; an
edge pulls as its namespace's service account can, or with `--pull-secret`, a Secret that its user has made: this project puts no
registry's password into a cluster.

Files: the pod runs as the service account that the stack declares beside its jobs. The stack declares it, and not the run,
because the federated credential that names it needs rights on the identity, which who runs a program may lack.
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
from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.clusters.objects import NodeSeen, node_of
from azure_gpu_operations.clusters.places import Place
from azure_gpu_operations.clusters.prices import node_price
from azure_gpu_operations.clusters.reach import of_cluster, of_file
from azure_gpu_operations.exit_codes import FAILED_RUN
from azure_gpu_operations.run import carried, names
from azure_gpu_operations.run.carried import NO_FILES, Files, RunFiles
from azure_gpu_operations.run.errors import RunError, WrongRunError
from azure_gpu_operations.run.on_cluster import outcome, placing, plan as bodies
from azure_gpu_operations.run.on_cluster.follow import End, Follower
from azure_gpu_operations.run.on_cluster.kinds import GROUP, JOB, KINDS, Kind
from azure_gpu_operations.run.on_cluster.placing import Placement
from azure_gpu_operations.run.on_cluster.wanted import Wanted
from azure_gpu_operations.run.protocol import Cost, Outcome, Output, Say
from azure_gpu_operations.run.stack_registry import of_stack
from azure_gpu_operations.run.target import Target
from azure_gpu_operations.stack_view import StackView

_INSTALL = (
    f"install it: helm install jobset {groups.JOBSET.address} --version {groups.JOBSET.version} --namespace "
    f"{groups.JOBSET.namespace} --create-namespace"
)


@contextmanager
def plan(view: StackView, place: Place, wanted: Wanted, output: Output) -> Iterator["ClusterRun"]:
    """With the image built."""
    with closing(Arm(view.connection)) as arm, closing(_api(arm, place)) as api:
        placement = _placement(arm, api, view, place, wanted, output.say)
        _warn(arm, view, place, wanted, output.say)
        _check_namespace(api, place)
        if wanted.nodes > 1:
            _check_groups(api, place)
        if wanted.queue:
            asked = wanted.gpus * wanted.nodes
            if wrong := queues.problems(api, place.namespace, wanted.queue, placement.resource, asked):
                raise WrongRunError(wrong)
        identity = partial(_identity, arm, api, place, wanted.files)
        longest = worker_group.longest_name(wanted.nodes) if wanted.nodes > 1 else names.LONGEST
        with carried.carrying(arm, view.storage, wanted.target, wanted.arguments, wanted.files, identity, longest) as carrying:
            wanted = wanted._replace(target=carrying.target, arguments=tuple(carrying.arguments))
            image = wanted.target.image
            if wanted.target.context is not None:
                image = of_stack(arm, view).build(wanted.target.context, output.say)
            name = carrying.files.name or names.of_run(wanted.target, longest)
            body = bodies.job(name, place.namespace, view.name, image, wanted, placement)
            yield ClusterRun(
                api, view.name, place, name, output, wanted=wanted, placement=placement, body=body, files=carrying.files
            )


def find(arm: Arm, view: StackView, places: Iterable[Place], name: str, output: Output) -> "ClusterRun | None":
    """The Job of this name in the namespaces of these places; those that can't be reached are told and passed over."""
    for place in places:
        try:
            api = _api(arm, place)
            for kind in KINDS:
                if api.get(f"{kind.path(place.namespace)}/{name}") is not None:
                    return ClusterRun(api, view.name, place, name, output, kind=kind)
            api.close()
        except (ClusterError, WrongRunError) as error:
            output.say(f"warning: the {place.described} can't be asked: {error}")
    return None


class ClusterRun:
    """One Job, once its image is there. `body` None: it was sent before."""

    def __init__(
        self,
        api: ClusterApi,
        stack: str,
        place: Place,
        name: str,
        output: Output,
        *,
        wanted: Wanted = Wanted(Target()),  # noqa: B008 - immutable
        placement: Placement | None = None,
        body: Mapping[str, Any] | None = None,
        files: RunFiles = NO_FILES,
        kind: Kind = JOB,
    ) -> None:
        self._files = files
        self._api, self._stack, self._place, self._wanted = api, stack, place, wanted
        self._placement, self._body, self._say = placement, body, output.say
        self._kind = GROUP if wanted.nodes > 1 else kind
        self._is_made = body is None
        self._end = End()
        self._is_well = False
        kubeconfig = f" --kubeconfig {place.kubeconfig}" if place.kubeconfig is not None else ""
        self._explain = f"{COMMAND} explain {name} --stack {stack}{kubeconfig}"
        self.place, self.name = place.name, name
        self._follower = Follower(
            api,
            place.namespace,
            name,
            kind=self._kind,
            show=output.show,
            say=output.say,
            hint=self._explain,
            limit_seconds=None if wanted.timeout_minutes is None else wanted.timeout_minutes * 60,
        )

    @property
    def kept_as(self) -> str:
        return self._files.kept_as

    @property
    def can_be_left(self) -> bool:
        """Its Secret belongs to the Job."""
        return self._is_made

    def start(self) -> None:
        """The Job; where there are secrets it starts when they are there."""
        assert self._body is not None, "it was sent before"
        values = self._wanted.target.secrets
        path = self._kind.path(self._place.namespace)
        self._is_made = True  # from here on it may be there, whatever is answered
        try:
            made = self._api.create(path, self._body)
            if values:
                secret = bodies.secret(self._place.namespace, self._stack, values, {**self._body, "metadata": made["metadata"]})
                self._api.create(f"/api/v1/namespaces/{self._place.namespace}/secrets", secret)
                if not self._wanted.queue:  # else Kueue starts it, once the queue has room: pods wait for their Secret
                    self._api.merge(f"{path}/{self.name}", {"spec": {"suspend": False}})
        except ClusterError as error:
            self._remove(quiet=True)
            if error.status in (400, 401, 403, 404, 422):
                what = f"the {self._place.described} refuses the job: {error}"
                fix = "ask for the role Azure Kubernetes Service RBAC Writer on it" if error.is_refusal and self._place.id else ""
                raise WrongRunError([Problem("--on", what, fix=fix)]) from error
            raise
        where = f", pool {self._placement.pool}" if self._placement and self._placement.pool else ""
        spot = ", Spot" if self._placement and self._placement.is_spot else ""
        workers = f" as {self._wanted.nodes} workers" if self._wanted.nodes > 1 else ""
        self._say(f"started {self._wanted.target.described}{workers} on {self._place.described}{where}{spot}: job {self.name}")
        self._files.tell(self._say)

    def follow(self) -> Outcome:
        self._end = end = self._follower.follow()
        if end.job is None:
            raise RunError(f"the job {self.name} isn't there any more: somebody has deleted it")
        if end.hopeless:
            if end.fix:
                self._say(f"fix: {end.fix}")
            return Outcome(FAILED_RUN, f"given up: {end.hopeless}")
        found = self._kind.outcome(end.job, end.pods, self._wanted.timeout_minutes)
        if found.why:
            self._say(found.why)
        if found.code == 0 and not end.lines:
            self._say("it wrote nothing")
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
        """Whoever has it stopped is owed to hear that it costs nothing any more, or that it may."""
        try:
            self._api.delete(f"{self._kind.path(self._place.namespace)}/{self.name}")
        except (KeyboardInterrupt, ClusterError) as error:
            told = f" ({error})" if str(error) else ""
            if not quiet:
                self._say(f"the job {self.name} may still run and cost{told}; see: {COMMAND} running --stack {self._stack}")
            return False
        return True


def _api(arm: Arm, place: Place) -> ClusterApi:
    """A place that can't be reached is the wrong one: nothing was started."""
    try:
        if place.kubeconfig is not None:
            return of_file(place.kubeconfig, place.context)[0]
        return of_cluster(arm, place.id)
    except ClusterError as error:
        path = "--kubeconfig" if place.is_edge else "--cluster"
        raise WrongRunError([Problem(path, str(error), value=place.name)]) from error


def _identity(arm: Arm, api: ClusterApi, place: Place, files: Files) -> str:
    """The client id as which files come and go. WrongRunError where pods of the cluster can't run as an identity."""
    security = ((arm.get(place.id, API_VERSION) or {}).get("properties") or {}).get("securityProfile") or {}
    is_on = bool((security.get("workloadIdentity") or {}).get("enabled"))
    try:
        account = api.get(f"/api/v1/namespaces/{place.namespace}/serviceaccounts/{SERVICE_ACCOUNT}") if is_on else None
    except ClusterError as error:
        if error.status == 403:  # who may not read it can run as it: then the cluster tells the pod
            return ""
        raise
    found = str((((account or {}).get("metadata") or {}).get("annotations") or {}).get(CLIENT_ID_ANNOTATION) or "")
    if found:
        return found
    what = f"the namespace {place.namespace} has no service account {SERVICE_ACCOUNT}" if is_on else "it has no workload identity"
    message = f"files come and go as the stack's identity, and pods of the {place.described} can't run as it: {what}"
    fix = (
        "give the stack's foundation `identity: create`, leave out `workload_identity: false` and `on_cluster: false` of the "
        "cluster, and run `pulumi up`; a cluster that isn't the stack's own carries no files: write --on job"
    )
    path = "--input" if files.inputs else "--output"
    raise WrongRunError([Problem(path, message, place.name, fix=fix, source=str(SOURCE), code=Code.NOT_FOUND)])


def _placement(arm: Arm, api: ClusterApi, view: StackView, place: Place, wanted: Wanted, say: Say) -> Placement:
    nodes = _nodes(api)
    if place.is_edge:
        found, problems = placing.on_edge(wanted, nodes)
    else:
        said = view.gpu_pools.get(place.name) or {}
        resources = {pool: str(each["resource"]) for pool, each in said.items() if each.get("resource")}
        found, problems = placing.on_aks(wanted, _pools(arm, place), nodes, resources)
    if found is None or errors(problems):
        raise WrongRunError(problems)
    for warning in problems:
        say(f"warning: {warning}")
    return found


def _pools(arm: Arm, place: Place) -> list[PoolFacts]:
    return [pool_of(each) for each in arm.values(f"{place.id}/agentPools", API_VERSION)]


def _nodes(api: ClusterApi) -> list[NodeSeen]:
    """None where this login may not read them: then nothing is concluded from them."""
    try:
        return [node_of(each) for each in api.items("/api/v1/nodes")]
    except ClusterError as error:
        if error.status == 403:
            return []
        raise


def _warn(arm: Arm, view: StackView, place: Place, wanted: Wanted, say: Say) -> None:
    end = instant(view.expires_at.get(place.name))
    said = ((arm.get(place.id, API_VERSION) or {}).get("tags") or {}).get(tags.AS_OF, "") if place.id and end else ""
    if end is not None and end.date() <= (dates.parse_day(said) or datetime.now(UTC).date()):
        section = "edges" if place.is_edge else "clusters"
        say(
            f"warning: {section}.{place.name}.expires_after: its end date has passed ({end.date().isoformat()}): somebody may "
            f"take it down at any time; fix: give it a later one and run `pulumi up --stack {view.name}`"
        )
    if place.is_edge and wanted.target.context is not None and not wanted.pull_secret:
        say(
            "warning: the edge pulls from the stack's registry as its service account may; where it may not, make a Secret with "
            "`kubectl create secret docker-registry` in the namespace and name it with --pull-secret"
        )


def _check_namespace(api: ClusterApi, place: Place) -> None:
    """Said before anything is built. Who may not read namespaces hears it from the Job."""
    try:
        found = api.get(f"/api/v1/namespaces/{place.namespace}")
    except ClusterError as error:
        if error.status == 403:
            return
        raise
    if found is None:
        fix = f"make it: kubectl create namespace {place.namespace}; or name one that is there"
        raise WrongRunError([Problem("--namespace", f"the {place.described} has no such namespace", place.namespace, fix=fix)])


def _check_groups(api: ClusterApi, place: Place) -> None:
    """Said before anything is built."""
    try:
        found = api.get(f"/apis/{worker_group.API_VERSION}")
    except ClusterError as error:
        if error.status == 403:
            return
        raise
    if found is None:
        message = f"the {place.described} has no JobSet, by which workers of a group start and end together"
        fix = "write `groups: true` for it in the stack's file, then `pulumi up`" if not place.is_edge else _INSTALL
        raise WrongRunError([Problem("--nodes", message, fix=fix, source=str(groups.SOURCE), code=Code.NOT_FOUND)])
