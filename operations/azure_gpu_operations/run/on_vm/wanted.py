"""What a run on a virtual machine is asked to do.

In: the words of the command line. Out: a `Wanted` and every problem that shows without asking anybody. Pure.
"""

from enum import StrEnum
from typing import NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu_operations.run.carried import Files
from azure_gpu_operations.run.context import BASE_IMAGE
from azure_gpu_operations.run.target import Target
from azure_gpu_operations.stack_view import StackView

MOST_BYTES = 32 * 1024  # of a script and its requirements that travel inside a run-command


class Way(StrEnum):
    """How a program runs where both are to be had."""

    CONTAINER = "container"
    PYTHON = "python"


class Said(NamedTuple):
    """The words of the command line that are about machines alone."""

    vm: str = ""
    way: str = ""
    start: bool = False
    stop_after: bool = False
    target: str = ""  # as it was written, also where it can't be run
    base: str = ""
    detach: bool = False


class Wanted(NamedTuple):
    """One program. Neither way nor target: the arguments are a command of the machine's own."""

    target: Target
    arguments: tuple[str, ...] = ()
    way: Way | None = None  # None: as the machine has it
    start: bool = False
    stop_after: bool = False
    timeout_minutes: float | None = None
    files: Files = Files()

    @property
    def is_command(self) -> bool:
        return self.target.context is None and not self.target.image


def resolve(
    said: Said, target: Target, arguments: list[str], timeout_minutes: float | None, view: StackView | None
) -> tuple[Wanted, list[Problem]]:
    way = Way(said.way) if said.way else None
    wanted = Wanted(target, tuple(arguments), way, said.start, said.stop_after, timeout_minutes)
    problems: list[Problem] = []
    if wanted.is_command and not said.target and not arguments:
        fix = "name a script, a workload, a folder or an image, or write a command behind --"
        problems.append(Problem("TARGET", "nothing says what the machine is to run", fix=fix))
    if way is Way.PYTHON:
        problems += _plain(said, target)
    if said.detach and said.stop_after:
        fix = "leave out one of the two; the machine's `shutdown` deallocates it every day"
        problems.append(Problem("--stop-after", "nobody is left to deallocate the machine", fix=fix))
    if view is not None and not view.storage:
        fix = "add `storage: create` to the stack's foundation, and `pulumi up`"
        message = "the stack has no storage account, through which the machine's output comes"
        problems.append(Problem("--stack", message, value=view.name, fix=fix))
    if view is not None and way is Way.CONTAINER and target.context is not None and not view.registry:
        fix = "add `registry: create` to the stack's foundation, or write --way python"
        problems.append(Problem("--stack", "the stack has no registry, so nothing can be built", value=view.name, fix=fix))
    return wanted, problems


def _plain(said: Said, target: Target) -> list[Problem]:
    """What Python alone can't run."""
    if target.image or (target.context is not None and not target.context.script):
        fix = "leave --way out, or name a script"
        return [Problem("--way", "only a script runs without a container", value=said.way, allowed="container", fix=fix)]
    if said.base:
        fix = f"leave out one of the two; without --base it is {BASE_IMAGE}"
        return [Problem("--base", "without a container there is no image", value=said.base, fix=fix)]
    return []


def too_large(target: Target) -> list[Problem]:
    """A script that doesn't fit into a run-command."""
    if target.context is None or sum(map(len, target.context.files.values())) <= MOST_BYTES:
        return []
    fix = "write --way container, which brings it in an image"
    message = f"script and requirements are larger than the {MOST_BYTES // 1024} KiB that travel with a run-command"
    return [Problem("TARGET", message, value=target.context.script, fix=fix)]
