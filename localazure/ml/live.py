"""An endpoint as the router sees it: authorization, deployments, and traffic shares.

Of each hundred requests a deployment gets exactly its percentage, in random order. The service instead chooses at random for
each request, so that its shares are approximate.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from localazure.ml.slots import LiveDeployment

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


@dataclass(slots=True, eq=False)
class LiveEndpoint:
    """One endpoint. `apply` takes what ARM has stored."""

    key: str  # its ARM id in lower case
    name: str
    auth_mode: str = ""
    keys: tuple[bytes, ...] = ()  # with which it may be scored, where the mode is Key
    secret: str = ""  # which signs its own tokens, where the mode is AMLToken
    private: bool = False  # answers through private endpoints alone
    deployments: dict[str, LiveDeployment] = field(default_factory=dict[str, LiveDeployment])  # by name in lower case
    _traffic: Mapping[str, int] = field(default_factory=dict[str, int])
    _mirror: Mapping[str, int] = field(default_factory=dict[str, int])
    _live: Deck | None = None
    _shadow: Deck | None = None

    def share(self, traffic: Mapping[str, int] | None, mirror: Mapping[str, int] | None) -> None:
        """From now on requests are shared so. Requests that are under way stay where they are."""
        new_traffic, new_mirror = (
            {name: weight for name, weight in (given or {}).items() if weight > 0} for given in (traffic, mirror)
        )
        if (new_traffic, new_mirror) == (self._traffic, self._mirror):
            return
        chance = random.SystemRandom()
        self._traffic, self._mirror = new_traffic, new_mirror
        self._live = Deck(new_traffic, chance) if new_traffic else None
        self._shadow = Deck(new_mirror, chance) if new_mirror else None

    def named(self, name: str) -> LiveDeployment | None:
        return self.deployments.get(name.lower())

    def next(self) -> LiveDeployment | None:
        """Where the next request goes. None where no deployment has traffic."""
        return self.named(self._live.deal()) if self._live is not None else None

    def next_shadow(self) -> LiveDeployment | None:
        """Where a copy of the request goes, if anywhere."""
        return self.named(self._shadow.deal()) if self._shadow is not None else None
