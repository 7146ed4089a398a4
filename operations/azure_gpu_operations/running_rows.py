"""What `running` lists, by kind: how it is listed below a subscription, and the rows of one resource.

The cost of a job on a cluster is that of its node; nodes of an unreachable cluster are listed too, from ARM. A managed deployment
of an endpoint is billed even without requests; one on Kubernetes has the cost of the cluster's nodes. A deallocated machine costs
only its disk.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from decimal import Decimal
from typing import Any, NamedTuple

from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.prices.hourly_cost import Machines, of_machines
from azure_gpu.catalog.services.aks.clusters import USD_HOUR
from azure_gpu.catalog.services.machine_learning.deployments import MANAGED
from azure_gpu.catalog.services.machines import shutdown
from azure_gpu.catalog.services.machines.costs import MachineUse, cost
from azure_gpu.formats.dates import instant
from azure_gpu.kubernetes import worker_group
from azure_gpu_operations import groups, job_bodies, job_cost, virtual_machines
from azure_gpu_operations.azure import Arm, AzureError
from azure_gpu_operations.batch import account as batch
from azure_gpu_operations.batch.drain import NodesNow, nodes_now, nodes_shown
from azure_gpu_operations.batch.pool_cost import pool_price
from azure_gpu_operations.clusters import arm_facts, connect
from azure_gpu_operations.clusters.arm_facts import ClusterFacts, cluster_of
from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.clusters.objects import JobSeen, NodeSeen, PodSeen, by_age, job_of
from azure_gpu_operations.job_client import Jobs
from azure_gpu_operations.machine_learning import endpoints
from azure_gpu_operations.machine_learning.endpoints import API_VERSION, Deployment, Endpoint
from azure_gpu_operations.observed import in_cluster
from azure_gpu_operations.running_report import EXECUTION, GROUP, JOB_IN_CLUSTER, MACHINE, POOL, Row, end_of
from azure_gpu_operations.stack_view import StackView
from azure_gpu_operations.virtual_machines import Machine

_GROUP_ENDED = frozenset({"Succeeded", "Failed", "Stopped"})
Listed = Callable[[Arm, str], Iterator[Mapping[str, Any]]]


class Kind(NamedTuple):
    """One kind of resource."""

    of_stack: Callable[[StackView], Mapping[str, str]]  # ids by their names in the stack file
    listed: Listed  # bodies of all below the path of a subscription
    rows: Callable[[Arm, str, str], Iterator[Row]]  # of one, by its id and name


def _below(path: str, version: str) -> Listed:
    return lambda arm, scope: arm.values(f"{scope}/providers/{path}", version)


def _within(parents: Listed, child: str, version: str) -> Listed:
    return lambda arm, scope: (each for parent in parents(arm, scope) for each in arm.values(f"{parent['id']}/{child}", version))


def group_row(body: Mapping[str, Any], name: str) -> Row | None:
    """Row of a container group, without its cost; None if it has ended."""
    properties = body["properties"]
    state = (properties.get("instanceView") or {}).get("state") or str(properties.get("provisioningState") or "")
    if state in _GROUP_ENDED and (properties.get("instanceView") or {}).get("state"):
        return None
    started = [
        instant(((each["properties"].get("instanceView") or {}).get("currentState") or {}).get("startTime"))
        for each in properties.get("containers") or []
    ]
    since = min((each for each in started if each), default=None)
    return Row(name, GROUP, state, body["id"], since=since, expires_at=end_of(body.get("tags")))


def _of_group(arm: Arm, group_id: str, name: str) -> Iterator[Row]:
    body = arm.get(group_id, groups.API_VERSION)  # a list has no states of containers
    row = group_row(body, name) if body else None
    if row is not None:
        yield row


def _of_job(arm: Arm, job_id: str, name: str) -> Iterator[Row]:
    """A row for each execution that goes on."""
    client = Jobs(arm)
    job = client.get(job_id)
    if job is None:
        return
    going = [each for each in client.executions(job) if not each.is_over]
    price = job_cost.hourly_price(job, client.profile_type(job)) if going else None
    for execution in going:
        yield Row(
            name=name,
            kind=EXECUTION,
            state=(client.execution(job, execution.name) or execution).described,  # the list may leave the containers out
            id=f"{job.id}/executions/{execution.name}",
            since=execution.started,
            expires_at=end_of(job.body.get("tags")),
            usd_hour=price.usd_hour if price else None,
        )


def _of_pool(arm: Arm, pool_id: str, name: str) -> Iterator[Row]:
    """A row if the pool has nodes or is allocating some."""
    body = arm.get(pool_id, batch.API_VERSION)
    if body is None:
        return
    try:
        with closing(batch.BatchAccount(arm, batch.batch_account_of(pool_id))) as account:
            now = _nodes(account, pool_id.rsplit("/", 1)[-1], body)
    except AzureError as error:
        if error.status != 404:
            raise
        return
    if now is not None and (now.nodes or now.coming):
        end = end_of(body.get("tags"))
        yield Row(name, POOL, now.words, pool_id, since=now.since, expires_at=end, usd_hour=now.usd_hour)


def _nodes(account: batch.BatchAccount, name: str, body: Mapping[str, Any]) -> NodesNow | None:
    """As ARM shows the pool where the account denies access, such as outside of its network: nodes are billed all the same."""
    try:
        return nodes_now(account, name)
    except AzureError as error:
        if error.status not in (401, 403):
            raise
        return nodes_shown(body, account.location)


AKS_CLUSTER, AKS_POOL = "AKS cluster", "AKS pool"
_SYSTEM_NAMESPACES = ("kube-system", "gpu-resources", "gatekeeper-system")


def of_cluster(arm: Arm, cluster_id: str, name: str) -> Iterator[Row]:
    """Nothing for a cluster that is gone or stopped; a stopped one costs only its disks."""
    body = in_cluster.body(arm, cluster_id)
    if body is None:
        return
    facts = cluster_of(body)
    if facts.is_stopped:
        return
    end = end_of(facts.tags)
    inside = _inside(arm, facts)
    unread = f"; its jobs aren't read, see `explain {name}`" if inside is None else ""
    state = f"{facts.provisioning}, Kubernetes {facts.version}".strip(", ") + unread
    inside = inside or _Inside()
    since = instant((body.get("systemData") or {}).get("createdAt"))
    yield Row(name, AKS_CLUSTER, state, cluster_id, since=since, expires_at=end, usd_hour=USD_HOUR.get(facts.tier))
    for pool in in_cluster.pools(arm, cluster_id):
        if pool.count:
            price = pool_price(pool, facts.location)
            began = [node.created for node in inside.nodes if node.pool == pool.name and node.created]
            words = _nodes_of(pool.count, pool.size, pool.is_spot)
            usd = price.usd_hour * pool.count if price else None
            yield Row(
                f"{name}/{pool.called}", AKS_POOL, words, pool.id, since=min(began, default=None), expires_at=end, usd_hour=usd
            )
    for job in inside.jobs:
        if job.namespace not in _SYSTEM_NAMESPACES and not job.is_over:
            of_job = by_age(pod for pod in inside.pods if pod.job == job.name and pod.namespace == job.namespace)
            place = f"{facts.id}/namespaces/{job.namespace}/jobs/{job.name}"
            state = _job_state(job, of_job)
            called = job.labels.get(worker_group.NAME_LABEL) or job.name  # of a group, which is stopped and explained by it
            yield Row(f"{name}/{called}", JOB_IN_CLUSTER, state, place, since=job.began, expires_at=end, counted=False)


class _Inside(NamedTuple):
    nodes: Sequence[NodeSeen] = ()
    jobs: Sequence[JobSeen] = ()
    pods: Sequence[PodSeen] = ()


def _inside(arm: Arm, facts: ClusterFacts) -> _Inside | None:
    """None if the cluster doesn't answer or denies access: ARM reports what is billed."""
    try:
        with closing(connect.of_cluster(arm, facts.id)) as api:
            jobs = [job_of(each) for each in api.items("/apis/batch/v1/jobs")]
            return _Inside(in_cluster.nodes(api), jobs, in_cluster.pods(api))
    except (ClusterError, AzureError):
        return None


