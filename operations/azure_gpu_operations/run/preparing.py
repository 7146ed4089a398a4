"""The places of `run`: what each is asked beforehand, and how a run there begins.

In: options, the stack's view, a target. Out: a function that runs, None where it can't, and problems. What a run takes to load is
loaded when it begins: Azure's clients take longer than a command line to be refused.
"""

import argparse
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from azure_gpu.catalog.problems import Problem
from azure_gpu_operations.clusters import places
from azure_gpu_operations.clusters.places import AKS, EDGE
from azure_gpu_operations.run import find_job
from azure_gpu_operations.run.options import BATCH, JOB, LOCAL, ML_CLUSTER, VM
from azure_gpu_operations.run.target import Target, workloads
from azure_gpu_operations.stack_options import file_of
from azure_gpu_operations.stack_view import StackView

Start = Callable[[], int]


def _on_job(options: argparse.Namespace, found: StackView | None, target: Target) -> tuple[Start | None, list[Problem]]:
    if found is None:
        return None, []
    name, problems = find_job.choose(found, options.job or "")
    problems = [*problems, *find_job.check(found, builds=target.context is not None)]

    def start() -> int:
        from azure_gpu_operations.run import session

        return session.run(
            found,
            name,
            target,
            options.after,
            timeout_minutes=options.timeout,
            detach=options.detach,
            show=partial(print, flush=True),
            say=session.say_on_stderr,
        )

    return start, problems


def _on_batch(options: argparse.Namespace, found: StackView | None, target: Target) -> tuple[Start | None, list[Problem]]:
    from azure_gpu_operations.run.on_batch import find_pool, wanted

    said = wanted.Said(
        pool=options.pool or "",
        nodes=options.nodes,
        processes=options.processes,
        tasks=options.tasks,
        retries=options.retries,
        outputs=tuple(options.output),
        into=options.into,
        target=options.target or "",
    )
    asked, problems = wanted.resolve(said, target, options.after, options.timeout)
    if found is None:
        return None, problems
    name, more = find_pool.choose(found, said.pool or (asked.job.pool if asked else ""))
    problems = [*problems, *more, *(find_pool.check_stack(found, asked) if asked else [])]
    if asked is None:
        return None, problems

    def start() -> int:
        from azure_gpu_operations.run.on_batch import session

        return session.run(
            found,
            name,
            asked,
            detach=options.detach,
            show=partial(print, flush=True),
            show_error=partial(print, file=sys.stderr, flush=True),
            say=partial(print, file=sys.stderr, flush=True),
        )

    return start, problems


def _on_cluster(options: argparse.Namespace, found: StackView | None, target: Target) -> tuple[Start | None, list[Problem]]:
    from azure_gpu_operations.run.on_cluster import wanted

    said = wanted.Said(
        pool=options.pool or "",
        gpus=options.gpus,
        namespace=options.namespace or "",
        pull_secret=options.pull_secret or "",
        target=options.target or "",
    )
    asked, problems = wanted.resolve(said, target, options.after, options.timeout, found, options.on)
    if found is None:
        return None, problems
    where = places.Said(options.cluster or "", options.namespace or "", options.kubeconfig, options.context or "")
    place, more = places.choose(found, options.on, where, file_of(options))
    problems = [*problems, *more]
    if place is None:
        return None, problems

    def start() -> int:
        from azure_gpu_operations.run.on_cluster import session

        return session.run(
            found,
            place,
            asked,
            detach=options.detach,
            show=partial(print, flush=True),
            say=partial(print, file=sys.stderr, flush=True),
        )

    return start, problems


def _on_local(options: argparse.Namespace, _: StackView | None, target: Target) -> tuple[Start | None, list[Problem]]:
    from azure_gpu_operations.run.on_local import plan

    place = Path(options.target or "").expanduser()
    folder = workloads().get(options.target or "", place)
    tools = [each for each in plan.ENGINES if shutil.which(each)]
    found, problems = plan.resolve(
        target,
        options.after,
        options.way or "",
        place.resolve() if place.is_file() else None,
        folder.resolve() if folder.is_dir() else None,
        tools,
    )
    if options.detach:
        problems.append(Problem("--detach", "what runs here runs as long as this command", fix="leave it out, or write --on vm"))
    if found is None:
        return None, problems

    def start() -> int:
        from azure_gpu_operations.run.on_local import session

        return session.run(found, target, timeout_minutes=options.timeout, say=partial(print, file=sys.stderr, flush=True))

    return start, problems


def _on_vm(options: argparse.Namespace, found: StackView | None, target: Target) -> tuple[Start | None, list[Problem]]:
    from azure_gpu_operations.run.on_vm import wanted
    from azure_gpu_operations.vm import choose

    said = wanted.Said(
        vm=options.vm or "",
        way=options.way or "",
        start=bool(options.start),
        stop_after=bool(options.stop_after),
        target=options.target or "",
        base=options.base or "",
        detach=options.detach,
    )
    asked, problems = wanted.resolve(said, target, options.after, options.timeout, found)
    if found is None:
        return None, problems
    name, more = choose.choose(found, said.vm, "--vm")
    problems = [*problems, *more]

    def start() -> int:
        from azure_gpu_operations.run.on_vm import session

        return session.run(
            found,
            name,
            asked,
            detach=options.detach,
            show=partial(print, flush=True),
            show_error=partial(print, file=sys.stderr, flush=True),
            say=partial(print, file=sys.stderr, flush=True),
        )

    return start, problems


def _on_ml_cluster(options: argparse.Namespace, found: StackView | None, target: Target) -> tuple[Start | None, list[Problem]]:
    from azure_gpu_operations.run.on_ml_cluster import wanted

    asked, problems = wanted.resolve(target, options.target or "", options.after, options.timeout, found)
    if found is None:
        return None, problems
    name, more = wanted.choose(found, options.compute or "")
    problems = [*problems, *more]

    def start() -> int:
        from azure_gpu_operations.run.on_ml_cluster import session

        return session.run(
            found,
            name,
            asked,
            detach=options.detach,
            show=partial(print, flush=True),
            say=partial(print, file=sys.stderr, flush=True),
        )

    return start, problems


PREPARES = {
    JOB: _on_job,
    BATCH: _on_batch,
    AKS: _on_cluster,
    EDGE: _on_cluster,
    LOCAL: _on_local,
    VM: _on_vm,
    ML_CLUSTER: _on_ml_cluster,
}
