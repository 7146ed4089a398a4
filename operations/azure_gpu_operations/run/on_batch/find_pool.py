"""Checks whether a stack's pool, and the quotas of its account, can run a request. Pure."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from azure_gpu.catalog import quotas
from azure_gpu.catalog.problems import Code, Problem, errors
from azure_gpu.catalog.quotas import BatchAccountLimits, Limit
from azure_gpu.catalog.services.batch import sources
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats.autoscale_formula.bounds import most_nodes, most_of_each
from azure_gpu_operations.batch.pool_facts import PoolFacts
from azure_gpu_operations.run.on_batch.commands import container, needs_shell, whole_command, words_of
from azure_gpu_operations.run.on_batch.request import BatchRequest
from azure_gpu_operations.run.used_part import no_registry
from azure_gpu_operations.stack_view import StackView


def check(view: StackView, name: str, pool: PoolFacts, request: BatchRequest) -> list[Problem]:
    """Problems with a run on this pool."""
    problems = [*_nodes(name, pool, request), *_workers(pool, request), *_gpus(name, pool, request)]
    problems += _in_containers(view, request) if pool.has_containers else _on_nodes(view, pool, request)
    if not pool.identities and (request.collects or request.target.secrets):
        what = "--output" if request.collects else "--secret-env"
        message = "the pool has no identity for access to the storage account"
        problems.append(
            Problem(what, message, value=name, fix="add `identity: create` to the stack's foundation and run `pulumi up`")
        )
    return problems


def _nodes(name: str, pool: PoolFacts, request: BatchRequest) -> Iterator[Problem]:
    if pool.state == "deleting":
        yield Problem("--pool", "the pool is being deleted", value=name, fix="run `pulumi up`, which may create it again")
        return
    if not pool.formula and not pool.target and not pool.nodes:
        fix = "set `dedicated_nodes`, `spot_nodes` or `autoscale` in the stack's file and run `pulumi up`"
        fix += "; after `stop` run `pulumi up --refresh`"
        message = "the pool has no nodes and no autoscale formula, so tasks would never start"
        yield Problem("--pool", message, value=name, fix=fix)
    most = request.most_nodes
    if most == 1:
        return
    where = "--tasks" if request.from_file else "--nodes"
    if not pool.inter_node or pool.slots != 1:
        lacks = "inter-node communication" if not pool.inter_node else "one task slot per node"
        yield Problem(
            path=where,
            message=f"a task on several nodes requires a pool with {lacks}",
            value=most,
            fix=f"set `inter_node: true` or `mpi`, and one task slot, for the pool {name}, or choose another pool",
            source=str(sources.MPI),
            code=Code.IMPOSSIBLE,
        )
    has = most_nodes(pool.formula) if pool.formula else max(pool.target, pool.nodes)
    if has and most > has:
        fix = f"request {has} or fewer, or enlarge the pool"
        message = f"the pool {'gets' if pool.formula else 'has'} fewer nodes than one task requests"
        yield Problem(where, message, value=most, allowed=f"1 to {has}", fix=fix)


def _workers(pool: PoolFacts, request: BatchRequest) -> Iterator[Problem]:
    """Problems of tasks on several nodes without `mpirun`."""
    if request.processes and pool.has_containers:
        message = "the pool runs tasks in containers, where mpirun isn't supported"
        fix = "remove it, so that each node runs the program once, or choose a pool without `containers`"
        yield Problem("--processes", message, value=request.processes, fix=fix)
    several = [task for task in request.job.tasks if task.nodes > 1 and not task.coordination_command]
    if several and pool.is_windows and not request.uses_mpi(pool):
        where = "--tasks" if request.from_file else "--nodes"
        message = "workers require Linux, and the pool's nodes run Windows"
        fix = "choose a Linux pool, or set `mpi: microsoft_mpi` of this one in the stack's file"
        yield Problem(where, message, value=several[0].nodes, fix=fix, code=Code.IMPOSSIBLE)


def _gpus(name: str, pool: PoolFacts, request: BatchRequest) -> Iterator[Problem]:
    """Problems with --gpus. A task sees all GPUs of its node; fewer is a setting of the program, valid for one task per node."""
    size = SIZES.find(pool.size)
    if request.gpus is None or size is None:
        return
    has = math.ceil(size.gpu_count) if size.gpu_count else 0
    if request.gpus > has:
        others = "a pool of a size with GPUs" if not has else f"{has} or fewer, or a pool of a larger size"
        message = f"a node of the pool {name} ({pool.size}) has {'no GPU' if not has else 'fewer GPUs'}"
        yield Problem("--gpus", message, value=request.gpus, allowed=f"0 to {has}" if has else "0", fix=f"choose {others}")
    elif 0 < request.gpus < has and pool.slots > 1:
        message = f"a node of the pool {name} runs {pool.slots} tasks at a time, and all would use the same first GPUs"
        yield Problem(
            "--gpus", message, value=request.gpus, allowed=str(has), fix="remove it, or choose a pool with one task slot"
        )


def _in_containers(view: StackView, request: BatchRequest) -> Iterator[Problem]:
    """Problems on a pool with containers, where Batch runs every task in one."""
    if not request.has_target:
        for task in request.job.tasks:
            if not task.image:
                fix = "name a script, a workload or an image, or choose a pool without `containers`"
                yield Problem(
                    task.path,
                    "no image is given, and the pool runs tasks in containers",
                    fix=fix,
                    source=str(sources.CONTAINERS),
                )
                break
    yield from no_registry(view, request.target)
    yield from _shell(request)


def _shell(request: BatchRequest) -> Iterator[Problem]:
    """Variables of the node, secrets and workers need a shell before the image's command, which must be known."""
    for task in request.job.tasks:
        words = words_of(task.command)
        context = request.target.context
        whole = whole_command(context, words) if context else tuple(words) or None
        several = task.nodes > 1 and not task.coordination_command
        if (several and not whole) or container(words, whole, secrets=bool(request.target.secrets)) is None:
            named = task.path if several or needs_shell(task.command) else "--secret-env"
            fix = "write the whole command after --" if context is None else "write ENTRYPOINT in the Dockerfile as a JSON list"
            yield Problem(named, "the command must be started by a shell, and the image's command isn't known", fix=fix)
            return


