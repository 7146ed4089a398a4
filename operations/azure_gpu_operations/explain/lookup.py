"""Finds what is called so, by its name in a stack or by its ARM id, reads it and explains it."""

import argparse
from contextlib import closing
from functools import partial

from azure_gpu.formats import arm_ids
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu_operations import stack_options
from azure_gpu_operations.azure import Arm
from azure_gpu_operations.clusters import targets
from azure_gpu_operations.clusters.arm_facts import POOL_TYPE as CLUSTER_POOL_TYPE
from azure_gpu_operations.clusters.targets import ClusterTarget
from azure_gpu_operations.explain import (
    activity_log,
    built_images,
    in_clusters,
    in_machine_learning,
    planned_names,
    read_group,
    read_job,
    rules,
)
from azure_gpu_operations.explain.facts import (
    CLUSTER_TYPES,
    EXPLAINED_TYPES,
    GROUP_TYPE,
    MACHINE_TYPE,
    ML_TYPES,
    POOL_TYPE,
    Facts,
    Finding,
)
from azure_gpu_operations.stack_view import StackView

Explained = tuple[Facts, Finding]


def explained(arm: Arm, options: argparse.Namespace, view: StackView | None, parsed: ArmId | None) -> Explained | None:
    """The facts and the finding; None where nothing is called so."""
    name = options.resource
    if parsed is not None:
        return _by_id(arm, name, parsed, view)
    found = in_machine_learning.named(arm, name, view)
    if found is not None or view is None:
        return found
    found, silent = _in_clusters(arm, options, view)
    if found is None:
        resource_id = _id(arm, view, options)
        id_ = arm_ids.parse(resource_id)
        found = _by_id(arm, name, id_, view) if id_ is not None else _job_of_batch(arm, name.rsplit("/", 1)[-1], view)
    if found is None and view.ml_workspace:
        found = in_machine_learning.job_named(arm, name, view)
    return found or silent


def _by_id(arm: Arm, resource: str, parsed: ArmId, view: StackView | None) -> Explained | None:
    if any(parsed.is_type(each) for each in (*ML_TYPES, MACHINE_TYPE)):
        return in_machine_learning.by_id(arm, parsed)
    if any(parsed.is_type(each) for each in CLUSTER_TYPES):
        return _cluster(arm, parsed)
    name = resource.rsplit("/", 1)[-1]
    if parsed.is_type(POOL_TYPE):
        return _pool(arm, name, parsed.text)
    facts = (read_group if parsed.is_type(GROUP_TYPE) else read_job).read(arm, name, parsed.text)
    facts = built_images.added(arm, facts, view.registry) if view is not None and view.registry else facts
    return facts, rules.explain(facts)


def _in_clusters(arm: Arm, options: argparse.Namespace, view: StackView) -> tuple[Explained | None, Explained | None]:
    """A cluster, an edge, a pool of a cluster, a Job or a pod; None where nothing is called so. And what a cluster that doesn't
    answer is."""
    if view.resources.get(options.resource) and options.resource not in view.clusters:
        return None, None
    there = targets.all_of(view, stack_options.file_of(options))
    if options.kubeconfig is not None:
        target = targets.ClusterSelection(kubeconfig=options.kubeconfig, context=options.context)
        there = [place for place in (targets.choose(view, targets.EDGE, target, None)[0],) if place is not None]
    planned = partial(planned_names.of_pool, stack_options.file_of(options), view.name)
    return in_clusters.named(arm, there, options.resource, view, planned)


def _cluster(arm: Arm, parsed: ArmId) -> Explained:
    """A cluster or one of its pools."""
    is_pool = parsed.is_type(CLUSTER_POOL_TYPE)
    cluster_id = parsed.scope if is_pool else parsed.text
    place = ClusterTarget(cluster_id.rsplit("/", 1)[-1], cluster_id)
    return in_clusters.cluster(arm, place, parsed.name if is_pool else "")


def _pool(arm: Arm, name: str, pool_id: str) -> Explained:
    from azure_gpu_operations.explain import batch_rules, read_batch  # here, because Batch's client loads slowly

    pool = read_batch.read_pool(arm, name, pool_id)
    return pool.as_facts(), batch_rules.explain_pool(pool)


def _job_of_batch(arm: Arm, name: str, view: StackView) -> Explained | None:
    """A job of the accounts in which the stack has pools."""
    from azure_gpu_operations.batch.account import BatchAccount, batch_account_of  # here, as in `_pool`
    from azure_gpu_operations.explain import batch_rules, read_batch

    names = {each.rsplit("/", 1)[-1].lower(): logical for logical, each in view.pools.items()}
    for account_id in dict.fromkeys(map(batch_account_of, view.pools.values())):
        with closing(BatchAccount(arm, account_id)) as account:
            job = read_batch.read_job(account, name, names)
        if job.exists:
            return job.as_facts(), batch_rules.explain_job(job)
    return None


def _id(arm: Arm, view: StackView, options: argparse.Namespace) -> str:
    """The id of a name in the stack, or of what was refused under this name; "" where nothing is called so."""
    name = options.resource
    if name in view.resources or not view.resource_group:
        return view.resources.get(name, "")
    names = planned_names.of(stack_options.file_of(options), view.name, name)
    known = {each.lower() for each in EXPLAINED_TYPES}
    return activity_log.find(arm, view.resource_group, name, [each for each in names if each.arm_type.lower() in known])
