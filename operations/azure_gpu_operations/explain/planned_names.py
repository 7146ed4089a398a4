"""What Azure calls something of a stack, by the stack's plan: for what was refused, and so is in no output.

In: the stack's file and name, and what the file calls it. Out: names in Azure; none where the file can't be read, or has nothing
that is called so.
"""

from pathlib import Path

from azure_gpu.formats import azure_types
from azure_gpu.stack.inventory import Name
from azure_gpu_operations import planned
from azure_gpu_operations.project import project


def of(file: Path, stack: str, called: str) -> tuple[Name, ...]:
    """Of whatever the stack's file calls so: a group, a job, a cluster, a pool of one, a compute, …"""
    return tuple(each for each in _all(file, stack) if each.path.rpartition(".")[2] == called)


def of_pool(file: Path, stack: str, cluster: str, pool: str) -> str:
    """Of a cluster's pool. "" where the file has none."""
    path = f"clusters.{cluster}.gpu_pools.{pool}"
    of_pools = (each for each in _all(file, stack) if each.arm_type == azure_types.AGENT_POOL.arm_type)
    return next((each.name for each in of_pools if each.path == path), "")


def _all(file: Path, stack: str) -> tuple[Name, ...]:
    try:
        return planned.inventory(project().files, file, stack).names
    except planned.WrongStackFileError:
        return ()
