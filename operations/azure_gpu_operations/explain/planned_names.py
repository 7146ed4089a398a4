"""Names in Azure of a part of a stack, from the stack's plan: for parts that Azure rejected, which no output has."""

from pathlib import Path

from azure_gpu.formats import azure_types
from azure_gpu.stack.requests import Name
from azure_gpu_operations import planned
from azure_gpu_operations.project import project


def of(file: Path, stack: str, called: str) -> tuple[Name, ...]:
    """Names in Azure of the parts with this name in the stack's file: a group, a job, a cluster, a pool, a compute, …"""
    return tuple(each for each in _all(file, stack) if each.path.rpartition(".")[2] == called)


def of_pool(file: Path, stack: str, cluster: str, pool: str) -> str:
    """The name in Azure of a cluster's pool; "" if the file has none."""
    path = f"clusters.{cluster}.gpu_pools.{pool}"
    of_pools = (each for each in _all(file, stack) if each.arm_type == azure_types.AGENT_POOL.arm_type)
    return next((each.name for each in of_pools if each.path == path), "")


def _all(file: Path, stack: str) -> tuple[Name, ...]:
    try:
        return planned.inventory(project().files, file, stack).names
    except planned.UnreadableStackFileError:
        return ()
