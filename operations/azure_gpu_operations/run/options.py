"""The options of `run`: which there are, which place takes which, and the stack that they name.

In: an argparse parser, what it read. Out: options, and problems that show without asking anybody.
"""

import argparse
import sys
from pathlib import Path

from azure_gpu.catalog.problems import Problem
from azure_gpu_operations import stack_options
from azure_gpu_operations.clusters.places import AKS, EDGE
from azure_gpu_operations.run import workers
from azure_gpu_operations.run.workers import BATCH, JOB, LOCAL, ML_CLUSTER, PLACES, VM
from azure_gpu_operations.stack import EngineError
from azure_gpu_operations.stack_view import StackView, view as view_of

BESIDE = "requirements.txt"  # beside a script: what it needs, where nothing else is said
# Options that some places alone take.
_ONLY_ON = {
    "--job": (JOB,),
    "--pool": (BATCH, AKS),
    **dict.fromkeys(("--processes", "--tasks", "--retries"), (BATCH,)),
    "--input": (JOB, AKS, VM, ML_CLUSTER),
    **dict.fromkeys(("--output", "--into", "--model"), (JOB, BATCH, AKS, VM, ML_CLUSTER)),
    **dict.fromkeys(("--cluster", "--namespace", "--pull-secret", "--queue"), (AKS, EDGE)),
    **dict.fromkeys(("--kubeconfig", "--context"), (EDGE,)),
    **dict.fromkeys(("--vm", "--start", "--stop-after"), (VM,)),
    "--way": (LOCAL, VM),
    "--compute": (ML_CLUSTER,),
}
_OF_FILES = ("--input", "--output", "--into", "--model")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", nargs="?", metavar="TARGET", help="a script, a workload, a folder, or an image")
    parser.add_argument(
        "--on",
        choices=PLACES,
        required=True,
        help="where it runs: here, or on the stack's Container Apps job, its Batch pool, its AKS cluster, a cluster given by "
        "kubeconfig, its virtual machine, or a cluster of its Azure ML workspace",
    )
    parser.add_argument("--stack", help="the stack's name (not needed with --on local)")
    parser.add_argument("--job", help="which of the stack's jobs (default: its only one)")
    stack_options.add_config_folder(parser)
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
    parser.add_argument(
        "--nodes",
        type=int,
        metavar="N",
        help="so many workers, each on a node of its own, which find each other by TF_CONFIG (default 1); on batch, where the "
        "pool has an MPI and no containers, processes of one mpirun",
    )
    parser.add_argument(
        "--gpus",
        type=int,
        metavar="N",
        help="so many GPUs on each node (default: all of the node's; on aks and edge 1, or 1 share where GPUs are shared)",
    )
    pools = parser.add_argument_group("on batch")
    pools.add_argument("--processes", type=int, metavar="N", help="with --nodes: so many processes on each (default 1)")
    pools.add_argument("--tasks", type=Path, metavar="FILE", help="many tasks: a list in YAML, or a JSON value a line")
    pools.add_argument("--retries", type=int, metavar="N", help="try a task that fails so often again")

    files = parser.add_argument_group("files, on job, batch, aks, vm and cluster")
    text = (
        "a file or folder of this machine, put beside the program as NAME (default: its own name); may be repeated; not on batch"
    )
    files.add_argument("--input", action="append", default=[], metavar="PATH[=NAME]", help=text)
    text = "files that the program leaves, kept in the stack's storage account; may be repeated"
    files.add_argument("--output", action="append", default=[], metavar="PATTERN", help=text)
    files.add_argument("--into", type=Path, metavar="FOLDER", help="fetch them into this folder when the run ends")
    text = "make the SavedModel among them a model of the stack's workspace, in its storage and in its file"
    files.add_argument("--model", metavar="NAME[:VERSION]", help=text)

    clusters = parser.add_argument_group("on aks and edge")
    clusters.add_argument("--cluster", metavar="NAME", help="which of the stack's clusters or edges (default: its only one)")
    clusters.add_argument("--namespace", help="where in the cluster (default: the stack's, else `default`)")
    clusters.add_argument("--queue", metavar="NAME", help="the queue that admits it: all of a group or nothing (default: none)")
    clusters.add_argument("--pull-secret", metavar="NAME", help="a Secret of that namespace with which the image is pulled")
    clusters.add_argument(
        "--kubeconfig", type=Path, metavar="FILE", help="of an edge (default: the one that the stack's file names)"
    )
    clusters.add_argument("--context", help="which context of it (default: its current one)")

    machines = parser.add_argument_group("on local, vm and cluster")
    machines.add_argument("--vm", metavar="NAME", help="which of the stack's virtual machines (default: its only one)")
    machines.add_argument("--start", action="store_true", default=None, help="start the machine where it is deallocated")
    machines.add_argument("--stop-after", action="store_true", default=None, help="deallocate the machine afterwards")
    machines.add_argument(
        "--way",
        choices=("container", "python"),
        help="how it runs: in a container, or by Python alone (default: here Python where that is enough, on a machine a "
        "container where its image brings what runs one)",
    )
    machines.add_argument("--compute", metavar="NAME", help="which of the workspace's computes (default: its only one)")


