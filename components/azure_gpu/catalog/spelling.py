"""Finds the known names that a misspelt name may mean. All names have the same letter case."""

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str], most: int, similarity: float = 0.6) -> tuple[str, ...]:
    """At most `most` of the known names. `similarity` is between 0, which every name has, and 1, which only the same name has."""
    import difflib  # here, because most programs hold no misspelt name, and every program waits for what loads with the catalog

    return tuple(difflib.get_close_matches(name, known, n=most, cutoff=similarity))


def is_misspelling(name: str, meant: str) -> bool:
    """Whether the names differ by one added, missing or wrong letter, or by two swapped ones."""
    pairs = enumerate(zip(name, meant, strict=False))
    start = next((at for at, (one, other) in pairs if one != other), min(len(name), len(meant)))
    left, right = name[start:], meant[start:]
    while left and right and left[-1] == right[-1]:
        left, right = left[:-1], right[:-1]
    return max(len(left), len(right)) <= 1 or (len(left) == 2 and left == right[::-1])
