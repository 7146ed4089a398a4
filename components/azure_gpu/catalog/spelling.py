"""Finds the known names that a misspelt name may mean. All names have the same letter case."""

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str], most: int, similarity: float = 0.6) -> tuple[str, ...]:
    """At most `most` of the known names. `similarity` is between 0, which every name has, and 1, which only the same name has."""
    import difflib  # here, because most programs hold no misspelt name, and every program waits for what loads with the catalog

    return tuple(difflib.get_close_matches(name, known, n=most, cutoff=similarity))


def slips(name: str, known: Iterable[str]) -> list[str]:
    """The known names from which this one differs by one or two slips, other than in its digits alone, nearest first."""
    words = {each: each.rstrip("0123456789") for each in known}
    if name.rstrip("0123456789") in words.values():
        return []
    close = sorted((_slips(name, each), each) for each in words if abs(len(name) - len(each)) <= 2)
    return [each for many, each in close if many <= 2]


def _slips(name: str, meant: str) -> int:
    """How many letters are to be added, left out, changed, or swapped with their neighbour."""
    rows = [list(range(len(meant) + 1))]
    for at, letter in enumerate(name, 1):
        row = [at]
        for other, wanted in enumerate(meant, 1):
            least = min(rows[-1][other] + 1, row[-1] + 1, rows[-1][other - 1] + (letter != wanted))
            if at > 1 and other > 1 and letter == meant[other - 2] and name[at - 2] == wanted:
                least = min(least, rows[-2][other - 2] + 1)
            row.append(least)
        rows.append(row)
    return rows[-1][-1]


def is_misspelling(name: str, meant: str) -> bool:
    """Whether the names differ by one added, missing or wrong letter, or by two swapped ones."""
    pairs = enumerate(zip(name, meant, strict=False))
    start = next((at for at, (one, other) in pairs if one != other), min(len(name), len(meant)))
    left, right = name[start:], meant[start:]
    while left and right and left[-1] == right[-1]:
        left, right = left[:-1], right[:-1]
    return max(len(left), len(right)) <= 1 or (len(left) == 2 and left == right[::-1])
