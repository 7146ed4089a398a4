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
    names: str  # in the stack's view
    noun: str
    of_stack: str  # full noun, for "the stack has no …"
    option: str  # of the command line
    special: str = ""  # the fix if the stack has none, where that isn't to add the section

    @property
    def fix(self) -> str:
        return self.special or f"add a section `{self.section}` to the stack's file and run `pulumi up`"


JOB = Kind("jobs", "jobs", "job", "job", "--job")
POOL = Kind("pools", "pools", "pool", "pool", "--pool")
MACHINE = Kind("vms", "vms", "machine", "virtual machine", "--vm")
CLUSTER = Kind("clusters", "clusters", "cluster", "cluster", "--cluster")
EDGE = Kind("edges", "edges", "edge", "edge", "--cluster")
COMPUTE = Kind(
    "ml_workspace.computes",
    "ml_computes",
    "compute",
    "compute of a workspace",
    "--compute",
    "add a compute with a `size` to `ml_workspace.computes` in the stack's file and run `pulumi up`; for AKS use --on aks",
)


def choose(kind: Kind, view: StackView, name: str, file: Path | None = None, option: str = "") -> tuple[str, list[Problem]]:
    """`name`: "" selects the only one. `option`: the option that gives it, if not the kind's. Returns "" with problems."""
    known = sorted(getattr(view, kind.names))
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
