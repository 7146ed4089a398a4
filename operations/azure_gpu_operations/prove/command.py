"""`python -m operations prove`: run a short workload on every service of a stack, and show device, speed and cost in one table.

    prove --stack S                       a vector addition and a short training on each service, a query to an endpoint
    prove --stack S --only aks            one service; repeatable
    prove --stack S --require-gpu         fail a service that computes on the CPU

If there are several parts of a kind, such as pools, the first by name that accepts the run is used. A container group is started
again as declared. An endpoint gets ten handwritten digits from outside its training data and must recognise them. Two services
run at a time; the runs are the same as with `run`, and cost the same. Failures are explained below the table, as `explain` does.
Ctrl-C stops the runs.

Exit codes: 0 all passed, 1 one failed, 2 wrong command line or the stack isn't deployed, 3 no GPU was found with --require-gpu,
130 after Ctrl-C.
"""

import argparse
import json
import sys
from datetime import UTC, datetime

from azure_gpu_operations import stack_options
from azure_gpu_operations.command_line import refuse
from azure_gpu_operations.console import add_wide
from azure_gpu_operations.exit_codes import FAILED, INTERRUPTED, NO_GPU, OK
from azure_gpu_operations.prove.proof import ABOUT, Proof, Service, with_gpu_required
from azure_gpu_operations.stack import EngineError
from azure_gpu_operations.stack_view import StackView, view


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run)
    stack_options.add_stack(parser)
    names = [each.value for each in Service]
    parser.add_argument("--only", action="append", default=[], choices=names, metavar="SERVICE", help=", ".join(names))
    parser.add_argument("--require-gpu", action="store_true", help="fail a service that computes on the CPU")
    add_wide(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")


def run(options: argparse.Namespace) -> int:
    try:
        found = view(stack_options.stack_of(options))
    except EngineError as error:
        return refuse(error)
    places = {each: sorted(getattr(found, about.parts)) for each, about in ABOUT.items()}
    missing = [each for each in options.only if not places[Service(each)]]
    if missing:
        there = ", ".join(each.value for each, parts in places.items() if parts) or "no service that can be tested"
        return refuse(*(_missing(Service(each), found, there, options) for each in missing))
    chosen = {each: parts for each, parts in places.items() if parts and (not options.only or each.value in options.only)}
    if not chosen:
        return refuse(f"the stack {found.name} has no service that can be tested")
    proofs = _proved(found, chosen, options)
    if proofs is None:
        return INTERRUPTED
    return _report(found, proofs, options)


def _missing(service: Service, found: StackView, there: str, options: argparse.Namespace) -> str:
    from azure_gpu_operations import planned  # here and below, because `--help` needs none of it

    off = planned.switched_off(stack_options.file_of(options), "", ABOUT[service].section)
    why = f": {off}; fix: remove it there, then `pulumi up --stack {found.name}`" if off else f"; it has {there}"
    return f"--only: the stack {found.name} has no {service.title}{why}"


def _proved(found: StackView, chosen: dict[Service, list[str]], options: argparse.Namespace) -> list[Proof] | None:
    from azure_gpu_operations.prove.proving import Proving

    try:
        return Proving(found, options, lambda line: print(line, file=sys.stderr, flush=True)).all(chosen)
    except KeyboardInterrupt:
        return None


def _report(found: StackView, proofs: list[Proof], options: argparse.Namespace) -> int:
    from azure_gpu_operations.prove import record

    proofs = [with_gpu_required(each) for each in proofs] if options.require_gpu else proofs
    if options.json:
        print(json.dumps(record.as_json(found.name, proofs, datetime.now(UTC)), indent=2))
    else:
        record.show(proofs, wide=options.wide)
    if options.require_gpu and any(each.on_gpu is False for each in proofs):
        return NO_GPU
    return OK if all(each.passed for each in proofs) else FAILED
