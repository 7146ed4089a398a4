"""The runs of `prove` on one service: the vector addition, then a short training on handwritten digits.

They are made from command lines of `run`, so that `prove` tests exactly what `run` does.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from azure_gpu.catalog.problems import Problem, errors
from azure_gpu_operations.prove.proof import Service
from azure_gpu_operations.run import options as run_options
from azure_gpu_operations.run.preparing import prepare
from azure_gpu_operations.run.protocol import Plan
from azure_gpu_operations.run.target import TargetOptions, resolve
from azure_gpu_operations.stack_view import StackView

TIMEOUT_MINUTES = 20  # of one run: allocating a node takes up to ten
ADDITION = ("vector_add",)
# Short, but long enough to recognise digits: 200 steps of 100 images.
TRAINING = ("mnist", "--steps", "200", "--min-accuracy", "0.9")
REQUIRE_GPU = "--require-gpu"  # option of both workloads


class Step(NamedTuple):
    """One run. `plan` None: `problems` has the reasons."""

    words: tuple[str, ...]
    plan: Plan | None
    problems: tuple[Problem, ...]


def places_of(view: StackView, service: Service) -> list[str]:
    """The names of the stack's parts of a service."""
    parts = {
        Service.CONTAINER_GROUP: view.groups,
        Service.JOB: view.jobs,
        Service.BATCH: view.pools,
        Service.AKS: view.clusters,
        Service.ML_CLUSTER: {} if not view.ml_workspace else view.ml_computes,
        Service.VM: view.vms,
        Service.ENDPOINT: view.endpoints,
    }
    return sorted(parts[service])


def steps(view: StackView, service: Service, place: str, folder: Path | None, *, require_gpu: bool) -> Iterator[Step]:
    """The runs of a service, in order. `folder`: of the stack's file, if not the project's."""
    for target, *arguments in (ADDITION, TRAINING):
        more = [*arguments, REQUIRE_GPU] if require_gpu else arguments
        words = (target, "--on", service.value, _PART[service], place, "--stack", view.name)
        yield _step(words, tuple(more), view, folder)


_PART = {
    Service.JOB: "--job",
    Service.BATCH: "--pool",
    Service.AKS: "--cluster",
    Service.ML_CLUSTER: "--compute",
    Service.VM: "--vm",
}


def _step(words: tuple[str, ...], after: tuple[str, ...], view: StackView, folder: Path | None) -> Step:
    options = run_options.parsed([*words, "--timeout", str(TIMEOUT_MINUTES)], after)
    options.config_folder = folder
    target, problems = resolve(TargetOptions(target=options.target, timeout_minutes=options.timeout), {})
    plan, more = prepare(options, target, view)
    problems = [*problems, *more]
    shown = (*words, "--", *after) if after else words
    return Step(shown, None if errors(problems) else plan, tuple(problems))
