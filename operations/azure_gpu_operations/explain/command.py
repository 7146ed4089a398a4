"""Explains why a part of a stack failed, or a job, pod or node in it.

    explain trainer --stack S            by its name in the stack file; for a job, its last execution
    explain /subscriptions/…/jobs/j      by ARM id, also of an execution: …/jobs/j/executions/e
    explain train --stack S              a Batch pool: missing nodes, failed start tasks
    explain run-train-… --stack S        a Batch job, by the name that `run --on batch` printed
    explain gpu --stack S                a cluster or an edge: blocked pods, nodes that aren't ready
    explain gpu/t4 --stack S             a pool of a cluster: missing nodes, missing GPUs
    explain run-mnist-… --stack S        a Job or a pod in a cluster or an edge; also NAMESPACE/NAME
    explain digits --stack S             an endpoint of Azure ML; digits/green is one of its deployments
    explain t4 --stack S                 a compute of the workspace, or a virtual machine; also a job of the workspace by its name

It prints the cause, Azure's messages, the last lines of the failed program's log, and a fix.

Exit codes: 0 no failure, 1 the failure is explained, 2 the command line is invalid, 3 the reason isn't known, or Azure is
unreachable.
"""

import argparse
import json
import logging
import os
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu_operations import stack_options
from azure_gpu_operations.clusters import targets
from azure_gpu_operations.clusters.arm_facts import CLUSTER_TYPE, POOL_TYPE as CLUSTER_POOL_TYPE
from azure_gpu_operations.clusters.targets import ClusterTarget
from azure_gpu_operations.command_line import refuse
from azure_gpu_operations.connection import connection_from
from azure_gpu_operations.console import console
from azure_gpu_operations.stack import EngineError
from azure_gpu_operations.stack_view import StackView, view
from azure_gpu_operations.tables import width_of

NOT_EXPLAINED = 3
GROUP_TYPE = azure_types.CONTAINER_GROUP.arm_type
POOL_TYPE = "Microsoft.Batch/batchAccounts/pools"
JOB_TYPES = ("Microsoft.App/jobs", "Microsoft.App/jobs/executions")
CLUSTER_TYPES = (CLUSTER_TYPE, CLUSTER_POOL_TYPE)
ML_TYPES = tuple(
    f"Microsoft.MachineLearningServices/workspaces/{each}"
    for each in ("onlineEndpoints", "onlineEndpoints/deployments", "computes", "jobs")
)
MACHINE_TYPE = azure_types.VIRTUAL_MACHINE.arm_type
_EXPLAINED_TYPES = (GROUP_TYPE, POOL_TYPE, *JOB_TYPES, *CLUSTER_TYPES, *ML_TYPES, MACHINE_TYPE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run, failure_code=NOT_EXPLAINED)
    parser.add_argument("resource", metavar="RESOURCE", help="name in the stack, or ARM id")
    parser.add_argument("--stack", help="the stack's name; not needed with an ARM id")
    stack_options.add_config_folder(parser)
    parser.add_argument("--kubeconfig", type=Path, metavar="FILE", help="kubeconfig of the cluster or edge to search")
    parser.add_argument("--context", default="", help="context in it (default: its current one)")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")


