"""What goes wrong around a stack: no room on the disk, a clock that is wrong, and no capacity for a machine.

A full disk is a limit on the size of files (RLIMIT_FSIZE), which takes no right of an administrator: a write beyond it fails with
EFBIG where one on a full disk fails with ENOSPC. It is set on the engine with all that it starts, so that a state can't be
written any more, or on the embedded Azure while it runs, so that its store can't. The clock is the embedded Azure's own, by its
fault `clock`. Without capacity the first `up` fails at the machine, whose interface Azure then keeps reserved: `down` has to go
through at once, and the next `up` begins anew.
"""

import random
import resource
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import cycle

from localazure.folder import LocalFolder
from tests.faults.lives import Calm, Life, Outcome, Part, lived
from tests.faults.scenarios import LITE, MACHINES, Scenario
from tests.support.embedded import CHECKOUT
from tests.support.patience import SECONDS

_UNLIMITED = resource.RLIM_INFINITY


class Trouble(StrEnum):
    ENGINE_DISK = "no room for the engine's state"
    AZURE_DISK = "no room for the embedded Azure's store"
    CLOCK = "clock of the embedded Azure moved"
    CAPACITY = "no capacity, and down at once"


@dataclass(frozen=True, slots=True)
class Troubled:
    """One trouble. `share`: of the state's size, or of how long a calm part takes; `days`: how far the clock is moved."""

    scenario: Scenario
    trouble: Trouble
    part: Part
    share: float
    days: int

    def __str__(self) -> str:
        return f"{self.trouble} at {self.share:.0%} of `{self.part}` of {self.scenario.name}"


def drawn(number: int, chance: random.Random) -> list[list[Troubled]]:
    """By lives, each of one trouble in each of its parts."""
    lives: list[list[Troubled]] = []
    stacks = cycle((MACHINES, LITE))
    for trouble in cycle(Trouble):
        left = number - sum(map(len, lives))
        if left <= 0:
            return lives
        scenario = MACHINES if trouble is Trouble.CAPACITY else next(stacks)
        parts = [Part.UP] if trouble is Trouble.CAPACITY else list(Part)[:left]
        lives.append([Troubled(scenario, trouble, part, chance.random(), chance.choice((-400, -2, 2, 400))) for part in parts])
    raise AssertionError("a cycle ends never")


@dataclass(slots=True)
class InTrouble:
    """The disturbance."""

    troubled: Troubled
    calm: Calm
    met: list[Troubled] = field(default_factory=list)

    def strike(self, one: Life, part: Part, outcome: Outcome) -> bool:
        if self.troubled.trouble is Trouble.CAPACITY:
            return self._without_capacity(one, part, outcome)
        words = one.begin(part)
        if self.troubled.trouble is Trouble.ENGINE_DISK:
            went = one.heard(self._limited(one, words), outcome)
            self.met += [] if went else [self.troubled]
            return went
        later = threading.Timer(self.troubled.share * self.calm.seconds[part], self._begin, (one,))
        later.start()
        try:
            return one.heard(one.stack.operations(*words), outcome)
        finally:
            later.cancel()
            later.join()
            if self.troubled.trouble is Trouble.AZURE_DISK:
                _limit(one.azure.pid, _UNLIMITED)

    def _without_capacity(self, one: Life, part: Part, outcome: Outcome) -> bool:
        one.faults("PUT", {"kind": "weather", "name": "reserved-interfaces", "seconds": 20})
        one.faults("PUT", {"kind": "capacity", "location": "eastus"})
        if one.heard(one.run(part), outcome):
            return True
        if not one.heard(one.run(Part.DOWN), outcome):
            outcome.lost.append(f"`down` after an `up` that found no capacity: {outcome.said}")
        if "trying again until" in outcome.said:
            self.met.append(self.troubled)
        outcome.lost += one.judge(Part.DOWN, self.calm)
        one.faults("DELETE")
        return False

    def _begin(self, one: Life) -> None:
        self.met.append(self.troubled)
        if self.troubled.trouble is Trouble.CLOCK:
            day = datetime.now(UTC).date() + timedelta(days=self.troubled.days)
            one.faults("PUT", {"kind": "clock", "date": day.isoformat()})
            return
        database = LocalFolder(one.azure.state).database
        files = (database, database.with_name(f"{database.name}-wal"))
        _limit(one.azure.pid, max(file.stat().st_size for file in files if file.exists()))

    def lift(self, one: Life) -> None:
        if self.troubled.trouble is Trouble.CLOCK:
            one.faults("DELETE")

    def _limited(self, one: Life, words: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        """The command with a limit below the size that its state will have."""
        most = int(self.calm.state_bytes * self.troubled.share)
        return subprocess.run(
            one.stack.line(*words),
            cwd=CHECKOUT,
            env=one.stack.environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, _UNLIMITED)),
            restore_signals=False,  # SIGXFSZ stays ignored, as Python has it: a write fails, and ends nobody
        )


def _limit(pid: int, size: int) -> None:
    """Of files that a running process writes. Linux alone."""
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, _UNLIMITED))


@dataclass(frozen=True, slots=True)
class Result:
    """One trouble that came: how often the command ran, and what was lost."""

    troubled: Troubled
    runs: int
    lost: tuple[str, ...]


def live(one: Life, calm: Calm, troubled: Sequence[Troubled]) -> list[Result]:
    """A life with troubles. What became of each; those that came too late aren't among them."""
    disturbed = {each.part: InTrouble(each, calm) for each in troubled}
    outcomes = lived(one, calm, disturbed)
    beside = [f"in `{part}`: {line}" for part, outcome in outcomes.items() if part not in disturbed for line in outcome.lost]
    return [
        Result(each.troubled, outcomes[part].runs, (*outcomes[part].lost, *beside))
        for part, each in disturbed.items()
        if part in outcomes and (each.met or outcomes[part].lost)
    ]
