"""Trees of resources that are replaced because another one is, as rows in reading order with their depth."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from azure_gpu_operations.review.model import Part, Resource

DEEPEST = 8  # what lies deeper is shown as deep, and tells by its own line what it follows


class Row(NamedTuple):
    """One resource of a tree."""

    depth: int
    part: Part
    resource: Resource


def rows(parts: Sequence[Part]) -> tuple[Row, ...]:
    """The trees, depth first; without resources that follow none and force none."""
    found = [(part, resource) for part in parts for resource in part.resources]
    by_name: dict[str, int] = {}
    for index, (_, resource) in enumerate(found):
        by_name.setdefault(resource.name, index)
    followers: dict[int, list[int]] = defaultdict(list)
    has_cause: set[int] = set()
    for index, (_, resource) in enumerate(found):
        cause = by_name.get(resource.follows) if resource.follows else None
        if cause is not None and cause != index:
            followers[cause].append(index)
            has_cause.add(index)
    seen: set[int] = set()
    # What follows itself by a detour has no first: the tree begins at the one that is met first.
    starts = [index for index in followers if index not in has_cause] + sorted(has_cause)
    return tuple(Row(depth, *found[index]) for start in starts for depth, index in _walk(start, followers, seen))


def _walk(start: int, followers: dict[int, list[int]], seen: set[int]) -> Iterator[tuple[int, int]]:
    waiting = [(0, start)]
    while waiting:
        depth, index = waiting.pop()
        if index in seen:
            continue
        seen.add(index)
        yield depth, index
        waiting += [(min(depth + 1, DEEPEST), each) for each in reversed(followers.get(index, ()))]
