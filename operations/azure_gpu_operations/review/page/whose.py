"""Which part a path of the stack file belongs to, and what the page calls a part."""

from collections.abc import Sequence

from azure_gpu_operations.review.model import Part


def label(part: Part) -> str:
    """A part's label for filters: its path, if it has one."""
    return part.path or f"{part.component} {part.name}"


def part_of(path: str, parts: Sequence[Part]) -> str:
    """The label of the part whose path this one begins with; the path itself where none does."""
    paths = [each.path for each in parts if each.path and f"{path}.".startswith(f"{each.path}.")]
    return max(paths, key=len, default=path)
