"""An endpoint as the router sees it: authorization, deployments, and traffic shares."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from localazure.ml.slots import LiveDeployment
from localazure.ml.traffic import Deck, shares


@dataclass(slots=True, eq=False)
class LiveEndpoint:
    """One endpoint. `apply` takes what ARM has stored."""

    key: str  # its ARM id in lower case
    name: str
    auth_mode: str = ""
    keys: tuple[bytes, ...] = ()  # with which it may be scored, where the mode is Key
    secret: str = ""  # which signs its own tokens, where the mode is AMLToken
    kubernetes: bool = False
    private: bool = False  # answers through private endpoints alone
    deployments: dict[str, LiveDeployment] = field(default_factory=dict[str, LiveDeployment])  # by name in lower case
    _traffic: Mapping[str, int] = field(default_factory=dict[str, int])
    _mirror: Mapping[str, int] = field(default_factory=dict[str, int])
    _live: Deck | None = None
    _shadow: Deck | None = None

    def share(self, traffic: Mapping[str, int] | None, mirror: Mapping[str, int] | None) -> None:
        """From now on requests are shared so. Requests that are under way stay where they are."""
        names = [each.name for each in self.deployments.values()]
        new_traffic, new_mirror = shares(traffic, names), shares(mirror, names)
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
