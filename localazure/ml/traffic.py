"""Chooses which deployment of an endpoint gets a request, and whether the request is mirrored, both by percentages.

Of each hundred requests a deployment gets exactly its percentage, in random order. The service instead chooses at random for each
request, so that its shares are approximate.
"""

import random
from collections.abc import Iterable, Mapping

WHOLE = 100


class Deck:
    """A shuffled deck of a hundred cards, with as many of each name as its percentage; shuffled again when all are dealt."""

    def __init__(self, weights: Mapping[str, int], chance: random.Random) -> None:
        named = [name for name, weight in weights.items() for _ in range(weight)]
        self._cards = named + [""] * (WHOLE - len(named))
        self._chance = chance
        self._left: list[str] = []

    def deal(self) -> str:
        """The name on the next card; "" on the cards that are left where the percentages add up to less than a hundred."""
        if not self._left:
            self._left = list(self._cards)
            self._chance.shuffle(self._left)
        return self._left.pop()


def shares(given: Mapping[str, int] | None, names: Iterable[str]) -> dict[str, int]:
    """An endpoint's percentages that are above 0, with each deployment's name spelt as in `names`."""
    spelt = {name.lower(): name for name in names}
    found = {spelt.get(name.lower(), name): weight for name, weight in (given or {}).items()}
    return {name: weight for name, weight in found.items() if weight > 0}
