"""Requests that fail: which of them, in which way, drawn by a seed, and the lives in which they do.

Faults of one kind share a life, each at a request of its own, so that what needed another run is known by its kind. Where a life
loses something, each of its faults is tried again alone.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.faults.lives import Calm, Life, Outcome, Part, lived
from tests.faults.requests import Request
from tests.faults.scenarios import Scenario

# By kind, the fault of the embedded Azure. The provider sends a request four times at most, the first time included: azure-native
# by azcore's default of three retries (its provider/pkg/azure/client_azcore.go leaves MaxRetries as it is), the plugin here as
# azure-core does.
KINDS: dict[str, dict[str, Any]] = {
    "429": {"kind": "throttle", "seconds": 1},
    "409": {"kind": "fail", "status": 409, "code": "Conflict", "message": "The resource is in use by another operation."},
    "500": {"kind": "fail", "status": 500},
    "reset": {"kind": "reset"},
    "timeout": {"kind": "timeout", "seconds": 0.5},
    "lost answer": {"kind": "lose-answer"},
    "409 afterwards": {"kind": "wrong-answer", "status": 409, "code": "Conflict", "message": "An operation is in progress."},
    "accepted": {"kind": "fail-later", "status": 500},
}
_OF_WRITES = ("409 afterwards", "accepted")  # processed: of creates, updates and deletes, and met once
SENT = 4  # a request that keeps failing
_IN_A_LIFE = 8


@dataclass(frozen=True, slots=True)
class Failing:
    """One fault: a request that fails once, or each time that it is sent."""

    scenario: Scenario
    request: Request
    kind: str
    times: int

    @property
    def fault(self) -> dict[str, Any]:
        return self.request.fault(**KINDS[self.kind], count=self.times)

    def __str__(self) -> str:
        part, method, what = self.request.kind
        often = "once" if self.times == 1 else f"{self.times} times"
        return f"{self.kind} {often} at {method} of {what} in `{part}` of {self.scenario.name}"


def drawn(requests: Mapping[Scenario, Iterable[Request]], number: int, chance: random.Random) -> list[Failing]:
    """Each kind of fault, and each kind of request, as often as the others, or once more."""
    places: defaultdict[tuple[str, str, str], list[tuple[Scenario, Request]]] = defaultdict(list)
    for scenario, sent in requests.items():
        for request in sent:
            places[request.kind].append((scenario, request))
    found: list[Failing] = []
    total: Counter[str] = Counter()
    met: Counter[tuple[tuple[str, str, str], str]] = Counter()
    while len(found) < number:
        order = sorted(places)
        chance.shuffle(order)
        for each in order[: number - len(found)]:
            scenario, request = chance.choice(places[each])
            kinds = [kind for kind in KINDS if kind not in _OF_WRITES or request.method in ("PUT", "DELETE")]
            kind = min(kinds, key=lambda kind, each=each: (met[each, kind], total[kind]))
            total[kind] += 1
            met[each, kind] += 1
            found.append(Failing(scenario, request, kind, 1 if kind in ("409", *_OF_WRITES) else chance.choice((1, SENT))))
    return found


def shared(failing: Iterable[Failing]) -> list[list[Failing]]:
    """Those that fail in one life: of one stack and kind, each at another request."""
    lives: list[list[Failing]] = []
    for each in failing:
        fitting = (
            one
            for one in lives
            if len(one) < _IN_A_LIFE
            and (one[0].scenario, one[0].kind) == (each.scenario, each.kind)
            and all(each.request != other.request for other in one)
        )
        one = next(fitting, None)
        if one is None:
            lives.append([each])
        else:
            one.append(each)
    return lives


@dataclass(slots=True)
class Requests:
    """The disturbance: faults that hold in a part until requests have used them up."""

    failing: Sequence[Failing]
    met: list[Failing] = field(default_factory=list)

    def strike(self, one: Life, part: Part, outcome: Outcome) -> bool:
        for each in self.failing:
            one.faults("PUT", each.fault)
        return one.heard(one.run(part), outcome)

    def lift(self, one: Life) -> None:
        left = {(each["method"], each["path"]): each["count"] for each in one.faults("GET")}
        one.faults("DELETE")
        self.met += [each for each in self.failing if left.get((each.request.method, each.request.path), 0) < each.times]


@dataclass(frozen=True, slots=True)
class Result:
    """One fault that was met: how often the command ran that it was met by, and what was lost."""

    failing: Failing
    runs: int
    lost: tuple[str, ...]


def live(one: Life, calm: Calm, failing: Sequence[Failing]) -> tuple[list[Result], list[Failing]]:
    """A life under faults. What became of each, and those that no request ran into."""
    disturbed = {part: Requests([each for each in failing if each.request.part is part]) for part in Part}
    outcomes = lived(one, calm, {part: each for part, each in disturbed.items() if each.failing}, len(failing))
    results = [
        Result(each, outcomes[part].runs, tuple(outcomes[part].lost))
        for part, disturbance in disturbed.items()
        for each in disturbance.met
        if part in outcomes
    ]
    # What a part that nothing disturbs has lost comes from those before.
    beside = [f"in `{part}`: {line}" for part, outcome in outcomes.items() if not disturbed[part].met for line in outcome.lost]
    results = [Result(each.failing, each.runs, (*each.lost, *beside)) for each in results]
    met = {id(each.failing) for each in results}
    return results, [each for each in failing if id(each) not in met]


_numbers = count()


def number() -> int:
    """Of the next life: folders have to differ."""
    return next(_numbers)
