"""Makes the plan of a run on each service, and validates the options before any request to Azure.

Returns None and problems if the options are wrong. Azure's clients, which load slowly, are loaded when the plan is entered.
"""

import argparse
import shutil
from contextlib import AbstractContextManager
from pathlib import Path

from azure_gpu.catalog.problems import Problem
from azure_gpu_operations import one_part
from azure_gpu_operations.clusters import targets
from azure_gpu_operations.clusters.targets import AKS, EDGE
from azure_gpu_operations.run import carried
from azure_gpu_operations.run.carried import Files
from azure_gpu_operations.run.on_job import find_job
from azure_gpu_operations.run.protocol import Output, Plan, Run
from azure_gpu_operations.run.target import Target, workloads
from azure_gpu_operations.run.workers import BATCH, JOB, LOCAL, ML_CLUSTER, VM, group
from azure_gpu_operations.stack_options import file_of
from azure_gpu_operations.stack_view import StackView


def _on_job(options: argparse.Namespace, found: StackView | None, target: Target) -> tuple[Plan | None, list[Problem]]:
    if found is None:
        return None, []
    name, problems = one_part.choose(one_part.JOB, found, options.job or "", file_of(options))
    problems = [*problems, *find_job.check(found, builds=target.context is not None)]
    files, more = _files(options, found, target)
    problems = [*problems, *more]

    def plan(output: Output) -> AbstractContextManager[Run]:
        from azure_gpu_operations.run.on_job import run

        return run.plan(found, name, run.JobRequest(target, tuple(options.after), options.timeout, files), output)

    return plan, problems


def _on_batch(options: argparse.Namespace, found: StackView | None, target: Target) -> tuple[Plan | None, list[Problem]]:
    from azure_gpu_operations.run.on_batch import find_pool, request as requests

    chosen = requests.BatchOptions(
        pool=options.pool or "",
        group=group(options.nodes, options.gpus),
        processes=options.processes,
        tasks=options.tasks,
        retries=options.retries,
        outputs=tuple(options.output),
        into=options.into,
        target=options.target or "",
    )
    request, problems = requests.resolve(chosen, target, options.after, options.timeout)
    if found is None:
        return None, problems
    name, more = one_part.choose(one_part.POOL, found, chosen.pool or (request.job.pool if request else ""), file_of(options))
    problems = [*problems, *more, *(find_pool.check_stack(found, request) if request else [])]
    if request is None:
        return None, problems

    def plan(output: Output) -> AbstractContextManager[Run]:
        from azure_gpu_operations.run.on_batch import run

        return run.plan(found, name, request, output)

    return plan, problems


def _on_cluster(options: argparse.Namespace, found: StackView | None, target: Target) -> tuple[Plan | None, list[Problem]]:
    from azure_gpu_operations.run.on_cluster import request as requests

    chosen = requests.ClusterOptions(
        pool=options.pool or "",
        group=group(options.nodes, options.gpus),
        namespace=options.namespace or "",
        pull_secret=options.pull_secret or "",
        queue=options.queue or "",
        target=options.target or "",
    )
    request, problems = requests.resolve(chosen, target, options.after, options.timeout, found, options.on)
    if found is None:
        return None, problems
    selection = targets.ClusterSelection(
        options.cluster or "", options.namespace or "", options.kubeconfig, options.context or ""
    )
    cluster, more = targets.choose(found, options.on, selection, file_of(options))
    files, wrong = _files(options, found, target)
    problems = [*problems, *more, *(wrong if options.on == AKS else [])]
    if cluster is None:
        return None, problems
    problems += requests.check_files(files, found, cluster)
    request = request._replace(files=files)

    def plan(output: Output) -> AbstractContextManager[Run]:
        from azure_gpu_operations.run.on_cluster import run

        return run.plan(found, cluster, request, output)

    return plan, problems


def _on_local(options: argparse.Namespace, _: StackView | None, target: Target) -> tuple[Plan | None, list[Problem]]:
    from azure_gpu_operations.run.on_local import plan as planning

    place = Path(options.target or "").expanduser()
    folder = workloads().get(options.target or "", place)
    tools = [each for each in planning.ENGINES if shutil.which(each)]
    found, problems = planning.resolve(
        target,
        options.after,
        options.way or "",
        place.resolve() if place.is_file() else None,
        folder.resolve() if folder.is_dir() else None,
        tools,
    )
    if options.detach:
        problems.append(Problem("--detach", "not supported with --on local", fix="remove it, or use --on vm"))
    if found is None:
        return None, problems

    def plan(output: Output) -> AbstractContextManager[Run]:
        from azure_gpu_operations.run.on_local import run

        return run.plan(found, target, options.timeout, output)

    return plan, problems


def _on_vm(options: argparse.Namespace, found: StackView | None, target: Target) -> tuple[Plan | None, list[Problem]]:
    from azure_gpu_operations.run.on_vm import request as requests

    chosen = requests.VmOptions(
        vm=options.vm or "",
        method=options.way or "",
        start=bool(options.start),
        stop_after=bool(options.stop_after),
        target=options.target or "",
        base=options.base or "",
        detach=options.detach,
    )
    request, problems = requests.resolve(chosen, target, options.after, options.timeout, found)
    if found is None:
        return None, problems
    name, more = one_part.choose(one_part.MACHINE, found, chosen.vm, file_of(options))
    files, wrong = _files(options, found, target)
    problems = [*problems, *more, *wrong]
    request = request._replace(files=files)

    def plan(output: Output) -> AbstractContextManager[Run]:
        from azure_gpu_operations.run.on_vm import run

        return run.plan(found, name, request, output)

    return plan, problems


def _on_ml_cluster(options: argparse.Namespace, found: StackView | None, target: Target) -> tuple[Plan | None, list[Problem]]:
    from azure_gpu_operations.run.on_ml_cluster import request as requests

    request, problems = requests.resolve(
        target, options.target or "", options.after, options.timeout, found, group(options.nodes, options.gpus)
    )
    if found is None:
        return None, problems
    name, more = one_part.choose(one_part.COMPUTE, found, options.compute or "", file_of(options))
    files, wrong = _files(options, found, target)
    problems = [*problems, *more, *wrong]
    request = request._replace(files=files)

    def plan(output: Output) -> AbstractContextManager[Run]:
        from azure_gpu_operations.run.on_ml_cluster import run

        return run.plan(found, name, request, output)

    return plan, problems


def _files(options: argparse.Namespace, found: StackView, target: Target) -> tuple[Files, list[Problem]]:
    """The files of a run with a built image."""
    files, problems = carried.resolve(options.input, options.output, options.into)
    return files, [*problems, *carried.check(files, target.context, found.storage, found.name)]


PREPARES = {
    JOB: _on_job,
    BATCH: _on_batch,
    AKS: _on_cluster,
    EDGE: _on_cluster,
    LOCAL: _on_local,
    VM: _on_vm,
    ML_CLUSTER: _on_ml_cluster,
}
