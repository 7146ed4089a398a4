"""The options of `run`, and which of them each service supports."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from azure_gpu.catalog.problems import Problem
from azure_gpu_operations import stack_options
from azure_gpu_operations.run.protocol import AKS, BATCH, EDGE, JOB, LOCAL, ML_CLUSTER, PLACES, VM
from azure_gpu_operations.stack import EngineError
from azure_gpu_operations.stack_view import StackView, view as view_of

BESIDE = "requirements.txt"  # default requirements file beside a script
# Options that only some services support.
_ONLY_ON = {
    "--job": (JOB,),
    "--pool": (BATCH, AKS),
    **dict.fromkeys(("--processes", "--tasks", "--retries"), (BATCH,)),
    "--input": (JOB, AKS, VM, ML_CLUSTER),
    **dict.fromkeys(("--output", "--into"), (JOB, BATCH, AKS, VM, ML_CLUSTER)),
    **dict.fromkeys(("--cluster", "--namespace", "--pull-secret", "--queue"), (AKS, EDGE)),
    **dict.fromkeys(("--kubeconfig", "--context"), (EDGE,)),
    **dict.fromkeys(("--vm", "--start", "--stop-after"), (VM,)),
    "--way": (LOCAL, VM),
    "--build-timeout": (JOB, BATCH, AKS, EDGE, VM, ML_CLUSTER),
    "--compute": (ML_CLUSTER,),
}
_OF_FILES = ("--input", "--output", "--into")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", nargs="?", metavar="TARGET", help="a script, a workload, a folder, or an image")
    parser.add_argument(
        "--on",
        choices=PLACES,
        required=True,
        help="where to run: on this machine, or on the stack's Container Apps job, Batch pool, AKS cluster, a cluster given by "
        "kubeconfig, virtual machine, or a compute cluster of its Azure ML workspace",
    )
    parser.add_argument("--stack", help="the stack's name (not needed with --on local)")
    parser.add_argument("--job", help="a job of the stack (default: its only one)")
    stack_options.add_config_folder(parser)
    parser.add_argument("--requirements", metavar="FILE", help="requirements file of the script, installed with pip")
    parser.add_argument("--base", metavar="IMAGE", help="base image of the script's image, with Python")
    parser.add_argument("--env", action="append", default=[], metavar="KEY=VALUE", help="an environment variable; repeatable")
    parser.add_argument(
        "--secret-env",
        action="append",
        default=[],
        metavar="KEY",
        help="a secret environment variable; its value is read from the local environment",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        metavar="MINUTES",
        help="stop the run after this time (a job's own limit applies too); on batch per task",
    )
    parser.add_argument(
        "--build-timeout",
        type=float,
        metavar="MINUTES",
        help="limit of the image's build, with its time in the queue (default 60)",
    )
    parser.add_argument("--detach", action="store_true", help="start the run without waiting for it")
    parser.add_argument("--pool", help="a Batch pool, or a GPU pool of the cluster (default: the only one)")
    parser.add_argument(
        "--nodes",
        type=int,
        metavar="N",
        help="number of workers, one per node, which find each other by TF_CONFIG (default 1); on a Batch pool with MPI and "
        "without containers, processes of one mpirun",
    )
    parser.add_argument(
        "--gpus",
        type=int,
        metavar="N",
        help="GPUs per node (default: all of the node's; on aks and edge 1, or 1 share if GPUs are shared)",
    )
    pools = parser.add_argument_group("on batch")
    pools.add_argument("--processes", type=int, metavar="N", help="with --nodes: processes per node (default 1)")
    pools.add_argument("--tasks", type=Path, metavar="FILE", help="file of tasks: a YAML list, or one JSON value per line")
    pools.add_argument("--retries", type=int, metavar="N", help="number of retries of a failed task")

    files = parser.add_argument_group("files, on job, batch, aks, vm and cluster")
    text = "a local file or folder, copied to the program's folder as NAME (default: same name); repeatable; not on batch"
    files.add_argument("--input", action="append", default=[], metavar="PATH[=NAME]", help=text)
    text = "output files to keep in the stack's storage account; repeatable"
    files.add_argument("--output", action="append", default=[], metavar="PATTERN", help=text)
    files.add_argument("--into", type=Path, metavar="FOLDER", help="download the output files to this folder when the run ends")

    clusters = parser.add_argument_group("on aks and edge")
    clusters.add_argument("--cluster", metavar="NAME", help="a cluster or edge of the stack (default: its only one)")
    clusters.add_argument("--namespace", help="Kubernetes namespace (default: the stack's, else `default`)")
    clusters.add_argument("--queue", metavar="NAME", help="Kueue queue that admits the run, a group as a whole (default: none)")
    clusters.add_argument("--pull-secret", metavar="NAME", help="image pull Secret in the namespace")
    clusters.add_argument(
        "--kubeconfig", type=Path, metavar="FILE", help="kubeconfig of an edge (default: the one in the stack's file)"
    )
    clusters.add_argument("--context", help="context of the kubeconfig (default: its current one)")

    machines = parser.add_argument_group("on local, vm and cluster")
    machines.add_argument("--vm", metavar="NAME", help="a virtual machine of the stack (default: its only one)")
    machines.add_argument("--start", action="store_true", default=None, help="start the machine if it is deallocated")
    machines.add_argument("--stop-after", action="store_true", default=None, help="deallocate the machine afterwards")
    machines.add_argument(
        "--way",
        choices=("container", "python"),
        help="run in a container or directly with Python (default: locally Python if possible; on a virtual machine a "
        "container if its image has Docker)",
    )
    machines.add_argument("--compute", metavar="NAME", help="a compute of the workspace (default: its only one)")


def parsed(words: Sequence[str], after: Sequence[str] = ()) -> argparse.Namespace:
    """The options of a command line. `after`: the arguments after `--`."""
    parser = argparse.ArgumentParser()
    add(parser)
    return parser.parse_args(words, argparse.Namespace(after=list(after)))


def problems(options: argparse.Namespace) -> list[Problem]:
    """Problems with combinations of options."""
    from azure_gpu_operations.run import workers  # here, because `--help` needs none of it

    of_group = workers.problems(options.nodes, options.gpus, options.on)
    found = [*_empty(options), *_no_target(options), *_of_other_place(options), *of_group]
    return [*found, *_files_of_edge(options), *_detached(options)]


def beside(options: argparse.Namespace) -> str:
    """Path of the requirements.txt beside a script, for the services that use it; "" without one."""
    script = Path(options.target or "").expanduser()
    file = script.parent / BESIDE
    if options.on not in (LOCAL, VM, ML_CLUSTER) or script.suffix != ".py" or not script.is_file() or not file.is_file():
        return ""
    print(f"using requirements: {file}", file=sys.stderr)
    return str(file)


def view(options: argparse.Namespace) -> tuple[StackView | None, list[Problem]]:
    """The view of the stack; None with --on local."""
    if options.on == LOCAL:
        return None, [] if options.stack is None else [Problem("--stack", "not used with --on local", fix="remove it")]
    if not options.stack:
        return None, [Problem("--stack", "missing", fix="add --stack NAME")]
    try:
        return view_of(stack_options.stack_of(options)), []
    except EngineError as error:
        return None, [Problem("--stack", str(error))]


def _empty(options: argparse.Namespace) -> list[Problem]:
    """Rejects empty values, as from an unset shell variable, which would otherwise start something else."""
    words = {
        "TARGET": options.target,
        "--job": options.job,
        "--pool": options.pool,
        "--requirements": options.requirements,
        "--base": options.base,
        "--cluster": options.cluster,
        "--namespace": options.namespace,
        "--vm": options.vm,
        "--compute": options.compute,
    }
    fix = "set a value, or remove it"
    return [
        Problem(path, "must not be empty", value=word, fix=fix)
        for path, word in words.items()
        if word is not None and not word.strip()
    ]


def _no_target(options: argparse.Namespace) -> list[Problem]:
    """The problem of nothing to run. A job has an image of its own; pools and machines also run commands."""
    if options.target is not None or options.on == JOB or (options.on == BATCH and options.tasks is not None):
        return []
    if options.on not in (BATCH, VM):
        return [Problem("TARGET", "no target is given", fix="name a script, a workload, a folder or an image")]
    if options.after:
        return []
    tasks = ", add --tasks FILE" if options.on == BATCH else ""
    fix = f"name a script, a workload, a folder or an image{tasks}, or write a command after --"
    return [Problem("TARGET", "no target or command is given", fix=fix)]


def _of_other_place(options: argparse.Namespace) -> list[Problem]:
    found: list[Problem] = []
    for option, where in _ONLY_ON.items():
        if options.on == EDGE and option in _OF_FILES:
            continue
        if _is_given(options, option) and options.on not in where:
            fix = f"remove it, or use --on {where[0]}"
            found.append(Problem(option, f"only supported with --on {' and --on '.join(where)}", fix=fix))
    return found


def _files_of_edge(options: argparse.Namespace) -> list[Problem]:
    """Rejects files on edges: they require a managed identity, which an edge doesn't have."""
    given = [option for option in _OF_FILES if options.on == EDGE and _is_given(options, option)]
    if not given:
        return []
    message = "files are transferred as the stack's identity, which pods of an edge can't use"
    fix = "put input files into the image and let the program upload its output, or use --on aks"
    return [Problem(", ".join(given), message, allowed=f"--on {' and --on '.join(_ONLY_ON[given[0]])}", fix=fix)]


