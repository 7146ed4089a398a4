"""`python -m operations run`: runs a script, a workload or an image on a stack's job, Batch pool, cluster or edge, as if here.

    run ./train.py --requirements requirements.txt --on job --stack S -- --epochs 3    a script, which is the normal case
    run mnist --on job --stack S -- --steps 1000                                       a workload of this repository
    run docker.io/library/python:3.11-slim --on job --stack S -- python -c "print(1)"  an image that Azure can pull
    run --on job --stack S                                                             the job's own image
    run ./train.py --on batch --stack S --output 'results/*.json' --into out           a task on the stack's pool, and its files
    run ./train.py --on batch --stack S --tasks seeds.yaml                             many tasks, one for each line of a file
    run ./solve.py --on batch --pool mpi --nodes 2 --stack S                           one task over two nodes, by the pool's MPI
    run ./train.py --on aks --stack S -- --epochs 3                                    a Kubernetes Job on the stack's cluster
    run mnist --on aks --cluster gpu --pool a100 --gpus 2 --stack S                    on one of several clusters, pools and GPUs
    run docker.io/me/app:1 --on edge --stack S --env NVIDIA_VISIBLE_DEVICES=1          a Job on a cluster given by kubeconfig

A script is put into an image together with its requirements, a workload or a folder with a Dockerfile is sent whole; the stack's
registry builds it, once for each content. On a pool without containers a script runs with the node's own Python. What it writes
comes to standard output while it runs. Minutes and cost come to standard error at its end. Ctrl-C stops it, in Azure too; on a
pool it asks first whether to leave it running, on a cluster it removes the Job.

$AZ_BATCH_... among the words behind -- is filled in on the node, such as $AZ_BATCH_TASK_WORKING_DIR, below which --output looks.

Exit codes: that of the container, or of the first task that failed; 2 the command line is wrong, or the stack can't take it:
nothing was started; 124 it took longer than --timeout and was stopped; 125 the run failed and not what it ran, such as an image
that can't be built; 130 stopped by Ctrl-C. A program may end with these codes too: the last lines on standard error say which.
"""

import argparse
import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from catalog.problems import Problem, errors
from operations.clusters import places
from operations.clusters.places import AKS, EDGE
from operations.run import find_job
from operations.run.ended import EndedFromOutsideError
from operations.run.target import Asked, Target, resolve
from operations.stack import EngineError, Stack
from operations.stack_view import StackView, view

PROJECT_FOLDER = Path(__file__).resolve().parents[2]
WRONG_COMMAND_LINE = 2
FAILED_RUN = 125
INTERRUPTED = 130  # as a shell has it for Ctrl-C
JOB, BATCH = "job", "batch"
PLACES = (JOB, BATCH, AKS, EDGE)
# Options that some places alone take.
_ONLY_ON = {
    "--job": (JOB,),
    "--pool": (BATCH, AKS),
    **dict.fromkeys(("--nodes", "--processes", "--tasks", "--retries", "--output", "--into"), (BATCH,)),
    **dict.fromkeys(("--cluster", "--gpus", "--namespace", "--pull-secret"), (AKS, EDGE)),
    **dict.fromkeys(("--kubeconfig", "--context"), (EDGE,)),
}
Start = Callable[[], int]


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "run",
        help="run a script, a workload or an image on the stack's GPU job, Batch pool, cluster or edge",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="python -m operations run [TARGET] --on {job,batch,aks,edge} --stack STACK [options] [-- ARGUMENT ...]",
    )
    parser.set_defaults(run=run, failure_code=FAILED_RUN)
    parser.add_argument("target", nargs="?", metavar="TARGET", help="a script, a workload, a folder, or an image")
    parser.add_argument(
        "--on",
        choices=PLACES,
        required=True,
        help="where it runs: the stack's Container Apps job, its Batch pool, its AKS cluster, or a cluster given by kubeconfig",
    )
    parser.add_argument("--stack", required=True, help="the stack's name")
    parser.add_argument("--job", help="which of the stack's jobs (default: its only one)")
    parser.add_argument("--config-folder", type=Path, help="where Pulumi.<stack>.yaml lies (default: the project's own folder)")
    parser.add_argument("--requirements", metavar="FILE", help="what pip installs for the script")
    parser.add_argument("--base", metavar="IMAGE", help="the image that the script's is made from, with Python in it")
    parser.add_argument("--env", action="append", default=[], metavar="KEY=VALUE", help="a variable; may be repeated")
    parser.add_argument(
        "--secret-env",
        action="append",
        default=[],
        metavar="KEY",
        help="a variable whose value is taken from the environment here",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        metavar="MINUTES",
        help="stop it after so long (a job's own limit holds too); of a pool each task",
    )
    parser.add_argument("--detach", action="store_true", help="start it and leave it running")
    parser.add_argument(
        "--pool", help="which of the stack's Batch pools, or of its cluster's pools with GPUs (default: the only one)"
    )
    pools = parser.add_argument_group("on batch")
    pools.add_argument("--nodes", type=int, metavar="N", help="run each task over so many nodes, by the pool's mpirun")
    pools.add_argument("--processes", type=int, metavar="N", help="with --nodes: so many processes on each (default 1)")
    pools.add_argument("--tasks", type=Path, metavar="FILE", help="many tasks: a list in YAML, or a JSON value a line")
    pools.add_argument("--retries", type=int, metavar="N", help="try a task that fails so often again")
    pools.add_argument(
        "--output", action="append", default=[], metavar="PATTERN", help="files that a task leaves; may be repeated"
    )
    pools.add_argument("--into", type=Path, metavar="FOLDER", help="fetch what tasks wrote and left into this folder")

    clusters = parser.add_argument_group("on aks and edge")
    clusters.add_argument("--cluster", metavar="NAME", help="which of the stack's clusters or edges (default: its only one)")
    clusters.add_argument(
        "--gpus", type=int, metavar="N", help="so many GPUs, or shares of one where they are shared (default 1)"
    )
    clusters.add_argument("--namespace", help="where in the cluster (default: the stack's, else `default`)")
    clusters.add_argument("--pull-secret", metavar="NAME", help="a Secret of that namespace with which the image is pulled")
    clusters.add_argument(
        "--kubeconfig", type=Path, metavar="FILE", help="of an edge (default: the one that the stack's file names)"
    )
    clusters.add_argument("--context", help="which context of it (default: its current one)")


