"""What a run on a compute cluster of a workspace is asked to do.

In: the words of the command line. Out: a `Wanted` and every problem that shows without asking anybody. Pure.
"""

from typing import NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu_operations.run.carried import Files
from azure_gpu_operations.run.target import Target
from azure_gpu_operations.run.workers import Group
from azure_gpu_operations.stack_view import StackView


class Wanted(NamedTuple):
    """One job, of one worker on each of its nodes."""

    target: Target
    arguments: tuple[str, ...] = ()
    timeout_minutes: float | None = None
    files: Files = Files()
    group: Group = Group()


def resolve(
    target: Target,
    said_target: str,
    arguments: list[str],
    timeout_minutes: float | None,
    view: StackView | None,
    group: Group = Group(),  # noqa: B008 - immutable
) -> tuple[Wanted, list[Problem]]:
    problems: list[Problem] = []
    if target.context is None and not target.image and not said_target:
        fix = "name a script, a workload, a folder or an image"
        problems.append(Problem("TARGET", "nothing says what the cluster is to run", fix=fix))
    if target.image and not arguments:
        fix = "write the command behind --, such as -- python train.py"
        message = "the service starts a command of the job's in an image, not what the image says"
        problems.append(Problem("TARGET", message, value=target.image, fix=fix))
    if target.secrets:
        message = "everybody who may read the workspace reads the variables of its jobs"
        fix = "let the program fetch the secret itself, as the identity of the cluster"
        problems.append(Problem("--secret-env", message, value=", ".join(target.secrets), fix=fix))
    if view is not None and target.context is not None and not view.registry:
        fix = "add `registry: create` to the stack's foundation, or name an image"
        problems.append(Problem("--stack", "the stack has no registry, so nothing can be built", value=view.name, fix=fix))
    return Wanted(target, tuple(arguments), timeout_minutes, group=group), problems
