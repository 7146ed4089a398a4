"""The pool that a run goes to: one of the stack's, and whether it can take what is to run.

In: the stack's view, the words of the command line, the pool as Batch answers it. Out: the pool's name in the stack, and
problems. Pure.
"""

import math
from collections.abc import Iterator
from datetime import date

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services.batch import sources
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats.autoscale_formula.bounds import most_nodes
from azure_gpu_operations.batch.pool_facts import PoolFacts
from azure_gpu_operations.one_part import POOL
from azure_gpu_operations.run import expired
from azure_gpu_operations.run.on_batch.commands import container, needs_shell, whole_command, words_of
from azure_gpu_operations.run.on_batch.wanted import Wanted
from azure_gpu_operations.stack_view import StackView


def check_stack(view: StackView, wanted: Wanted) -> list[Problem]:
    """What the stack's outputs say against a run, whatever the pool is."""
    if view.storage or not (wanted.collects or wanted.target.secrets):
        return []
    what = "--output" if wanted.collects else "--secret-env"
    return [
        Problem(
            path=what,
            message="the stack has no storage account, through which tasks get and leave files",
            value=view.name,
            fix="add `storage: create` to the stack's foundation and run `pulumi up`, or leave it out",
            code=Code.NOT_FOUND,
        )
    ]


def check(view: StackView, name: str, pool: PoolFacts, wanted: Wanted) -> list[Problem]:
    """What the pool says against a run."""
    problems = [*_nodes(name, pool, wanted), *_workers(pool, wanted), *_gpus(name, pool, wanted)]
    problems += _in_containers(view, wanted) if pool.has_containers else _on_nodes(view, pool, wanted)
    if not pool.identities and (wanted.collects or wanted.target.secrets):
        what = "--output" if wanted.collects else "--secret-env"
        message = "the pool has no identity with which its nodes could reach the storage account"
        problems.append(Problem(what, message, value=name, fix="add `identity: create` to the stack's foundation, `pulumi up`"))
    return problems


def check_end(view: StackView, name: str, day: date) -> list[Problem]:
    """A warning where the pool's end date has passed."""
    return expired.problems(POOL, view, name, day)


def _nodes(name: str, pool: PoolFacts, wanted: Wanted) -> Iterator[Problem]:
    if pool.state == "deleting":
        yield Problem("--pool", "the pool is being deleted", value=name, fix="run `pulumi up`, which may make it again")
        return
    if not pool.formula and not pool.target and not pool.nodes:
        fix = "give it `dedicated_nodes`, `spot_nodes` or `autoscale` in the stack's file, then `pulumi up`"
        fix += "; if it was drained: `pulumi up --refresh`"
        message = "the pool has no nodes, and no formula that gives it some, so no task would ever start"
        yield Problem("--pool", message, value=name, fix=fix)
    most = wanted.most_nodes
    if most == 1:
        return
    where = "--tasks" if wanted.from_file else "--nodes"
    if not pool.inter_node or pool.slots != 1:
        lacks = "nodes that talk to each other" if not pool.inter_node else "nodes that run one task at a time"
        yield Problem(
            path=where,
            message=f"a task on several nodes needs a pool with {lacks}; on this one it would never start",
            value=most,
            fix=f"give the pool {name} `inter_node: true` or `mpi` and one task slot in the stack's file, or name another",
            source=str(sources.MPI),
            code=Code.IMPOSSIBLE,
        )
    has = most_nodes(pool.formula) if pool.formula else max(pool.target, pool.nodes)
    if has and most > has:
        fix = f"ask for {has} or fewer, or give the pool more"
        message = f"the pool {'gets' if pool.formula else 'has'} fewer nodes than one task asks for"
        yield Problem(where, message, value=most, allowed=f"1 to {has}", fix=fix)


