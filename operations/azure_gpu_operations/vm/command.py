"""`python -m operations vm start|stop|show [NAME] --stack S`: start, stop or show a stack's virtual machines.

    vm show --stack S           power state, cost now and when deallocated, GPUs, shutdown schedule, last day
    vm start trainer --stack S  start a deallocated machine and wait until it is ready
    vm stop trainer --stack S   deallocate it: from then on only its disk is billed

`stop` deallocates the machine. A machine that is shut down from inside, by `shutdown` or by Windows, is still billed.
"""

import argparse
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.machines.power import DEALLOCATED, RUNNING
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations import one_part, stack_options
from azure_gpu_operations.command_line import refuse
from azure_gpu_operations.stack import EngineError
from azure_gpu_operations.stack_view import StackView, view

if TYPE_CHECKING:
    from azure_gpu_operations.azure import Arm
    from azure_gpu_operations.virtual_machines import Machine


_say = partial(print, flush=True)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True)
    known: tuple[tuple[str, str, Callable[[Arm, Machine, StackView, str], int]], ...] = (
        ("show", "show power state, cost and GPUs", _show),
        ("start", "start the machine and wait until it is ready", _start),
        ("stop", "deallocate the machine, so that only its disk is billed", _stop),
    )
    for verb, text, run in known:
        command = verbs.add_parser(verb, help=text, description=text)
        command.add_argument(
            "name", nargs="?", default="", metavar="NAME", help="the machine's name (default: the stack's only one)"
        )
        command.add_argument("--stack", required=True, help="the stack's name")
        stack_options.add_config_folder(command)
        command.set_defaults(run=partial(_run, run))


def _run(do: "Callable[[Arm, Machine, StackView, str], int]", options: argparse.Namespace) -> int:
    from azure_gpu_operations import virtual_machines  # here: Azure's clients load slowly
    from azure_gpu_operations.azure import Arm
    from azure_gpu_operations.vm.power import PowerError

    try:
        found = view(stack_options.stack_of(options))
    except EngineError as error:
        return refuse(Problem("--stack", str(error)))
    name, problems = one_part.choose(one_part.MACHINE, found, options.name, stack_options.file_of(options), "NAME")
    if problems:
        return refuse(*problems)
    with closing(Arm(found.connection)) as arm:
        machine = virtual_machines.get(arm, found.vms[name])
        if machine is None:
            fix = f"run `pulumi refresh --stack {found.name}` and `pulumi up --stack {found.name}`"
            return refuse(
                Problem(
                    "NAME",
                    "the machine doesn't exist; it was deleted outside the stack, or evicted as a Spot machine",
                    name,
                    fix=fix,
                )
            )
        try:
            return do(arm, machine, found, name)
        except PowerError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1


def _show(_: "Arm", machine: "Machine", found: StackView, name: str) -> int:
    from azure_gpu_operations.vm import showing

    lines = showing.lines(
        machine, idle_usd=found.idle_cost.get(name), expires_at=found.expires_at.get(name), now=datetime.now(UTC)
    )
    for line in lines:
        print(line)
    return 0


def _start(arm: "Arm", machine: "Machine", found: StackView, name: str) -> int:
    from azure_gpu_operations.vm import power, showing

    if machine.power == RUNNING.name:
        _say(f"{name} is already running")
        return 0
    _say(f"starting {name}")
    power.start(arm, machine.id)
    running = machine._replace(power=RUNNING.name)
    _say(f"{name} is running; cost: {showing.cost(running, found.idle_cost.get(name), datetime.now(UTC).date())}")
    _say(f"when you are done: {COMMAND} vm stop {name} --stack {found.name}")
    return 0


def _stop(arm: "Arm", machine: "Machine", found: StackView, name: str) -> int:
    from azure_gpu_operations.vm import power, showing

    deallocated = machine._replace(power=DEALLOCATED.name)
    if machine.power == DEALLOCATED.name:
        _say(f"{name} is already deallocated")
    else:
        _say(f"deallocating {name}")
        power.deallocate(arm, machine.id)
    _say(f"{name} is deallocated; cost: {showing.cost(deallocated, found.idle_cost.get(name), datetime.now(UTC).date())}")
    return 0
