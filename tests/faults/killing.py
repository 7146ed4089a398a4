"""Processes killed at random moments: the engine, its plugins, the embedded Azure, a cluster's control plane.

In: a victim, and for each part of a life when it is killed, as a share of how long a calm part takes. Out: whether it was
hit, and what was lost. What a user would start again by hand is started again: the embedded Azure. All else ends or restarts by
itself.
"""

import os
import random
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import cycle

from tests.faults.lives import Calm, Life, Outcome, Part, lived
from tests.faults.looking import processes
from tests.faults.scenarios import CLUSTER, LITE, MACHINES, Scenario
from tests.support.embedded import CHECKOUT, until
from tests.support.patience import SECONDS

_LOOK_SECONDS = 0.05
_SLOWER = 1.5  # than a calm life whose processes are forked: these are started


class Victim(StrEnum):
    """What is killed, as people read it."""

    ENGINE = "engine"
    COMMAND = "engine and command"
    AZURE_NATIVE = "azure-native plugin"
    KUBERNETES = "kubernetes plugin"
    AZURE = "embedded Azure"
    API_SERVER = "kube-apiserver"
    ETCD = "etcd"


_NAMES = {  # words that a victim's command line has
    Victim.ENGINE: ("pulumi up ", "pulumi destroy "),
    Victim.COMMAND: ("pulumi up ", "pulumi destroy ", "-m operations "),
    Victim.AZURE_NATIVE: ("-m localazure.plugin",),
    Victim.KUBERNETES: ("-m localazure.kubernetes_plugin",),
    Victim.AZURE: (" serve",),
    Victim.API_SERVER: ("kube-apiserver --",),
    Victim.ETCD: ("etcd --",),
}
APART = (Victim.AZURE, Victim.API_SERVER, Victim.ETCD)  # not started by the engine, whose processes may be forked then
_ON_A_CLUSTER = (Victim.KUBERNETES, Victim.API_SERVER, Victim.ETCD)


@dataclass(frozen=True, slots=True)
class Killing:
    """One kill. `share`: of how long a calm part takes, from 0 to 1."""

    scenario: Scenario
    victim: Victim
    part: Part
    share: float

    def __str__(self) -> str:
        return f"{self.victim} killed at {self.share:.0%} of `{self.part}` of {self.scenario.name}"


def drawn(number: int, chance: random.Random) -> list[list[Killing]]:
    """By lives: a victim in each of its parts, each victim as often as the others, or once more."""
    lives: list[list[Killing]] = []
    victims = list(Victim)
    chance.shuffle(victims)
    others = cycle((LITE, MACHINES))
    for victim in cycle(victims):
        left = number - sum(map(len, lives))
        if left <= 0:
            return lives
        scenario = CLUSTER if victim in _ON_A_CLUSTER else next(others)
        parts = chance.sample(list(Part), min(left, len(Part)))
        lives.append([Killing(scenario, victim, part, chance.random()) for part in parts])
    raise AssertionError("a cycle ends never")


@dataclass(slots=True)
class Kill:
    """The disturbance."""

    killing: Killing
    calm_seconds: float
    met: list[Killing] = field(default_factory=list)

    def strike(self, one: Life, part: Part, outcome: Outcome) -> bool:
        words = one.begin(part)
        with (one.folder / "said.txt").open("w+") as said:
            command = subprocess.Popen(one.stack.line(*words), cwd=CHECKOUT, env=one.stack.environment, stdout=said, stderr=said)
            time.sleep(self.killing.share * self.calm_seconds * _SLOWER)
            while command.poll() is None and not self.met:
                if pids := self._pids(one):
                    self._kill(pids)
                else:
                    time.sleep(_LOOK_SECONDS)  # it isn't there yet
            code = command.wait(SECONDS)
            said.seek(0)
            text = said.read()
        if self.met and self.killing.victim is Victim.AZURE:
            one.azure.client.close()
            until(lambda: not processes(one.azure.state, _NAMES[Victim.AZURE]), "the killed server is gone")
            one.azure.start()
        if code == -signal.SIGKILL:
            return False  # the command was killed: it says nothing more
        return one.heard(subprocess.CompletedProcess(words, code, text, ""), outcome)

    def lift(self, one: Life) -> None:
        """Nothing holds."""

    def _pids(self, one: Life) -> list[int]:
        names = _NAMES[self.killing.victim]
        return [each.pid for each in processes(one.azure.state, names) if "/bin/sh" not in each.command]

    def _kill(self, pids: Sequence[int]) -> None:
        for pid in sorted(pids, reverse=True):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            if not self.met:
                self.met.append(self.killing)


@dataclass(frozen=True, slots=True)
class Result:
    """One kill that hit: how often the command ran, and what was lost."""

    killing: Killing
    runs: int
    lost: tuple[str, ...]


def live(one: Life, calm: Calm, killings: Sequence[Killing]) -> tuple[list[Result], list[Killing]]:
    """A life with kills. What became of each, and those that came too late."""
    disturbed = {each.part: Kill(each, calm.seconds[each.part]) for each in killings}
    outcomes = lived(one, calm, disturbed)
    results: list[Result] = []
    beside = [f"in `{part}`: {line}" for part, outcome in outcomes.items() if part not in disturbed for line in outcome.lost]
    for part, kill in disturbed.items():
        if part in outcomes and (kill.met or outcomes[part].lost):
            results.append(Result(kill.killing, outcomes[part].runs, (*outcomes[part].lost, *beside)))
    hit = [each.killing for each in results]
    return results, [each for each in killings if each not in hit]