def _workers(pool: PoolFacts, wanted: Wanted) -> Iterator[Problem]:
    """Of tasks over several nodes, where the program's processes are no `mpirun`'s."""
    if wanted.processes and pool.has_containers:
        message = "mpirun starts processes beside the containers in which the tasks of this pool run"
        fix = "leave it out: each node runs the program once; or name a pool without `containers`"
        yield Problem("--processes", message, value=wanted.processes, fix=fix)
    several = [task for task in wanted.job.tasks if task.nodes > 1 and not task.coordination_command]
    if several and pool.is_windows and not wanted.uses_mpi(pool):
        where = "--tasks" if wanted.from_file else "--nodes"
        message = "workers are started by a shell of Linux, and the pool's nodes have Windows"
        fix = "name a Linux pool, or give this one `mpi: microsoft_mpi` in the stack's file"
        yield Problem(where, message, value=several[0].nodes, fix=fix, code=Code.IMPOSSIBLE)


def _gpus(name: str, pool: PoolFacts, wanted: Wanted) -> Iterator[Problem]:
    """A task sees all GPUs of its node, so that fewer is what its program is told, which only one task of a node may be."""
    size = SIZES.find(pool.size)
    if wanted.gpus is None or size is None:
        return
    has = math.ceil(size.gpu_count) if size.gpu_count else 0
    if wanted.gpus > has:
        others = "a pool of a size with GPUs" if not has else f"{has} or fewer, or a pool of a larger size"
        message = f"a node of the pool {name} ({pool.size}) has {'no GPU' if not has else 'fewer GPUs'}"
        yield Problem("--gpus", message, value=wanted.gpus, allowed=f"0 to {has}" if has else "0", fix=f"name {others}")
    elif 0 < wanted.gpus < has and pool.slots > 1:
        message = f"a node of the pool {name} runs {pool.slots} tasks at a time, and each would be told of the same first GPUs"
        yield Problem(
            "--gpus", message, value=wanted.gpus, allowed=str(has), fix="leave it out, or name a pool with one task slot"
        )


def _in_containers(view: StackView, wanted: Wanted) -> Iterator[Problem]:
    """Batch runs no task outside of a container on such a pool."""
    if not wanted.has_target:
        for task in wanted.job.tasks:
            if not task.image:
                fix = "name a script, a workload or an image, or a pool without `containers`"
                yield Problem(
                    task.path,
                    "tasks of this pool run in containers, and nothing says in which image",
                    fix=fix,
                    source=str(sources.CONTAINERS),
                )
                break
    if wanted.target.context is not None and not view.registry:
        fix = "add `registry: create` to the stack's foundation, or name an image that is there already"
        message = "the stack has no registry, so nothing can be built for the pool"
        yield Problem("--stack", message, value=view.name, fix=fix, code=Code.NOT_FOUND)
    yield from _shell(wanted)


def _shell(wanted: Wanted) -> Iterator[Problem]:
    """Variables of the node, secrets and workers need a shell before the image's own command, which has to be known then."""
    for task in wanted.job.tasks:
        words = words_of(task.command)
        context = wanted.target.context
        whole = whole_command(context, words) if context else tuple(words) or None
        several = task.nodes > 1 and not task.coordination_command
        if (several and not whole) or container(words, whole, secrets=bool(wanted.target.secrets)) is None:
            named = task.path if several or needs_shell(task.command) else "--secret-env"
            fix = "write the whole command behind --" if context is None else "give the Dockerfile an ENTRYPOINT in brackets"
            yield Problem(named, "the image's own command isn't known here, and it would have to be started by a shell", fix=fix)
            return


def _on_nodes(view: StackView, pool: PoolFacts, wanted: Wanted) -> Iterator[Problem]:
    target = wanted.target
    images = [task for task in wanted.job.tasks if task.image]
    if (target.context is not None and not target.context.script) or target.image or images:
        what = target.described if wanted.has_target else f"image {images[0].image}"
        fix = "give the pool `containers` in the stack's file, or name a script such as ./train.py"
        yield Problem("TARGET", "the pool runs no containers", value=what, fix=fix)
        return
    if target.context is None:
        return
    if pool.is_windows:
        message = "a Windows node has no Python of its own to run a script with"
        yield Problem("TARGET", message, value=target.described, fix="write a command behind -- instead, or name a Linux pool")
    if not view.storage or not pool.identities:
        lacks = "no storage account" if not view.storage else "no identity on its pool"
        fix = "add `storage: create` and `identity: create` to the stack's foundation and run `pulumi up`"
        yield Problem("--stack", f"the stack has {lacks}, through which a script comes onto nodes", value=view.name, fix=fix)
