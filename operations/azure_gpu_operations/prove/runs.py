"""What a proof runs on one service, as `run` takes it: the vector addition, then a short training on handwritten digits.

In: a stack's view, the service, the stack's file. Out: the words of `run`, plans, and what speaks against them. The words are
those that somebody would write by hand, so that a proof shows what `run` does and nothing of its own.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from azure_gpu.catalog.problems import Problem, errors
from azure_gpu_operations.prove.proof import Service
from azure_gpu_operations.run import options as run_options
from azure_gpu_operations.run.preparing import PREPARES
from azure_gpu_operations.run.protocol import Plan
from azure_gpu_operations.run.target import Asked, resolve
from azure_gpu_operations.stack_view import StackView

TIMEOUT_MINUTES = 20  # of one run: a node from zero takes up to ten
ADDITION = ("vector_add",)
# Short, and long enough to tell digits: 200 steps of 100 images.
TRAINING = ("mnist", "--steps", "200", "--min-accuracy", "0.9")


class Step(NamedTuple):
    """One run. `plan` None: `problems` say why there is none."""

    words: tuple[str, ...]
    plan: Plan | None
    problems: tuple[Problem, ...]


def places_of(view: StackView, service: Service) -> list[str]:
    """The parts of the stack that a service can be proved on, by name; none where the stack has none."""
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
    """The runs of a service, in their order. `folder`: of the stack's file, where it isn't the project's."""
    for target, *arguments in (ADDITION, TRAINING):
        more = [*arguments, "--require-gpu"] if require_gpu else arguments
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
    parser = argparse.ArgumentParser()
    run_options.add(parser)
    options = parser.parse_args([*words, "--timeout", str(TIMEOUT_MINUTES)], argparse.Namespace(after=list(after)))
    options.config_folder = folder
    target, problems = resolve(Asked(target=options.target, timeout_minutes=options.timeout), {})
    plan, more = PREPARES[options.on](options, view, target)
    problems = [*problems, *more]
    shown = (*words, "--", *after) if after else words
    return Step(shown, None if errors(problems) else plan, tuple(problems))