def problems(options: argparse.Namespace) -> list[Problem]:
    """What is wrong with them beside one another."""
    of_group = workers.problems(options.nodes, options.gpus, options.on)
    return [*_empty(options), *_of_other_place(options), *of_group, *_files_of_edge(options), *_detached(options)]


def beside(options: argparse.Namespace) -> str:
    """The requirements that stand beside a script, for the places where a script runs with what is around it."""
    script = Path(options.target or "").expanduser()
    file = script.parent / BESIDE
    if options.on not in (LOCAL, VM, ML_CLUSTER) or script.suffix != ".py" or not script.is_file() or not file.is_file():
        return ""
    print(f"with the requirements beside it: {file}", file=sys.stderr)
    return str(file)


def view(options: argparse.Namespace) -> tuple[StackView | None, list[Problem]]:
    """The stack's; None here, where none is needed."""
    if options.on == LOCAL:
        return None, [] if options.stack is None else [Problem("--stack", "what runs here needs no stack", fix="leave it out")]
    if not options.stack:
        return None, [Problem("--stack", "this is needed and not given", fix="add --stack and the stack's name")]
    try:
        return view_of(stack_options.stack_of(options)), []
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
        "--vm": options.vm,
        "--compute": options.compute,
    }
    fix = "say which, or leave it out"
    return [
        Problem(path, "it is empty", value=word, fix=fix) for path, word in words.items() if word is not None and not word.strip()
    ]


def _of_other_place(options: argparse.Namespace) -> list[Problem]:
    found: list[Problem] = []
    for option, where in _ONLY_ON.items():
        if options.on == EDGE and option in _OF_FILES:
            continue
        if _is_given(options, option) and options.on not in where:
            fix = f"leave it out, or write --on {where[0]}"
            found.append(Problem(option, f"only --on {' and --on '.join(where)} takes it", fix=fix))
    return found


def _files_of_edge(options: argparse.Namespace) -> list[Problem]:
    """Files go as an identity and without keys. Of an edge nothing is known but its kubeconfig."""
    given = [option for option in _OF_FILES if options.on == EDGE and _is_given(options, option)]
    if not given:
        return []
    message = "files come and go as the stack's identity, and Microsoft Entra doesn't take the pods of an edge for it"
    fix = "put what the program reads into its image, and let it print or send what it leaves; or write --on aks"
    return [Problem(", ".join(given), message, allowed=f"--on {' and --on '.join(_ONLY_ON[given[0]])}", fix=fix)]


def _is_given(options: argparse.Namespace, option: str) -> bool:
    given = getattr(options, option.removeprefix("--").replace("-", "_"))
    return given is not None and given != []


def _detached(options: argparse.Namespace) -> list[Problem]:
    if not options.detach:
        return []
    problems: list[Problem] = []
    on_job = options.on == JOB
    if options.on in (LOCAL, VM, ML_CLUSTER):  # they say for themselves what they can't do
        return []
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
