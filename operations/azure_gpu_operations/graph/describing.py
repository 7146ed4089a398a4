"""Describes one part of a graph from its resources: name, region, machines, costs and last day."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from azure_gpu.formats import azure_types
from azure_gpu_operations.batch.pool_cost import hourly
from azure_gpu_operations.graph import kinds, stand_ins
from azure_gpu_operations.graph.machines import idle_nodes, machines_of
from azure_gpu_operations.graph.model import Part
from azure_gpu_operations.graph.ownership import Ownership, key_of
from azure_gpu_operations.graph.recorded import Resource

_JOB_ON_CLUSTER = "kubernetes:batch/v1:Job"
_OF_FOUNDATION = "foundation-"


def described(key: str, members: Sequence[Resource], owned: Ownership) -> Part:
    """The part with these resources."""
    head = next(each for each in members if key_of(each) == key)
    workspace = owned.parent_of(head) if head.type in (kinds.COMPUTE, kinds.MODEL) else None
    name = _name(head, workspace)
    # A workspace tells by name what its computes cost.
    outputs = head.outputs if workspace is None else {each: _at(workspace.outputs.get(each), name) for each in workspace.outputs}
    most, idle = (_cost(outputs.get(each)) for each in ("hourly_cost", "idle_cost"))
    if head.type == kinds.JOB:
        idle = 0.0  # billed only while it runs
    elif head.type == kinds.GROUP:
        idle = most  # billed until it ends
    end = outputs.get("expires_at")
    return Part(
        key=key,
        type=head.type,
        name=name,
        location=next((str(each.inputs["location"]) for each in members if each.inputs.get("location")), ""),
        machines=tuple(sorted(machines_of(members), key=lambda each: each.name)),
        notes=tuple(_notes(head, members)),
        exists=kinds.is_component(head.type) and owned.is_around_existing(key),
        most_cost=most,
        idle_cost=idle,
        expires=end if isinstance(end, str) else "",
    )


def idle_cost_of_pool(pool: Part, members: Sequence[Resource]) -> float | None:
    """The cost of the nodes that stay at idle; the library has only the cost of all nodes."""
    inputs = next(each.inputs for each in members if each.type == azure_types.BATCH_POOL.token)
    [machines] = pool.machines
    idle = idle_nodes(inputs)
    if idle is None or not any(idle):
        return None if idle is None else 0.0
    if machines.idle == machines.most and pool.most_cost is not None:
        return pool.most_cost
    is_windows = "windows" in str(inputs.get("deploymentConfiguration")).lower()
    cost = hourly(machines.size, pool.location, *idle, is_windows=is_windows)
    return float(cost) if cost is not None else None


def _name(head: Resource, workspace: Resource | None) -> str:
    """The name in the stack file; parts of the foundation, which have none, are named after their kind."""
    for section in ("computes", "models") if workspace is not None else ():
        for name, value in (workspace.outputs.get(section) or {}).items() if workspace is not None else ():
            if value == stand_ins.id_of(head.number):
                return str(name)
    if head.type == kinds.RESOURCE_GROUP:
        return str(head.inputs.get("resourceGroupName", head.name))
    return head.name if kinds.is_component(head.type) else head.name.removeprefix(_OF_FOUNDATION)


def _notes(head: Resource, members: Sequence[Resource]) -> Iterator[str]:
    deployed = [each.name for each in members if each.type == azure_types.DEPLOYMENT.token] if head.type == kinds.REGISTRY else []
    built = [name.rpartition("build-")[2] for name in deployed]
    if built:
        yield f"builds {', '.join(sorted(built))}"
    if head.type == kinds.BUDGET:
        amount = next(each.inputs["amount"] for each in members if each.type == azure_types.BUDGET.token)
        yield f"{amount:,g} a month"
    jobs = [str(_at(each.inputs.get("metadata"), "name") or each.name) for each in members if each.type == _JOB_ON_CLUSTER]
    if jobs:
        yield f"{'job' if len(jobs) == 1 else 'jobs'} {', '.join(sorted(jobs))}"


def _at(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def _cost(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
