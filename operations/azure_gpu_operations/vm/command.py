"""`python -m operations vm start|stop|show [NAME] --stack S`: a stack's virtual machines.

    vm show --stack S           whether it runs, what it costs now and what stays, its GPUs, its shutdown, its last day
    vm start trainer --stack S  starts a deallocated machine and waits until it takes work
    vm stop trainer --stack S   deallocates it: it costs nothing from then on, its disk does

To stop is to deallocate. A machine that is shut down from inside, by `shutdown` or by Windows, goes on being billed.
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
        ("show", "whether it runs, what it costs, its GPUs", _show),
        ("start", "start it and wait until it takes work", _start),
        ("stop", "deallocate it, so that it costs nothing but its disk", _stop),
    )
    for verb, text, run in known:
        command = verbs.add_parser(verb, help=text, description=text)
        command.add_argument("name", nargs="?", default="", metavar="NAME", help="which machine (default: the stack's only one)")
        command.add_argument("--stack", required=True, help="the stack's name")
        stack_options.add_config_folder(command)
        command.set_defaults(run=partial(_run, run))


def _run(do: "Callable[[Arm, Machine, StackView, str], int]", options: argparse.Namespace) -> int:
    from azure_gpu_operations import (
        virtual_machines,
    )  # here: Azure's clients take longer to load than a command line to be refused
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
            return refuse(Problem("NAME", "the machine isn't there: somebody has deleted it, or it was Spot", name, fix=fix))
        try:
            return do(arm, machine, found, name)
        except PowerError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1


def _show(_: "Arm", machine: "Machine", found: StackView, name: str) -> int:
    from azure_gpu_operations.vm import showing

    told = showing.lines(
        machine, idle_usd=found.idle_cost.get(name), expires_at=found.expires_at.get(name), now=datetime.now(UTC)
    )
    for line in told:
        print(line)
    return 0


def _start(arm: "Arm", machine: "Machine", found: StackView, name: str) -> int:
    from azure_gpu_operations.vm import power, showing

    if machine.power == RUNNING.name:
        _say(f"{name} runs already")
        return 0
    _say(f"starting {name}")
    power.start(arm, machine.id)
    running = machine._replace(power=RUNNING.name)
    _say(f"{name} runs; cost: {showing.cost(running, found.idle_cost.get(name), datetime.now(UTC).date())}")
    _say(f"when you are done: {COMMAND} vm stop {name} --stack {found.name}")
    return 0


def _stop(arm: "Arm", machine: "Machine", found: StackView, name: str) -> int:
    from azure_gpu_operations.vm import power, showing

    deallocated = machine._replace(power=DEALLOCATED.name)
    if machine.power == DEALLOCATED.name:
        _say(f"{name} is deallocated already")
    else:
        _say(f"deallocating {name}")
        power.deallocate(arm, machine.id)
    _say(f"{name} is deallocated; cost: {showing.cost(deallocated, found.idle_cost.get(name), datetime.now(UTC).date())}")
    return 0