def run(options: argparse.Namespace) -> int:
    is_id = options.resource.startswith("/")
    parsed = arm_ids.parse(options.resource) if is_id else None
    if is_id and (parsed is None or not any(parsed.is_type(each) for each in _EXPLAINED_TYPES)):
        known = "a container group, a job, an execution, a pool or a cluster, an endpoint, a deployment, a compute or a machine"
        return refuse(f"{options.resource!r} isn't the id of {known}")
    if not is_id and not options.stack:
        return refuse(f"{options.resource!r} is a name and requires --stack; an ARM id doesn't")
    try:
        found = _view(options) if options.stack else None
    except EngineError as error:
        return refuse(error)
    of_id = parsed.subscription if parsed else ""
    where = found.connection if found else replace(connection_from({}, os.environ), subscription_id=of_id)

    from azure_gpu_operations.azure import Arm  # here, because Azure's clients take seconds to load
    from azure_gpu_operations.explain import report

    logging.getLogger("azure.identity").setLevel(logging.ERROR)
    with closing(Arm(where)) as arm:
        explained = _found(arm, options, found, parsed)
        if explained is None:
            return refuse(_switched_off(found, options) or _unknown(found, options.resource))
        facts, finding = explained
    if options.json:
        print(json.dumps(report.as_json(facts, finding), indent=2))
    else:
        print("\n".join(report.lines(facts, finding, width_of(console()))))
    return report.exit_code(finding)


def lines_of(arm: Any, name: str, found: StackView, config_folder: Path | None) -> list[str]:
    """The lines that this command prints for a name in the stack; none if the name is unknown."""
    from azure_gpu_operations.explain import report  # here, as in `run`

    where = {"stack": found.name, "config_folder": config_folder, "kubeconfig": None, "context": ""}
    explained = _found(arm, argparse.Namespace(resource=name, **where), found, None)
    return report.lines(*explained) if explained is not None else []


def _found(arm: Any, options: argparse.Namespace, found: StackView | None, parsed: ArmId | None) -> tuple[Any, Any] | None:
    """The facts and the finding; None where nothing is called so."""
    explained, silent = _in_machine_learning(arm, options.resource, found, parsed), None
    if explained is None:
        explained, silent = _in_clusters(arm, options, found, parsed)
    if explained is None:
        resource_id = options.resource if parsed is not None else _id(arm, found, options)
        explained = _explained(arm, options.resource, resource_id, found) or _job(arm, options.resource, found) or silent
    return explained


def _explained(arm: Any, resource: str, resource_id: str, found: StackView | None) -> tuple[Any, Any] | None:
    """The facts and the finding; None where nothing is called so."""
    from azure_gpu_operations.explain import built_images, container_rules, read_group, read_job  # here, as in `run`

    name = resource.rsplit("/", 1)[-1]
    parsed = arm_ids.parse(resource_id)
    if parsed and any(parsed.is_type(each) for each in (*ML_TYPES, MACHINE_TYPE)):  # what was refused under this name
        return _in_machine_learning(arm, resource, None, parsed)
    if parsed and any(parsed.is_type(each) for each in CLUSTER_TYPES):
        return _cluster(arm, parsed)
    if not resource_id or (parsed and parsed.is_type(POOL_TYPE)):
        return _of_batch(arm, name, resource_id, found)
    reader = read_group if parsed and parsed.is_type(GROUP_TYPE) else read_job
    facts = reader.read(arm, name, resource_id)
    registry = found.registry if found else ""
    facts = built_images.added(arm, facts, registry) if registry else facts
    return facts, container_rules.explain(facts)


def _in_machine_learning(arm: Any, name: str, found: StackView | None, parsed: Any) -> tuple[Any, Any] | None:
    """An endpoint, a deployment, a compute or a machine; None where nothing is called so."""
    from azure_gpu_operations.explain import in_machine_learning  # here, as in `run`

    return in_machine_learning.by_id(arm, parsed) if parsed is not None else in_machine_learning.named(arm, name, found)


def _job(arm: Any, name: str, found: StackView | None) -> tuple[Any, Any] | None:
    """A job of the stack's workspace by its name, which nothing else is called."""
    from azure_gpu_operations.explain import in_machine_learning  # here, as in `run`

    return in_machine_learning.job_named(arm, name, found) if found is not None and found.ml_workspace else None


