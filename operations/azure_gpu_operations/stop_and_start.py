"""`python -m operations stop NAME --stack S` and `start NAME --stack S`: end what something costs, and bring it back.

    stop run-train-20261123-120000-ab12 --stack S    a run: end it in Azure
    stop digits --stack S                            an online endpoint: delete its deployments; its address and keys stay
    stop trainer --stack S                           a virtual machine: deallocate it; its disk stays, and is billed
    stop train --stack S                             a Batch pool: remove its nodes, each when its tasks have ended
    start digits --stack S                           an endpoint: deploy again what the stack file declares, with its traffic
    start trainer --stack S                          a machine: start it, wait until it is ready, show its GPUs and its cost

NAME is a part's name in the stack file, or a run's as `run` and `running` show it; --as chooses where several have it. A machine
that is only shut down from inside, by `shutdown` or by Windows, is still billed.

A stopped endpoint costs nothing, answers requests with an error, and stays stopped through every `up` until `start`; `up` and
`preview --drift` report it. Both change only the endpoint, even if other parts of the stack file have changed. Tasks that
wait for a pool's nodes stay queued; `pulumi up --refresh` gives it nodes again.

Exit codes: 0 stopped or started, 1 it failed, or something still runs, 2 the stack has nothing of this name.
"""

import argparse
import sys
from contextlib import closing
from functools import partial

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu_operations import stack_options
from azure_gpu_operations.command_line import refuse
from azure_gpu_operations.exit_codes import FAILED, OK
from azure_gpu_operations.run.unknown import unknown
from azure_gpu_operations.stack_view import StackView, view

RUN, ENDPOINT, MACHINE, POOL = "run", "endpoint", "machine", "pool"
_SECTIONS = {ENDPOINT: "ml_endpoints", MACHINE: "vms", POOL: "pools"}  # of the stack file
DRAIN_MINUTES = 60.0
_say = partial(print, flush=True)


def add_stop_arguments(parser: argparse.ArgumentParser) -> None:
    text = "an endpoint, machine or pool of the stack file, or a run's name as shown by `run` and `running`"
    parser.add_argument("name", metavar="NAME", help=text)
    text = "which of them NAME is, if the stack has several"
    parser.add_argument("--as", dest="kind", choices=(ENDPOINT, MACHINE, POOL, RUN), default="", help=text)
    text = f"how long to wait for the running tasks of a pool (default {DRAIN_MINUTES:g})"
    parser.add_argument("--wait-minutes", type=float, default=DRAIN_MINUTES, help=text)
    stack_options.add_stack(parser)
    parser.set_defaults(run=_stop)


def add_start_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="an endpoint or a machine of the stack file")
    parser.add_argument("--as", dest="kind", choices=(ENDPOINT, MACHINE), default="", help="which of them, if both have NAME")
    stack_options.add_stack(parser)
    parser.set_defaults(run=_start)


def _stop(options: argparse.Namespace) -> int:
    from azure_gpu_operations.run import logs_and_stop  # here: Azure's clients load slowly

    found = view(stack_options.stack_of(options))
    parts = {ENDPOINT: found.endpoints, MACHINE: found.vms, POOL: found.pools}
    named = [kind for kind, names in parts.items() if options.name in names]
    if options.kind == RUN or (not options.kind and not named):
        return logs_and_stop.stop(
            options, "" if options.kind else ", ".join(sorted({one for names in parts.values() for one in names}))
        )
    if not options.kind and logs_and_stop.is_there(found, options):
        named.append(RUN)
    kind, problem = _chosen(options, named, {kind: [*names] for kind, names in parts.items()})
    if problem:
        return refuse(problem)
    if kind == ENDPOINT:
        return _endpoint(options, stops=True)
    return _machine(options, found, stops=True) if kind == MACHINE else _drain(options, found)


def _start(options: argparse.Namespace) -> int:
    found = view(stack_options.stack_of(options))
    parts = {ENDPOINT: [*found.endpoints], MACHINE: [*found.vms]}
    kind, problem = _chosen(options, [kind for kind, names in parts.items() if options.name in names], parts)
    if problem:
        return refuse(problem)
    return _endpoint(options, stops=False) if kind == ENDPOINT else _machine(options, found, stops=False)


def _chosen(options: argparse.Namespace, named: list[str], parts: dict[str, list[str]]) -> tuple[str, object]:
    """What a name means: the kind, or "" and the problem. `named`: the kinds of what has the name. `parts`: the names by kind."""
    meant = [kind for kind in named if options.kind in ("", kind)]
    if len(meant) == 1:
        return meant[0], None
    if meant:
        message, fix = f"several have this name: {', '.join(meant)}", f"add --as {' or --as '.join(meant)}"
        return "", Problem("NAME", message, options.name, fix=fix)
    from azure_gpu_operations import planned  # here: the library loads slowly

    kinds, file = [options.kind] if options.kind else [*parts], stack_options.file_of(options)
    if off := next(filter(None, (planned.switched_off(file, options.name, _SECTIONS[kind]) for kind in kinds)), ""):
        return "", Problem("NAME", off, options.name, fix="remove enabled: false there, then run `up`")
    known = sorted({name for kind in kinds for name in parts[kind]})
    nouns = " and no ".join(kinds)
    if not known:
        return "", Problem("NAME", f"the stack has no {nouns}", options.name, code=Code.NOT_FOUND)
    return "", unknown("NAME", f"the stack has no {nouns} of this name", options.name, known)


def _endpoint(options: argparse.Namespace, *, stops: bool) -> int:
    from azure_gpu_operations.machine_learning import endpoint_power

    change = endpoint_power.stop if stops else endpoint_power.start
    try:
        change(stack_options.stack_of(options), options.name, _say)
    except endpoint_power.WrongRequestError as error:
        return refuse(error)
    return OK


def _machine(options: argparse.Namespace, found: StackView, *, stops: bool) -> int:
    from azure_gpu_operations.azure import Arm
    from azure_gpu_operations.machine_power import GoneError, PowerError, start, stop

    change = stop if stops else start
    with closing(Arm(found.connection)) as arm:
        try:
            change(arm, found, options.name, _say)
        except GoneError as error:
            return refuse(Problem("NAME", str(error), options.name, fix=f"run `pulumi up --refresh --stack {found.name}`"))
        except PowerError as error:
            print(f"error: {error}", file=sys.stderr)
            return FAILED
    return OK


def _drain(options: argparse.Namespace, found: StackView) -> int:
    from azure_gpu_operations.azure import Arm
    from azure_gpu_operations.batch.account import BatchAccount, batch_account_of
    from azure_gpu_operations.batch.drain import drain

    pool_id = found.pools[options.name]
    with closing(Arm(found.connection)) as arm, closing(BatchAccount(arm, batch_account_of(pool_id))) as account:
        done = drain(account, pool_id.rsplit("/", 1)[-1], options.name, _say, limit_seconds=options.wait_minutes * 60)
    _say(f"to get nodes again: pulumi up --refresh --stack {found.name}")
    return OK if done else FAILED