def run(options: argparse.Namespace) -> int:
    before = signal.signal(signal.SIGTERM, _interrupt)  # who ends us from outside means what runs in Azure too
    try:
        return _run(options)
    except KeyboardInterrupt:  # before there was an execution to stop
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(options: argparse.Namespace) -> int:
    asked = Asked(
        options.target or "",
        options.requirements or "",
        options.base or "",
        tuple(options.env),
        tuple(options.secret_env),
        options.timeout,
    )
    target, problems = resolve(asked, PROJECT_FOLDER, os.environ)
    problems += _empty(options)
    problems += _of_other_place(options)
    problems += _detached(options)
    found, more = _view(options)
    problems += more
    prepare = {JOB: _on_job, BATCH: _on_batch}.get(options.on, _on_cluster)
    start, more = prepare(options, found, target)
    problems += more
    if errors(problems) or start is None:
        return _refused(problems)
    for warning in problems:
        print(f"warning: {warning}", file=sys.stderr)

    from operations.run.errors import WrongRunError

    logging.getLogger("azure.identity").setLevel(logging.ERROR)  # what is wrong with a sign-in is said in a line
    try:
        return start()
    except WrongRunError as error:
        return _refused(error.problems)


def _on_job(options: argparse.Namespace, found: StackView | None, target: Target) -> tuple[Start | None, list[Problem]]:
    if found is None:
        return None, []
    name, problems = find_job.choose(found, options.job or "")
    problems = [*problems, *find_job.check(found, builds=target.context is not None)]

    def start() -> int:
        from operations.run import session  # here, as in `_run`

        return session.run(
            found,
            name,
            target,
            options.after,
            timeout_minutes=options.timeout,
            detach=options.detach,
            show=partial(print, flush=True),
            say=session.say_on_stderr,
        )

    return start, problems


def _on_batch(options: argparse.Namespace, found: StackView | None, target: Target) -> tuple[Start | None, list[Problem]]:
    from operations.run.on_batch import find_pool, wanted  # here: a run on a job needs none of it

    said = wanted.Said(
        pool=options.pool or "",
        nodes=options.nodes,
        processes=options.processes,
        tasks=options.tasks,
        retries=options.retries,
        outputs=tuple(options.output),
        into=options.into,
        target=options.target or "",
    )
    asked, problems = wanted.resolve(said, target, options.after, options.timeout)
    if found is None:
        return None, problems
    name, more = find_pool.choose(found, said.pool or (asked.job.pool if asked else ""))
    problems = [*problems, *more, *(find_pool.check_stack(found, asked) if asked else [])]
    if asked is None:
        return None, problems

    def start() -> int:
        from operations.run.on_batch import session  # here, as in `_run`

        return session.run(
            found,
            name,
            asked,
            detach=options.detach,
            show=partial(print, flush=True),
            show_error=partial(print, file=sys.stderr, flush=True),
            say=partial(print, file=sys.stderr, flush=True),
        )

    return start, problems