def _job_state(job: JobSeen, pods: list[PodSeen]) -> str:
    running = [pod for pod in pods if pod.phase == "Running"]
    if job.is_suspended:
        return "suspended"
    if not running:
        return "waiting"
    nodes = ", ".join(sorted({pod.node for pod in running}))
    return f"running on {nodes}"


def _nodes_of(count: int, size: str, is_spot: bool) -> str:
    return f"{'1 node' if count == 1 else f'{count} nodes'} of {size}{', Spot' if is_spot else ''}"


DEPLOYMENT, NODES = "deployment", "nodes of a compute"
_GONE = ("Failed", "Deleting", "Canceled")


def of_endpoint(arm: Arm, endpoint_id: str, name: str) -> Iterator[Row]:
    """A row for each deployment; an endpoint without deployments costs nothing."""
    endpoint = endpoints.get(arm, endpoint_id)
    if endpoint is None:
        return
    for body in arm.values(f"{endpoint_id}/deployments", API_VERSION):
        deployment = endpoints.deployment_of(body)
        if deployment.state in _GONE:
            continue
        yield Row(
            f"{name}/{deployment.name}",
            DEPLOYMENT,
            deployment_words(endpoint, deployment),
            deployment.id,
            since=instant((body.get("systemData") or {}).get("createdAt")),
            expires_at=end_of(endpoint.tags),
            usd_hour=_usd(deployment.instance_type, deployment.instances, endpoint.location),
            counted=deployment.kind == MANAGED,
        )


