"""Which of a stack's machines is meant.

In: a stack's view, the name that was said, "" for its only one. Out: the name, and problems. Pure.
"""

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu_operations.run.unknown import unknown
from azure_gpu_operations.stack_view import StackView


def choose(view: StackView, name: str, option: str) -> tuple[str, list[Problem]]:
    """`option`: where the name is written. "" with a problem."""
    known = sorted(view.vms)
    if not known:
        fix = "give the stack a machine: a section `vms` in its file, then `pulumi up`"
        return "", [Problem("--stack", "the stack has no virtual machine", value=view.name, fix=fix, code=Code.NOT_FOUND)]
    if name:
        return (name, []) if name in known else ("", [unknown(option, "the stack has no such machine", name, known)])
    if len(known) > 1:
        fix = f"choose one: {option} {known[0]}" if option.startswith("--") else f"name one: {known[0]}"
        return "", [Problem(option, "the stack has several machines", allowed=", ".join(known), fix=fix)]
    return known[0], []
