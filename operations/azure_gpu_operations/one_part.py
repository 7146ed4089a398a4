"""Which part of a stack a command means: the one that is named, or the only one.

In: a stack's view and file, the name that was given. Out: the name in the stack, and problems, which tell a part that the file
switches off.
"""

from pathlib import Path
from typing import NamedTuple

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu_operations import planned
from azure_gpu_operations.run.unknown import unknown
from azure_gpu_operations.stack_view import StackView


class Kind(NamedTuple):
    """Parts among which a command chooses."""

    section: str  # of the stack's file
    noun: str
    of_stack: str  # what the stack hasn't, in full
    option: str  # of the command line
    fix: str  # where there is none


JOB = Kind("jobs", "job", "job", "--job", "give the stack a job: a section `jobs` in its file, then `pulumi up`")
POOL = Kind("pools", "pool", "pool", "--pool", "give the stack a pool: a section `pools` in its file, then `pulumi up`")
MACHINE = Kind(
    "vms", "machine", "virtual machine", "--vm", "give the stack a machine: a section `vms` in its file, then `pulumi up`"
)
CLUSTER = Kind(
    "clusters", "cluster", "cluster", "--cluster", "give the stack one: a section `clusters` in its file, then `pulumi up`"
)
EDGE = Kind("edges", "edge", "edge", "--cluster", "give the stack one: a section `edges` in its file, then `pulumi up`")
COMPUTE = Kind(
    "ml_workspace.computes",
    "compute",
    "compute of a workspace",
    "--compute",
    "give the stack one with a size: `ml_workspace.computes` in its file, then `pulumi up`; --on aks is a cluster of AKS",
)


def choose(kind: Kind, view: StackView, name: str, file: Path | None = None, option: str = "") -> tuple[str, list[Problem]]:
    """`name`: "" is the only one. `option`: where it is written, if not as the kind has it. "" with a problem."""
    known = sorted(_NAMES[kind](view))
    option = option or kind.option
    if name in known:
        return name, []
    if file is not None and (name or not known) and (off := planned.switched_off(file, name, kind.section)):
        fix = f"remove enabled: false there, then `pulumi up --stack {view.name}`"
        return "", [Problem(option, off, value=name or None, fix=fix, code=Code.NOT_FOUND)]
    if not known:
        message = f"the stack has no {kind.of_stack}"
        return "", [Problem("--stack", message, value=view.name, fix=kind.fix, code=Code.NOT_FOUND)]
    if name:
        return "", [unknown(option, f"the stack has no such {kind.noun}", name, known)]
    if len(known) > 1:
        fix = f"choose one: {option} {known[0]}" if option.startswith("--") else f"name one: {known[0]}"
        return "", [Problem(option, f"the stack has several {kind.noun}s", allowed=", ".join(known), fix=fix)]
    return known[0], []


_NAMES = {
    JOB: lambda view: view.jobs,
    POOL: lambda view: view.pools,
    MACHINE: lambda view: view.vms,
    CLUSTER: lambda view: view.clusters,
    EDGE: lambda view: view.edges,
    COMPUTE: lambda view: view.ml_computes,
}
