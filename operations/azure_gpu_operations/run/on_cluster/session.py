"""A run on a stack's cluster or edge, from what is asked for to the exit code: builds, sends a Job, follows it, sums up.

In: a stack's view, a `Place`, a `Wanted`. Out: an exit code; what the program writes on standard output, all else on standard
error. Loaded when a run begins: the clients of Azure and Kubernetes take longer to load than a command line to be refused.

A Job that went well is removed, and so is one that is stopped by Ctrl-C. One that failed or was left running stays for a day, so
that `explain` can tell why.

Secrets: `--secret-env` lies in a Secret that belongs to the Job and goes with it; whoever may read Secrets in the namespace can
read it until then. A script is built in the stack's registry. A cluster of AKS pulls from there as its kubelet's identity; an
edge pulls as its namespace's service account can, or with `--pull-secret`, a Secret that its user has made: this project puts no
registry's password into a cluster.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime

from azure_gpu.catalog.prices.price_book import Price
from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.formats import dates, tags
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.azure import Arm
from azure_gpu_operations.clusters.api import ClusterApi
from azure_gpu_operations.clusters.arm_facts import API_VERSION, PoolFacts, pool_of
from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.clusters.objects import NodeSeen, PodSeen, node_of
from azure_gpu_operations.clusters.places import Place
from azure_gpu_operations.clusters.prices import node_price
from azure_gpu_operations.clusters.reach import of_cluster, of_file
from azure_gpu_operations.jobs import instant
from azure_gpu_operations.run import names
from azure_gpu_operations.run.command import FAILED_RUN, INTERRUPTED
from azure_gpu_operations.run.errors import RunError, WrongRunError
from azure_gpu_operations.run.on_cluster import outcome, placing, plan
from azure_gpu_operations.run.on_cluster.follow import End, Follower
from azure_gpu_operations.run.on_cluster.placing import Placement
from azure_gpu_operations.run.on_cluster.wanted import Wanted
from azure_gpu_operations.run.stack_registry import of_stack
from azure_gpu_operations.stack_view import StackView

Say = Callable[[str], None]


def run(view: StackView, place: Place, wanted: Wanted, *, detach: bool, show: Say, say: Say) -> int:
    """The exit code of what ran."""
    with closing(Arm(view.connection)) as arm, closing(_api(arm, place)) as api:
        placement = _placement(arm, api, view, place, wanted, say)
        _warn(arm, view, place, wanted, say)
        _check_namespace(api, place)
        image = wanted.target.image
        if wanted.target.context is not None:
            image = of_stack(arm, view).build(wanted.target.context, say)
        session = _Session(api, view, place, wanted, placement, names.of_run(wanted.target), image, show, say)
        try:
            session.send()
            if detach:
                say(f"it runs on; what became of it: {session.explain}")
                return 0
            return session.sum_up(session.follower.follow())
        except KeyboardInterrupt:
            return session.interrupted()


def _api(arm: Arm, place: Place) -> ClusterApi:
    """A place that can't be reached is the wrong one: nothing was started."""
    try:
        if place.kubeconfig is not None:
            return of_file(place.kubeconfig, place.context)[0]
        return of_cluster(arm, place.id)
    except ClusterError as error:
        path = "--kubeconfig" if place.is_edge else "--cluster"
        raise WrongRunError([Problem(path, str(error), value=place.name)]) from error


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


class _Session:
    """One Job, once its image is there."""

    def __init__(
        self,
        api: ClusterApi,
        view: StackView,
        place: Place,
        wanted: Wanted,
        placement: Placement,
        name: str,
        image: str,
        show: Say,
        say: Say,
    ) -> None:
        self._api, self._view, self._place, self._wanted = api, view, place, wanted
        self._placement, self._name, self._image, self._say = placement, name, image, say
        self._is_made = False
        kubeconfig = f" --kubeconfig {place.kubeconfig}" if place.kubeconfig is not None else ""
        self.explain = f"{COMMAND} explain {name} --stack {view.name}{kubeconfig}"
        self.follower = Follower(api, place.namespace, name, show=show, say=say, hint=self.explain)

    def send(self) -> None:
        """The Job; where there are secrets it starts when they are there."""
        values = self._wanted.target.secrets
        body = plan.job(self._name, self._place.namespace, self._view.name, self._image, self._wanted, self._placement)
        path = f"/apis/batch/v1/namespaces/{self._place.namespace}/jobs"
        self._is_made = True  # from here on it may be there, whatever is answered
        try:
            made = self._api.create(path, body)
            if values:
                secret = plan.secret(self._name, self._place.namespace, self._view.name, values, made["metadata"]["uid"])
                self._api.create(f"/api/v1/namespaces/{self._place.namespace}/secrets", secret)
                self._api.merge(f"{path}/{self._name}", {"spec": {"suspend": False}})
        except ClusterError as error:
            self._remove(quiet=True)
            if error.status in (400, 401, 403, 404, 422):
                what = f"the {self._place.described} refuses the job: {error}"
                fix = "ask for the role Azure Kubernetes Service RBAC Writer on it" if error.is_refusal and self._place.id else ""
                raise WrongRunError([Problem("--on", what, fix=fix)]) from error
            raise
        where = f", pool {self._placement.pool}" if self._placement.pool else ""
        spot = ", Spot" if self._placement.is_spot else ""
        self._say(f"started {self._wanted.target.described} on {self._place.described}{where}{spot}: job {self._name}")

    def interrupted(self) -> int:
        pods, nodes = self.follower.leave()
        if not self._is_made:
            return INTERRUPTED
        if self._remove():
            self._say(f"{self._place.name}: stopped at your word, the job {self._name} is removed; {self._cost(pods, nodes)}")
        return INTERRUPTED

    def sum_up(self, end: End) -> int:
        if end.job is None:
            raise RunError(f"the job {self._name} isn't there any more: somebody has deleted it")
        if end.hopeless:
            self._say(f"given up: {end.hopeless}")
            if end.fix:
                self._say(f"fix: {end.fix}")
            if self._remove():  # its pod would hold a node, which costs
                self._say(f"the job {self._name} is removed")
            return FAILED_RUN
        found = outcome.of_job(end.job, end.pods, self._wanted.timeout_minutes)
        if found.why:
            self._say(found.why)
        if found.code == 0 and not end.lines:
            self._say("it wrote nothing")
        self._say(f"{self._place.name}: {found.words}; {self._cost(end.pods, end.nodes)}")
        if found.code == 0:
            if self._remove():
                self._say(f"the job {self._name} is removed")
        else:
            self._say(f"the job {self._name} is kept for a day; why it failed: {self.explain}")
        return found.code

    def _cost(self, pods: Sequence[PodSeen], nodes: Mapping[str, NodeSeen]) -> str:
        prices: dict[str, Price | None] = {name: node_price(node) for name, node in nodes.items()}
        now = datetime.now(UTC)
        return outcome.summary(outcome.use_of(pods, prices, now), now.date())

    def _remove(self, *, quiet: bool = False) -> bool:
        """Whoever has it stopped is owed to hear that it costs nothing any more, or that it may."""
        try:
            self._api.delete(f"/apis/batch/v1/namespaces/{self._place.namespace}/jobs/{self._name}")
        except (KeyboardInterrupt, ClusterError) as error:
            told = f" ({error})" if str(error) else ""
            if not quiet:
                self._say(f"the job {self._name} may still run and cost{told}; see: {COMMAND} running")
            return False
        return True