def _is_given(options: argparse.Namespace, option: str) -> bool:
    given = getattr(options, option.removeprefix("--").replace("-", "_"))
    return given is not None and given != []


def _detached(options: argparse.Namespace) -> list[Problem]:
    if not options.detach:
        return []
    problems: list[Problem] = []
    on_job = options.on == JOB
    if options.on in (LOCAL, VM, ML_CLUSTER):  # checked by these services themselves
        return []
    if options.secret_env and options.on in (JOB, BATCH):  # in a cluster the secret is stored with the Job
        where = "set `secret_environment` of the job in the stack's file" if on_job else "let the program fetch the secret itself"
        held = "the job holds a --secret-env" if on_job else "a --secret-env is in the stack's storage"
        problems.append(
            Problem("--detach", f"{held} only while this command is running", fix=f"remove one of the two, or {where}")
        )
    if options.timeout is not None and on_job:
        fix = "remove one of the two; `timeout_minutes` of the job in the stack's file applies to every run"
        problems.append(Problem("--detach", "can't be combined with --timeout", value=options.timeout, fix=fix))
    if options.into is not None:
        fix = "remove one of the two; with only --output the files stay in the stack's storage account"
        problems.append(Problem("--detach", "can't be combined with --into", value=str(options.into), fix=fix))
    return problems