def deployment_words(endpoint: Endpoint, deployment: Deployment) -> str:
    instances = "1 instance" if deployment.instances == 1 else f"{deployment.instances} instances"
    of = f" of {deployment.instance_type}" if deployment.instance_type else ""
    mirrored = endpoint.mirror.get(deployment.name, 0)
    mirror = f", {mirrored} % mirrored" if mirrored else ""
    coming = f"{deployment.state}, " if deployment.state in endpoints.COMING else ""
    return f"{coming}{instances}{of}, {endpoint.traffic.get(deployment.name, 0)} % of the traffic{mirror}"


def of_compute(arm: Arm, compute_id: str, name: str) -> Iterator[Row]:
    """A row if a compute cluster has nodes. Attached computes have separate rows."""
    body = arm.get(compute_id, API_VERSION)
    outer = (body or {}).get("properties") or {}
    inner = outer.get("properties") or {}
    count = int(inner.get("currentNodeCount") or 0)
    if body is None or outer.get("computeType") != "AmlCompute" or not count:
        return
    size, spot = str(inner.get("vmSize") or ""), inner.get("vmPriority") == "LowPriority"
    location = str(outer.get("computeLocation") or body.get("location") or "")
    working = int((inner.get("nodeStateCounts") or {}).get("runningNodeCount") or 0)
    words = f"{'1 node' if count == 1 else f'{count} nodes'} of {size}{', Spot' if spot else ''}, {working} at work"
    usd = _usd(size, count, location, spot=spot)
    yield Row(name, NODES, words, compute_id, expires_at=end_of(body.get("tags")), usd_hour=usd)


def of_machine(arm: Arm, machine_id: str, name: str) -> Iterator[Row]:
    machine = virtual_machines.get(arm, machine_id, whole=False)
    if machine is not None:
        billed = machine.power != shutdown.DEALLOCATED.name
        since = (machine.since or machine.created) if billed else None
        words, usd, end = machine_words(machine), machine_usd(machine), end_of(machine.tags)
        yield Row(name, MACHINE, words, machine_id, since=since, expires_at=end, usd_hour=usd)


def machine_words(machine: Machine) -> str:
    spot = ", Spot" if machine.spot else ""
    note = ""
    if machine.power == shutdown.STOPPED.name:
        note = ", billed as if it ran: it isn't deallocated"
    elif machine.power == shutdown.DEALLOCATED.name:
        note = ", its disks are billed"
    return f"{machine.power or machine.state} {machine.size}{spot}{note}"


def machine_usd(machine: Machine) -> Decimal | None:
    """Current hourly cost: of the machine, or of its disk when deallocated. None if unknown."""
    system = "Windows" if machine.windows else "Linux"
    use = MachineUse(machine.size, machine.location, system, machine.spot, machine.disk_type, machine.disk_gib)
    found = cost(use, packaged())
    return (found.stays if machine.power == shutdown.DEALLOCATED.name else found.running).usd_hour


def _usd(size: str, count: int, location: str, *, spot: bool = False) -> Decimal | None:
    return of_machines((Machines(size, count, spot),), location, packaged()).usd_hour


_BATCH_ACCOUNTS = _below("Microsoft.Batch/batchAccounts", batch.API_VERSION)
_WORKSPACES = _below("Microsoft.MachineLearningServices/workspaces", endpoints.API_VERSION)
KINDS = (
    Kind(lambda stack: stack.groups, _below("Microsoft.ContainerInstance/containerGroups", groups.API_VERSION), _of_group),
    Kind(lambda stack: stack.jobs, _below("Microsoft.App/jobs", job_bodies.API_VERSION), _of_job),
    Kind(lambda stack: stack.pools, _within(_BATCH_ACCOUNTS, "pools", batch.API_VERSION), _of_pool),
    Kind(
        lambda stack: stack.clusters,
        _below("Microsoft.ContainerService/managedClusters", arm_facts.API_VERSION),
        of_cluster,
    ),
    Kind(lambda stack: stack.endpoints, _within(_WORKSPACES, "onlineEndpoints", endpoints.API_VERSION), of_endpoint),
    Kind(lambda stack: stack.ml_computes, _within(_WORKSPACES, "computes", endpoints.API_VERSION), of_compute),
    Kind(lambda stack: stack.vms, _below(virtual_machines.MACHINE_TYPE, virtual_machines.API_VERSION), of_machine),
)
