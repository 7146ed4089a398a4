"""Makes the plan of a run on a service, and validates the options before any request to Azure.

Each service is a package with two modules: `request` has `resolve`, which makes the service's request of the options, and may
have `check`, for what the stack's outputs show of its part; `run` has `plan`, and `find` for earlier runs. It is imported when
the plan is entered, because Azure's clients load slowly.
"""

import argparse
import shutil
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import Any

from azure_gpu.catalog.problems import Problem
from azure_gpu_operations import one_part
from azure_gpu_operations.clusters import targets
from azure_gpu_operations.run import carried
from azure_gpu_operations.run.protocol import AKS, BATCH, EDGE, JOB, LOCAL, ML_CLUSTER, VM, Output, Plan, Run
from azure_gpu_operations.run.target import Target, workloads
from azure_gpu_operations.run.used_part import no_registry
from azure_gpu_operations.stack_options import file_of
from azure_gpu_operations.stack_view import StackView

SERVICES = {JOB: "on_job", BATCH: "on_batch", ML_CLUSTER: "on_ml_cluster", VM: "on_vm", AKS: "on_cluster", EDGE: "on_cluster"}
_PARTS = {JOB: one_part.JOB, BATCH: one_part.POOL, VM: one_part.MACHINE, ML_CLUSTER: one_part.COMPUTE}
_BUILD = (JOB, AKS, EDGE, ML_CLUSTER)  # always build an image; on the others it depends on the part
_CARRY = (JOB, AKS, VM, ML_CLUSTER)  # transfer files from inside the image


def prepare(options: argparse.Namespace, target: Target, view: StackView | None) -> tuple[Plan | None, list[Problem]]:
    """`view` None: there is no stack. None with problems; a plan of options with other problems isn't to be entered."""
    if options.on == LOCAL:
        return _on_local(options, target)
    module = import_module(f"{__package__}.{SERVICES[options.on]}.request")
    request, problems = module.resolve(options, target, view)
    if view is None:
        return None, problems
    if options.on in _BUILD:
        problems = [*problems, *no_registry(view, target)]
    place, more = _part(options, view, request)
    problems = [*problems, *more]
    if request is None or not place:
        return None, problems
    if options.on in _CARRY:
        files, more = carried.resolve(options.input, options.output, options.into)
        problems += [*more, *carried.check(files, target.context, view.storage, view.name)]
        request = request._replace(files=files)
    if check := getattr(module, "check", None):
        problems += check(view, place, request)

    def plan(output: Output) -> AbstractContextManager[Run]:
        carried.make_folder(options.into)
        return import_module(f"{__package__}.{SERVICES[options.on]}.run").plan(view, place, request, output)

    return plan, problems


def _part(options: argparse.Namespace, view: StackView, request: Any) -> tuple[Any, list[Problem]]:
    """The part of the stack to run on: its name, or a cluster."""
    kind = _PARTS.get(options.on)
    if kind is None:
        words = (options.cluster or "", options.namespace or "", options.kubeconfig, options.context or "")
        return targets.choose(view, options.on, targets.ClusterSelection(*words), file_of(options))
    name = getattr(options, kind.option.removeprefix("--")) or ""
    if options.on == BATCH and request is not None:
        name = name or request.job.pool
    return one_part.choose(kind, view, name, file_of(options))


def _on_local(options: argparse.Namespace, target: Target) -> tuple[Plan | None, list[Problem]]:
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
