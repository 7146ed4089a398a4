"""The request of a run on a virtual machine, validated without any request to Azure. Pure."""

import argparse
from typing import NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu_operations.run.carried import Files
from azure_gpu_operations.run.context import BASE_IMAGE
from azure_gpu_operations.run.target import RunMethod, Target
from azure_gpu_operations.run.used_part import no_registry
from azure_gpu_operations.stack_view import StackView

MOST_BYTES = 32 * 1024  # of a script and its requirements inside a run-command


class VmRequest(NamedTuple):
    """One program. Without method and target the arguments are a command on the machine."""

    target: Target
    arguments: tuple[str, ...] = ()
    method: RunMethod | None = None  # None: chosen by the machine's image
    start: bool = False
    stop_after: bool = False
    timeout_minutes: float | None = None
    files: Files = Files()

    @property
    def is_command(self) -> bool:
        return self.target.context is None and not self.target.image


def resolve(options: argparse.Namespace, target: Target, view: StackView | None) -> tuple[VmRequest, list[Problem]]:
    method = RunMethod(options.way) if options.way else None
    after = (bool(options.start), bool(options.stop_after))
    request = VmRequest(target, tuple(options.after), method, *after, options.timeout)
    problems = _without_container(options, target) if method is RunMethod.PYTHON else []
    if options.detach and options.stop_after:
        fix = "remove one of the two; `shutdown` of the machine deallocates it every day"
        problems.append(Problem("--stop-after", "can't be combined with --detach", fix=fix))
    if view is not None and not view.storage:
        fix = "add `storage: create` to the stack's foundation and run `pulumi up`"
        message = "the stack has no storage account for the machine's output"
        problems.append(Problem("--stack", message, value=view.name, fix=fix))
    if view is not None and method is RunMethod.CONTAINER:
        problems += no_registry(view, target, "use --way python")
    return request, problems


def _without_container(options: argparse.Namespace, target: Target) -> list[Problem]:
    """Problems of a run without a container."""
    if target.image or (target.context is not None and not target.context.script):
        fix = "remove --way, or name a script"
        return [Problem("--way", "only scripts run without a container", value=options.way, allowed="container", fix=fix)]
    if options.base:
        fix = f"remove one of the two; the default of --base is {BASE_IMAGE}"
        return [Problem("--base", "can't be combined with --way python", value=options.base, fix=fix)]
    return []


def too_large(target: Target) -> list[Problem]:
    """The problem of a script that doesn't fit into a run-command."""
    if target.context is None or sum(map(len, target.context.files.values())) <= MOST_BYTES:
        return []
    fix = "use --way container, which builds an image"
    message = f"script and requirements are larger than the {MOST_BYTES // 1024} KiB of a run-command"
    return [Problem("TARGET", message, value=target.context.script, fix=fix)]
