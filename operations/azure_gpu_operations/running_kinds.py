"""What `running` lists, by kind: how it is listed below a subscription, and the rows of one resource."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any, NamedTuple

from azure_gpu.formats.dates import instant
from azure_gpu_operations import groups, job_cost, jobs, virtual_machines
from azure_gpu_operations.azure import Arm, AzureError
from azure_gpu_operations.batch import account as batch
from azure_gpu_operations.batch.nodes_now import nodes_now
from azure_gpu_operations.clusters import arm_facts, running_rows as cluster_rows
from azure_gpu_operations.job_client import Jobs
from azure_gpu_operations.machine_learning import endpoints, running_rows as ml_rows
from azure_gpu_operations.running_report import EXECUTION, GROUP, POOL, Row, end_of
from azure_gpu_operations.stack_view import StackView

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
            now = nodes_now(account, pool_id.rsplit("/", 1)[-1])
    except AzureError as error:
        if error.status not in (401, 403, 404):
            raise
        return
    if now is not None and (now.nodes or now.coming):
        end = end_of(body.get("tags"))
        yield Row(name, POOL, now.words, pool_id, since=now.since, expires_at=end, usd_hour=now.usd_hour)


_BATCH_ACCOUNTS = _below("Microsoft.Batch/batchAccounts", batch.API_VERSION)
_WORKSPACES = _below("Microsoft.MachineLearningServices/workspaces", endpoints.API_VERSION)
KINDS = (
    Kind(lambda stack: stack.groups, _below("Microsoft.ContainerInstance/containerGroups", groups.API_VERSION), _of_group),
    Kind(lambda stack: stack.jobs, _below("Microsoft.App/jobs", jobs.API_VERSION), _of_job),
    Kind(lambda stack: stack.pools, _within(_BATCH_ACCOUNTS, "pools", batch.API_VERSION), _of_pool),
    Kind(
        lambda stack: stack.clusters,
        _below("Microsoft.ContainerService/managedClusters", arm_facts.API_VERSION),
        cluster_rows.of_cluster,
    ),
    Kind(lambda stack: stack.endpoints, _within(_WORKSPACES, "onlineEndpoints", endpoints.API_VERSION), ml_rows.of_endpoint),
    Kind(lambda stack: stack.ml_computes, _within(_WORKSPACES, "computes", endpoints.API_VERSION), ml_rows.of_compute),
    Kind(lambda stack: stack.vms, _below(virtual_machines.MACHINE_TYPE, virtual_machines.API_VERSION), ml_rows.of_machine),
)
