"""What a run on a compute cluster of a workspace is asked to do.

In: the words of the command line. Out: a `Wanted` and every problem that shows without asking anybody. Pure.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.sizes import SIZES
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


def check_cluster(name: str, settings: Mapping[str, Any], group: Group) -> list[Problem]:
    """What a compute's settings, `properties.properties`, say against a group of workers."""
    problems: list[Problem] = []
    most = int((settings.get("scaleSettings") or {}).get("maxNodeCount") or 0)
    if group.nodes > most:
        message = f"the compute {name} gets at most {'1 node' if most == 1 else f'{most} nodes'}, so the job would wait for ever"
        fix = f"ask for {most} or fewer, or give the compute a larger `max_nodes` in the stack's file and run `pulumi up`"
        problems.append(Problem("--nodes", message, group.nodes, f"1 to {most}", fix, code=Code.IMPOSSIBLE))
    size = SIZES.find(str(settings.get("vmSize") or ""))
    has = math.ceil(size.gpu_count) if size is not None and size.gpu_count else 0
    if group.gpus and size is not None and group.gpus > has:
        message = f"a node of the compute {name} ({size.name}) has {'fewer GPUs' if has else 'no GPU'}"
        fix = "name a compute of a size with more"
        problems.append(Problem("--gpus", message, group.gpus, f"0 to {has}" if has else "0", fix, code=Code.IMPOSSIBLE))
    return problems


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
