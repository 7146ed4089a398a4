"""Chooses the deployment of a request: by the weights of an endpoint's traffic, and the share of it that is mirrored.

The weights are percentages by name. Each hundred requests hold exactly the shares that were requested, in an order that nobody
can foretell; the service draws each request again.
"""

import random
from collections.abc import Iterable, Mapping

WHOLE = 100


class Deck:
    """A hundred cards, as many of each name as its percentage; dealt to the end, then shuffled again."""

    def __init__(self, weights: Mapping[str, int], chance: random.Random) -> None:
        named = [name for name, weight in weights.items() for _ in range(weight)]
        self._cards = named + [""] * (WHOLE - len(named))
        self._chance = chance
        self._left: list[str] = []

    def deal(self) -> str:
        """A name; "" where the percentages leave this request out."""
        if not self._left:
            self._left = list(self._cards)
            self._chance.shuffle(self._left)
        return self._left.pop()


def shares(given: Mapping[str, int] | None, names: Iterable[str]) -> dict[str, int]:
    """Those of an endpoint's percentages that are above 0, under the names as the deployments spell them."""
    spelt = {name.lower(): name for name in names}
    found = {spelt.get(name.lower(), name): weight for name, weight in (given or {}).items()}
    return {name: weight for name, weight in found.items() if weight > 0}
