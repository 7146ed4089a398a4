"""Assigns tasks to nodes: by slots, affinity, packing or spreading, and all nodes of a multi-instance task at once.

Tasks are placed in the order in which they may start. Nothing here waits or changes anything but what is told back through
`taken`.
"""

from collections.abc import Callable, Iterator, Sequence

from localazure.batch.model import TaskRun
from localazure.batch.nodes.node import Node

_LOOK_AHEAD = 50  # tasks that are passed over because they find no room, before looking is given up


def placed(
    ready: Iterator[TaskRun], nodes: Sequence[Node], *, pack: bool, multi_instance: bool, suits: Callable[[TaskRun, Node], bool]
) -> Iterator[tuple[TaskRun, list[Node]]]:
    """One task after the other with its nodes, the primary's first. The caller takes the slots before it requests the next.

    `suits`: whether the job's preparation hasn't failed on a node. A multi-instance task that has to wait for nodes of the pool
    keeps later tasks from taking them.
    """
    passed = 0
    while passed < _LOOK_AHEAD and any(node.free_slots > 0 for node in nodes):
        run = next(ready, None)
        if run is None:
            return
        if run.task.get("multiInstanceSettings"):
            if not multi_instance:
                passed += 1
                continue  # it stays active, as the service documents
            idle = [node for node in nodes if node.free_slots > 0 and not node.running and suits(run, node)]
            if len(idle) >= run.instances:
                yield run, idle[: run.instances]
                continue
            if sum(node.counts for node in nodes) >= run.instances:
                return
            passed += 1
            continue
        chosen = _choose(run, nodes, pack, suits)
        if chosen is None:
            passed += 1
            continue
        yield run, [chosen]


def _choose(run: TaskRun, nodes: Sequence[Node], pack: bool, suits: Callable[[TaskRun, Node], bool]) -> Node | None:
    fitting = [node for node in nodes if node.free_slots >= run.slots and suits(run, node)]
    if not fitting:
        return None
    requested = (run.task.get("affinityInfo") or {}).get("affinityId")
    near = next((node for node in fitting if requested in (node.affinity, node.id)), None) if requested else None
    if near is not None:
        return near
    return (max if pack else min)(fitting, key=lambda node: node.used_slots)