def _on_cluster(options: argparse.Namespace, found: StackView | None, target: Target) -> tuple[Start | None, list[Problem]]:
    from operations.run.on_cluster import wanted  # here, as in `_on_batch`

    said = wanted.Said(
        pool=options.pool or "",
        gpus=options.gpus,
        namespace=options.namespace or "",
        pull_secret=options.pull_secret or "",
        target=options.target or "",
    )
    asked, problems = wanted.resolve(said, target, options.after, options.timeout, found, options.on)
    if found is None:
        return None, problems
    where = places.Said(options.cluster or "", options.namespace or "", options.kubeconfig, options.context or "")
    place, more = places.choose(found, options.on, where, _stack_file(options))
    problems = [*problems, *more]
    if place is None:
        return None, problems

    def start() -> int:
        from operations.run.on_cluster import session  # here, as in `_run`

        return session.run(
            found,
            place,
            asked,
            detach=options.detach,
            show=partial(print, flush=True),
            say=partial(print, file=sys.stderr, flush=True),
        )

    return start, problems


def _stack_file(options: argparse.Namespace) -> Path:
    folder: Path = options.config_folder or PROJECT_FOLDER
    return folder.resolve() / f"Pulumi.{options.stack}.yaml"


def _view(options: argparse.Namespace) -> tuple[StackView | None, list[Problem]]:
    stack = Stack(PROJECT_FOLDER, options.stack, _stack_file(options) if options.config_folder else None)
    try:
        return view(stack), []
    except EngineError as error:
        return None, [Problem("--stack", str(error))]


def _empty(options: argparse.Namespace) -> list[Problem]:
    """A word without a letter, as an unset variable of a shell leaves it. Taken for nothing it would start something else."""
    words = {
        "TARGET": options.target,
        "--job": options.job,
        "--pool": options.pool,
        "--requirements": options.requirements,
        "--base": options.base,
        "--cluster": options.cluster,
        "--namespace": options.namespace,
    }
    fix = "say which, or leave it out"
    return [
        Problem(path, "it is empty", value=word, fix=fix) for path, word in words.items() if word is not None and not word.strip()
    ]


def _of_other_place(options: argparse.Namespace) -> list[Problem]:
    problems: list[Problem] = []
    for option, where in _ONLY_ON.items():
        given = getattr(options, option.removeprefix("--").replace("-", "_"))
        if given is not None and given != [] and options.on not in where:
            fix = f"leave it out, or write --on {where[0]}"
            problems.append(Problem(option, f"only --on {' and --on '.join(where)} takes it", fix=fix))
    return problems


def _detached(options: argparse.Namespace) -> list[Problem]:
    if not options.detach:
        return []
    problems: list[Problem] = []
    on_job = options.on == JOB
    if options.secret_env and options.on in (JOB, BATCH):  # in a cluster it belongs to the Job
        where = "give the job `secret_environment` in the stack's file" if on_job else "let the program fetch the secret itself"
        held = "the job holds a --secret-env" if on_job else "a --secret-env lies in the stack's storage"
        problems.append(
            Problem("--detach", f"{held} only as long as this command waits", fix=f"leave out one of the two, or {where}")
        )
    if options.timeout is not None and on_job:
        fix = "leave out one of the two; `timeout_minutes` of the job in the stack's file holds for every run"
        problems.append(Problem("--detach", "nobody is left to stop it after --timeout", value=options.timeout, fix=fix))
    if options.into is not None:
        fix = "leave out one of the two; with --output alone the files wait in the stack's storage account"
        problems.append(Problem("--detach", "nobody is left to fetch files into a folder", value=str(options.into), fix=fix))
    return problems


def _refused(problems: Sequence[Problem]) -> int:
    heading = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    print(f"error: {heading}, nothing was started:", file=sys.stderr)
    for problem in problems:
        print(f"  - {problem}", file=sys.stderr)
    return WRONG_COMMAND_LINE


def _interrupt(*_: object) -> NoReturn:
    raise EndedFromOutsideError