def _in_clusters(arm: Any, options: argparse.Namespace, found: StackView | None, parsed: Any) -> tuple[Any, Any]:
    """A cluster, an edge, a pool of a cluster, a Job or a pod; None where nothing is called so. And what a cluster that doesn't
    answer is."""
    from azure_gpu_operations.explain import in_clusters, planned_names  # here, as in `run`

    if parsed is not None:
        return (_cluster(arm, parsed) if any(parsed.is_type(each) for each in CLUSTER_TYPES) else None), None
    if found is None or (found.resources.get(options.resource) and options.resource not in found.clusters):
        return None, None
    there = targets.all_of(found, stack_options.file_of(options))
    if options.kubeconfig is not None:
        target = targets.ClusterSelection(kubeconfig=options.kubeconfig, context=options.context)
        there = [place for place in (targets.choose(found, targets.EDGE, target, None)[0],) if place is not None]
    planned = partial(planned_names.of_pool, stack_options.file_of(options), found.name)
    return in_clusters.named(arm, there, options.resource, found, planned)


def _cluster(arm: Any, parsed: ArmId) -> tuple[Any, Any]:
    """A cluster or one of its pools by its id."""
    from azure_gpu_operations.explain import in_clusters  # here, as in `run`

    is_pool = parsed.is_type(CLUSTER_POOL_TYPE)
    cluster_id = parsed.scope if is_pool else parsed.text
    place = ClusterTarget(cluster_id.rsplit("/", 1)[-1], cluster_id)
    return in_clusters.cluster(arm, place, parsed.name if is_pool else "")


def _of_batch(arm: Any, name: str, pool_id: str, found: StackView | None) -> tuple[Any, Any] | None:
    """A pool, or without an id a job of the accounts in which the stack has pools."""
    from azure_gpu_operations.batch.account import BatchAccount, batch_account_of  # here, as in `run`
    from azure_gpu_operations.explain import batch_rules, read_batch

    if pool_id:
        pool = read_batch.read_pool(arm, name, pool_id)
        return pool.as_facts(), batch_rules.explain_pool(pool)
    pools = found.pools if found else {}
    names = {each.rsplit("/", 1)[-1].lower(): logical for logical, each in pools.items()}
    for account_id in dict.fromkeys(map(batch_account_of, pools.values())):
        with closing(BatchAccount(arm, account_id)) as account:
            job = read_batch.read_job(account, name, names)
        if job.exists:
            return job.as_facts(), batch_rules.explain_job(job)
    return None


def _view(options: argparse.Namespace) -> StackView:
    return view(stack_options.stack_of(options))


def _id(arm: Any, found: StackView | None, options: argparse.Namespace) -> str:
    """The id of a name in the stack, or of what was refused under this name; "" where nothing is called so."""
    name = options.resource
    if found is None:
        return ""
    if name in found.resources:
        return found.resources[name]
    from azure_gpu_operations.explain import activity_log, planned_names  # here, as in `run`

    if not found.resource_group:
        return ""
    names = planned_names.of(stack_options.file_of(options), found.name, name)
    explained = {each.lower() for each in _EXPLAINED_TYPES}
    return activity_log.find(arm, found.resource_group, name, [each for each in names if each.arm_type.lower() in explained])


def _switched_off(found: StackView | None, options: argparse.Namespace) -> str:
    """The message for a part with `enabled: false`; "" for other names."""
    from azure_gpu_operations import planned  # here, as in `run`

    return planned.switched_off(stack_options.file_of(options), options.resource) if found is not None else ""


def _unknown(found: StackView | None, name: str) -> str:
    if found is None:
        return f"unknown resource {name!r}"
    close = found.nearest(name)
    known = ", ".join(sorted({**found.resources, **found.edges})) or "no running resources"
    jobs = ", and no job of its Batch account has this name" if found.pools else ""
    jobs += ", and no pool, Job or pod of its clusters" if found.clusters or found.edges else ""
    jobs += ", and no job of its workspace" if found.ml_workspace else ""
    meant = f"; did you mean {close[0]}?" if close else ""
    return f"stack {found.name} has no {name!r}; it has {known}{jobs}{meant}"
