"""Rules for MPI in Batch: tasks that run on several nodes at once."""

from collections.abc import Iterator, Mapping
from datetime import date

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.batch import mpi_commands, sources
from azure_gpu.catalog.services.batch.request import AllocationMode, PoolRequest

# The most nodes in a pool whose nodes talk to each other. These limits can't be raised.
MOST_NODES: Mapping[AllocationMode, int] = {AllocationMode.BATCH_SERVICE: 100, AllocationMode.USER_SUBSCRIPTION: 80}


def mpi_problems(request: PoolRequest, as_of: date) -> Iterator[Problem]:
    """Multi-instance tasks, RDMA, which MPI, and the size of a pool whose nodes talk to each other."""
    wants_mpi = request.multi_instance or request.rdma or request.mpi is not None
    if request.mpi is not None:
        yield from mpi_commands.mpi_problems_of(request.mpi, request, as_of)
    if wants_mpi and not request.inter_node:
        yield Problem(
            path=request.at("inter_node"),
            message="multi-instance tasks require communication between nodes; without it they never run",
            value=request.inter_node,
            allowed="enabled",
            fix="enable communication between nodes",
            source=str(sources.MPI),
            code=Code.IMPOSSIBLE,
        )
    if wants_mpi and request.task_slots != 1:
        yield Problem(
            path=request.at("task_slots"),
            message="multi-instance tasks require one task slot per node; with more they never run",
            value=request.task_slots,
            allowed="1",
            fix="write 1",
            source=str(sources.MPI),
            code=Code.IMPOSSIBLE,
        )
    if request.inter_node:
        yield from _limits(request)


def _limits(request: PoolRequest) -> Iterator[Problem]:
    most = MOST_NODES[request.allocation_mode]
    if request.nodes > most:
        yield Problem(
            path=request.at(_counted(request)),
            message=f"a pool whose nodes talk to each other has at most {most} nodes in {request.allocation_mode} accounts",
            value=request.nodes,
            allowed=f"at most {most}",
            fix=f"use {most} or fewer, or spread the work over several pools",
            source=str(sources.LIMITS),
            code=Code.IMPOSSIBLE,
        )
    if request.spot_nodes:
        yield Problem(
            path=request.at("spot_nodes"),
            message="Spot nodes can be evicted at any time, which ends the whole MPI task",
            value=request.spot_nodes,
            fix="use dedicated nodes, or write checkpoints often",
            source=str(sources.SPOT),
            code=Code.UNKNOWN,  # whether a task ends before its nodes are taken away
            severity=Severity.WARNING,
        )


def _counted(request: PoolRequest) -> str:
    """The field that requests most of the nodes."""
    if request.dedicated_nodes or request.spot_nodes:
        return "dedicated_nodes" if request.dedicated_nodes else "spot_nodes"
    return "autoscale_formula"