def _on_nodes(view: StackView, pool: PoolFacts, request: BatchRequest) -> Iterator[Problem]:
    target = request.target
    images = [task for task in request.job.tasks if task.image]
    if (target.context is not None and not target.context.script) or target.image or images:
        what = target.described if request.has_target else f"image {images[0].image}"
        fix = "set `containers` of the pool in the stack's file, or name a script such as ./train.py"
        yield Problem("TARGET", "the pool runs no containers", value=what, fix=fix)
        return
    if target.context is None:
        return
    if pool.is_windows:
        message = "Windows nodes have no Python to run a script"
        yield Problem("TARGET", message, value=target.described, fix="write a command after --, or choose a Linux pool")
    if not view.storage or not pool.identities:
        lacks = "no storage account" if not view.storage else "no identity on its pool"
        fix = "add `storage: create` and `identity: create` to the stack's foundation and run `pulumi up`"
        yield Problem("--stack", f"the stack has {lacks}, which is required to send a script to nodes", value=view.name, fix=fix)


_IN_SUBSCRIPTION = "UserSubscription"  # such an account uses the quotas of virtual machines


def quota_problems(pool: PoolFacts, request: BatchRequest, account: Mapping[str, Any]) -> list[Problem]:
    needed = request.most_nodes
    properties = account.get("properties") or {}
    if needed == 1 or properties.get("poolAllocationMode") == _IN_SUBSCRIPTION:
        return []
    dedicated, spot = (most_of_each(pool.formula) if pool.formula else None) or (pool.target_dedicated, pool.target_spot)
    if bool(dedicated) == bool(spot):  # with both kinds, each may provide some of the nodes
        return []
    path = "--tasks" if request.from_file else "--nodes"
    use = SizeUse(Service.BATCH, pool.size, str(account.get("location") or ""), path, "--pool", needed, spot=bool(spot))
    return errors(quotas.batch_problems([use], _limits(account, properties)))


def _limits(account: Mapping[str, Any], properties: Mapping[str, Any]) -> BatchAccountLimits:
    families = properties.get("dedicatedCoreQuotaPerVMFamily") or ()
    return BatchAccountLimits(
        account=str(account.get("name") or ""),
        region=str(account.get("location") or ""),
        families=tuple(Limit(str(each["name"]), int(each["coreQuota"])) for each in families),
        families_enforced=bool(properties.get("dedicatedCoreQuotaPerVMFamilyEnforced")),
        dedicated=properties.get("dedicatedCoreQuota"),
        spot=properties.get("lowPriorityCoreQuota"),
    )
