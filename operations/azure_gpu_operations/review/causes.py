"""Groups dangers by the argument that causes them, and has the words for what happens to a resource. Pure."""

from collections import defaultdict
from collections.abc import Sequence

from azure_gpu_operations.review.model import Danger, Operation

DONE = {Operation.REPLACE: "replaced", Operation.DELETE: "deleted", Operation.UPDATE: "interrupted"}


def by_cause(dangers: Sequence[Danger]) -> list[list[Danger]]:
    """Dangers grouped by the argument that causes them; one without a known argument is its own group."""
    groups: dict[object, list[Danger]] = defaultdict(list)
    for index, each in enumerate(dangers):
        groups[(each.cause, each.before, each.after, each.place) if each.cause else index].append(each)
    return list(groups.values())
