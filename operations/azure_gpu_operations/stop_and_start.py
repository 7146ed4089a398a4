"""`python -m operations stop NAME --stack S` and `start ENDPOINT --stack S`: stop a run, stop or start an online endpoint.

    stop run-train-20261123-120000-ab12 --stack S    stop the run in Azure
    stop digits --stack S                            delete the endpoint's deployments; its address and keys stay
    start digits --stack S                           deploy again, with the deployments and traffic of the stack file

NAME is an endpoint's name in the stack file, or a run's name as shown by `run` and `running`; --as chooses if both exist. A
stopped endpoint has no deployments, costs nothing and answers requests with an error. It stays stopped through every `up` until
`start`; `up` and `drift` report it. `start` deploys what the stack file declares then, which takes minutes. Both change only the
endpoint, even if other parts of the stack file have changed.

Exit codes: 0 stopped or started, 1 it failed, or a run may still run, 2 the stack has no such run or endpoint.
"""

import argparse
from functools import partial

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu_operations import stack_options
from azure_gpu_operations.command_line import refuse
from azure_gpu_operations.exit_codes import OK
from azure_gpu_operations.run.unknown import unknown
from azure_gpu_operations.stack_view import StackView, view

ENDPOINT, RUN = "endpoint", "run"
_say = partial(print, flush=True)


def add_stop_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="an endpoint of the stack, or a run's name as shown by `run` and `running`")
    parser.add_argument(
        "--as", dest="kind", choices=(ENDPOINT, RUN), help="whether NAME is an endpoint or a run, if the stack has both"
    )
    _add_stack(parser)
    parser.set_defaults(run=_stop)


def add_start_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="ENDPOINT", help="the endpoint's name in the stack file")
    _add_stack(parser)
    parser.set_defaults(run=_start)


def _add_stack(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stack", required=True, help="the stack's name")
    stack_options.add_config_folder(parser)


def _stop(options: argparse.Namespace) -> int:
    from azure_gpu_operations.run import attached  # here: Azure's clients load slowly

    found = view(stack_options.stack_of(options))
    if options.kind == ENDPOINT and options.name not in found.endpoints:
        return _no_endpoint(found, options.name)
    if options.kind == RUN or options.name not in found.endpoints:
        return attached.stop(options)
    if options.kind is None and attached.is_there(found, options):
        message, fix = "both an endpoint and a run have this name", f"add --as {ENDPOINT}, or --as {RUN}"
        return refuse(Problem("NAME", message, options.name, fix=fix))
    return _power(options, stops=True)


def _start(options: argparse.Namespace) -> int:
    found = view(stack_options.stack_of(options))
    if options.name not in found.endpoints:
        return _no_endpoint(found, options.name)
    return _power(options, stops=False)


def _no_endpoint(found: StackView, name: str) -> int:
    known = sorted(found.endpoints)
    if not known:
        fix = "add a section `ml_endpoints` to the stack's file and run `up`"
        return refuse(Problem("NAME", "the stack has no endpoint", name, fix=fix, code=Code.NOT_FOUND))
    return refuse(unknown("NAME", "the stack has no endpoint of this name", name, known))


def _power(options: argparse.Namespace, *, stops: bool) -> int:
    from azure_gpu_operations.machine_learning import endpoint_power

    change = endpoint_power.stop if stops else endpoint_power.start
    try:
        change(stack_options.stack_of(options), options.name, _say)
    except endpoint_power.WrongRequestError as error:
        return refuse(error)
    return OK
