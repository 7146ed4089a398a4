"""Selects the part of a stack that a command applies to: by name, or the only one.

Problems distinguish unknown names from parts with `enabled: false`.
"""

from pathlib import Path
from typing import NamedTuple

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu_operations import planned
from azure_gpu_operations.run.unknown import unknown
from azure_gpu_operations.stack_view import StackView


class Kind(NamedTuple):
    """One kind of part, such as jobs."""

    section: str  # of the stack's file
    noun: str
    of_stack: str  # full noun, for "the stack has no …"
    option: str  # of the command line
    fix: str  # if the stack has none


JOB = Kind("jobs", "job", "job", "--job", "add a section `jobs` to the stack's file and run `pulumi up`")
POOL = Kind("pools", "pool", "pool", "--pool", "add a section `pools` to the stack's file and run `pulumi up`")
MACHINE = Kind("vms", "machine", "virtual machine", "--vm", "add a section `vms` to the stack's file and run `pulumi up`")
CLUSTER = Kind("clusters", "cluster", "cluster", "--cluster", "add a section `clusters` to the stack's file and run `pulumi up`")
EDGE = Kind("edges", "edge", "edge", "--cluster", "add a section `edges` to the stack's file and run `pulumi up`")
COMPUTE = Kind(
    "ml_workspace.computes",
    "compute",
    "compute of a workspace",
    "--compute",
    "add a compute with a `size` to `ml_workspace.computes` in the stack's file and run `pulumi up`; for AKS use --on aks",
)


def choose(kind: Kind, view: StackView, name: str, file: Path | None = None, option: str = "") -> tuple[str, list[Problem]]:
    """`name`: "" selects the only one. `option`: the option that gives it, if not the kind's. Returns "" with problems."""
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
        return "", [unknown(option, f"the stack has no {kind.noun} of this name", name, known)]
    if len(known) > 1:
        fix = f"choose one: {option} {known[0]}" if option.startswith("--") else f"choose one: {known[0]}"
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
