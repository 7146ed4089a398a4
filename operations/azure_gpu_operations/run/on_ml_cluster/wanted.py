"""What a run on a compute cluster of a workspace is asked to do.

In: the words of the command line. Out: a `Wanted` and every problem that shows without asking anybody. Pure.
"""

from typing import NamedTuple

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu_operations.run.target import Target
from azure_gpu_operations.run.unknown import unknown
from azure_gpu_operations.stack_view import StackView


class Wanted(NamedTuple):
    """One job on one node."""

    target: Target
    arguments: tuple[str, ...] = ()
    timeout_minutes: float | None = None


def resolve(
    target: Target, said_target: str, arguments: list[str], timeout_minutes: float | None, view: StackView | None
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
    return Wanted(target, tuple(arguments), timeout_minutes), problems


def choose(view: StackView, name: str) -> tuple[str, list[Problem]]:
    """The compute's name in the stack; "" with a problem. Which kind it is, ARM says."""
    known = sorted(view.ml_computes)
    if not known:
        fix = "give the stack's `ml_workspace` a compute with a size, then `pulumi up`; --on aks is a cluster of AKS"
        return "", [Problem("--stack", "the stack has no compute of a workspace", value=view.name, fix=fix, code=Code.NOT_FOUND)]
    if name:
        return (name, []) if name in known else ("", [unknown("--compute", "the stack has no such compute", name, known)])
    if len(known) > 1:
        return "", [
            Problem(
                "--compute", "the stack has several computes", allowed=", ".join(known), fix=f"choose one: --compute {known[0]}"
            )
        ]
    return known[0], []
