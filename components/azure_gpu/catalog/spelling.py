"""Names that a misspelt one may have meant.

In: a name and those that are known, all in one letter case. Out: the nearest of them, best first.
"""

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str], most: int, similarity: float = 0.6) -> tuple[str, ...]:
    """At most `most` of the known names. `similarity` is between 0, which every name has, and 1, which only the same name has."""
    import difflib  # here, because most programs hold no misspelt name, and every program waits for what loads with the catalog

    return tuple(difflib.get_close_matches(name, known, n=most, cutoff=similarity))
