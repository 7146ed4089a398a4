"""`python -m operations run`: run a script, a workload or an image here, or on a stack's job, pool, cluster, edge or VM.

    run ./train.py --requirements requirements.txt --on job --stack S -- --epochs 3    a script, the usual case
    run mnist --on job --stack S -- --steps 1000                                       a workload of this repository
    run mcr.microsoft.com/devcontainers/python:3.11 --on job --stack S -- python -c "print(1)"  a public image
    run --on job --stack S                                                             the job's own image
    run ./train.py --on batch --stack S --output 'results/*.json' --into out           a task on the stack's pool, and its files
    run ./train.py --on job --stack S --input data --output model --into out           with files
    run ./train.py --on batch --stack S --tasks seeds.yaml                             many tasks, one per entry of a file
    run mnist --on batch --nodes 2 --gpus 1 --stack S                                  two workers, connected by TF_CONFIG
    run ./solve.py --on batch --pool mpi --nodes 2 --stack S                           one task on two nodes, with the pool's MPI
    run ./train.py --on aks --stack S -- --epochs 3                                    a Kubernetes Job on the stack's cluster
    run mnist --on aks --cluster gpu --pool a100 --gpus 2 --stack S                    choose the cluster, pool and number of GPUs
    run ./train.py --on aks --stack S --input data --output model --into out           with files, by the stack's identity
    run docker.io/me/app:1 --on edge --stack S --env NVIDIA_VISIBLE_DEVICES=1          a Job on a cluster with a kubeconfig
    run ./train.py --on local -- --epochs 3                                            here, in a separate Python environment
    run ./train.py --on vm --stack S --start --stop-after                              on the stack's virtual machine
    run ./train.py --on cluster --stack S                                              a job of the stack's Azure ML workspace
    run mnist --on cluster --nodes 2 --stack S                                         the same with two workers on two nodes

A script is packed into an image with its requirements; a workload or a folder with a Dockerfile is built as it is. The stack's
registry builds each content once. On a pool without containers a script runs with the node's Python. The program's output is
streamed to standard output; run time and cost are printed to standard error at the end. Ctrl-C stops the run in Azure too; it may
first ask whether to leave it running. Locally, on a VM and on Azure ML the visible GPUs are printed first, with name, compute
capability, memory clock, PCI bus, total and free memory.

With --nodes each node runs the program once and finds the others by TF_CONFIG; a Batch pool with `mpi` and without containers
runs it under mpirun instead. Output and exit code are those of worker 0.

$AZ_BATCH_... in arguments after -- is expanded on the node, such as $AZ_BATCH_TASK_WORKING_DIR, to which --output is relative.

Exit codes: that of the container, or of the first failed task; 2 wrong command line, or not possible on this stack: nothing was
started; 124 stopped after --timeout; 125 the run itself failed, for example because the image can't be built; 130 stopped by
Ctrl-C. A program may end with these codes too: the last lines on standard error tell which it was.
"""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.exit_codes import FAILED_RUN, INTERRUPTED, WRONG_COMMAND_LINE
from azure_gpu_operations.run import options as run_options
from azure_gpu_operations.run.protocol import EndedFromOutsideError, on_screen


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = f"{COMMAND} run [TARGET] --on {{{','.join(run_options.PLACES)}}} [--stack STACK] [options] [-- ARGUMENT ...]"
    parser.set_defaults(run=run, failure_code=FAILED_RUN)
    run_options.add(parser)


def run(options: argparse.Namespace) -> int:
    before = signal.signal(signal.SIGTERM, _interrupt)  # terminating this process stops the run in Azure too
    try:
        return _run(options)
    except KeyboardInterrupt:  # before the run started
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(options: argparse.Namespace) -> int:
    from azure_gpu_operations.run.preparing import prepare  # here, because `--help` needs none of it
    from azure_gpu_operations.run.target import TargetOptions, resolve

    target_options = TargetOptions(
        options.target or "",
        options.requirements or run_options.beside(options),
        options.base or "",
        tuple(options.env),
        tuple(options.secret_env),
        options.timeout,
        options.build_timeout,
    )
    target, problems = resolve(target_options, os.environ)
    problems += run_options.problems(options)
    found, more = run_options.view(options)
    problems += more
    plan, more = prepare(options, target, found)
    problems += more
    if errors(problems) or plan is None:
        return refused(problems)
    for warning in problems:
        print(f"warning: {warning}", file=sys.stderr)

    from azure_gpu_operations.run.driving import drive
    from azure_gpu_operations.run.protocol import WrongRunError

    try:
        return drive(plan, on_screen(), options.stack or "", detach=options.detach).code
    except WrongRunError as error:
        return refused(error.problems)


def refused(problems: Sequence[Problem]) -> int:
    heading = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    print(f"error: {heading}, nothing was started:", file=sys.stderr)
    for problem in problems:
        print(f"  - {problem}", file=sys.stderr)
    return WRONG_COMMAND_LINE


def _interrupt(*_: object) -> NoReturn:
    raise EndedFromOutsideError
