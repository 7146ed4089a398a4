"""One life of a stack on an embedded Azure of its own: up, changed, down, with whatever goes wrong in between.

In: a scenario, and what disturbs each part of the life. Out: for each part how often its command was needed, and what was lost:
every difference from a calm life of the same stack, and every message that no user is to see.
"""

import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from tests.faults.looking import Looks, in_azure, looks, processes, steps_of, traces, unfinished
from tests.faults.scenarios import Scenario
from tests.support.embedded import ServedAzure, kubernetes_programs
from tests.support.patience import SECONDS
from tests.support.stack import ProgramStack

ENGINE = ("pulumi",)  # in the command line of all that the engine is and starts
_MOST_RUNS = 4  # of one command, beyond the faults that each may end one
_TOLD = 1500  # characters of what a command said


class Part(StrEnum):
    """A part of a stack's life, by what the user does."""

    UP = "up"
    CHANGE = "change"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Calm:
    """A life that nothing disturbs: what there is after each part, what a refresh then shows, and how long each part takes."""

    looks: dict[Part, Looks]
    refreshed: dict[Part, list[str]]
    seconds: dict[Part, float]
    state_bytes: int = 0  # of the engine's state file


@dataclass(slots=True)
class Outcome:
    """What became of one part."""

    runs: int = 1
    lost: list[str] = field(default_factory=list)
    said: str = ""


class Life:
    """`folder`: an empty one of the life's own. `warm`: what the engine starts is forked, and can't be killed."""

    def __init__(self, scenario: Scenario, folder: Path, engine_bin: Path, *, warm: bool = True) -> None:
        self.scenario = scenario
        self.folder = folder
        self.azure = ServedAzure(folder / "azure")
        configuration = scenario.configuration(self.azure)
        self.stack = ProgramStack(self.azure, scenario.stack, configuration, engine_bin=engine_bin, warm=warm)
        if programs := kubernetes_programs():
            self.stack.environment["PATH"] = f"{programs}:{self.stack.environment['PATH']}"
        self.before = in_azure(self.azure.state)

    def faults(self, method: str, body: Any = None) -> list[dict[str, Any]]:
        """The control path of faults: PUT one, GET those that are left, DELETE all."""
        token = {"Authorization": f"Bearer {self.azure.admin_token}"}
        answer = self.azure.client.request(method, "/local/faults", headers=token, json=body)
        assert answer.status_code == 200, answer.text
        return answer.json().get("value", [])

    def begin(self, part: Part) -> list[str]:
        """The command line of a part; the stack's file then says what it is to be."""
        if part is Part.CHANGE:
            self.stack.configure(self.scenario.changed(self.azure))
        return ["down", "--yes"] if part is Part.DOWN else ["up"]

    def run(self, part: Part) -> "subprocess.CompletedProcess[str]":
        return self.stack.operations(*self.begin(part))

    def converge(self, part: Part, outcome: Outcome, most: int) -> bool:
        """Runs the part's command until it goes through, as its user does."""
        for _ in range(most):
            if self.heard(self.run(part), outcome):
                return True
            outcome.runs += 1
        outcome.lost.append(f"`{part}` doesn't converge within {most} runs: {_last(outcome.said)}")
        return False

    def heard(self, done: "subprocess.CompletedProcess[str]", outcome: Outcome) -> bool:
        """Whether a command went through. What it said is judged."""
        outcome.said = done.stdout + done.stderr
        outcome.lost += [f"a user sees a trace: {each}" for each in traces(outcome.said)]
        if done.returncode != 0 and not outcome.said.strip():
            outcome.lost.append(f"it ended with {done.returncode} and said nothing")
        return done.returncode == 0

    def judge(self, part: Part, calm: Calm) -> list[str]:
        """What is lost after a part that has gone through."""
        if part is Part.DOWN:
            gone = [
                f"left in Azure: {each} ({state})"
                for each, state in in_azure(self.azure.state)
                if (each, state) not in self.before
            ]
            stacks = [f"left in the backend: {name}" for name in self.stack.names()]
            return [*gone, *stacks, *self.running(ENGINE)]
        deployment = self.stack.exported()
        found = [*unfinished(self.azure.state, deployment), *looks(self.azure.state, deployment).problems(calm.looks[part])]
        found += [f"a second preview would {step}" for step in self.steps()]
        further = [step for step in self.steps("--refresh") if step not in calm.refreshed[part]]
        return [*found, *(f"a preview with a refresh would {step}" for step in further), *self.running(ENGINE)]

    def steps(self, *options: str) -> list[str]:
        done = self.stack.pulumi("preview", "--json", *options)
        return steps_of(done.stdout) if done.returncode == 0 else [f"fail: {_last(done.stdout + done.stderr)}"]

    def running(self, names: Sequence[str] = ("",)) -> list[str]:
        """Processes that have outlived what needs them."""
        end = time.monotonic() + SECONDS
        while (left := processes(self.azure.state, names)) and time.monotonic() < end:
            time.sleep(0.2)
        return [f"a process is left: {each.command[:200]}" for each in left]

    def end(self) -> list[str]:
        """Stops the embedded Azure. What is left of it."""
        self.azure.stop()
        return self.running()


def _last(said: str) -> str:
    """The errors among what a command said, else its last lines."""
    lines = [" ".join(line.split()) for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return " / ".join((errors or lines)[-6:])[-_TOLD:]


@contextmanager
def life(scenario: Scenario, folder: Path, engine_bin: Path, *, warm: bool = True) -> Iterator[Life]:
    """A life in a folder that goes with it. What still runs where it was broken off is ended."""
    folder.mkdir(parents=True)
    lived = Life(scenario, folder, engine_bin, warm=warm)
    try:
        yield lived
    finally:
        for each in processes(lived.azure.state):
            _kill(each.pid)
        shutil.rmtree(folder, ignore_errors=True)


def _kill(pid: int) -> None:
    subprocess.run(["kill", "-9", str(pid)], check=False, capture_output=True)


class Disturbance(Protocol):
    """What goes wrong in a part of a life."""

    def strike(self, one: Life, part: Part, outcome: Outcome) -> bool:
        """Runs the part's command once while it goes wrong. Whether the command went through."""
        ...

    def lift(self, one: Life) -> None:
        """Ends it, once the part has gone through."""
        ...


def lived(one: Life, calm: Calm, disturbed: Mapping[Part, Disturbance], most: int = 0) -> dict[Part, Outcome]:
    """The whole life, of which each part that is disturbed is judged, and the end in any case. `most`: how often something may go
    wrong in a part."""
    found: dict[Part, Outcome] = {}
    for part in Part:
        outcome = found[part] = Outcome()
        disturbance = disturbed.get(part)
        went = disturbance is not None and disturbance.strike(one, part, outcome)
        if disturbance is not None and not went:
            outcome.runs += 1
        went = went or one.converge(part, outcome, most + _MOST_RUNS)
        if disturbance is not None:
            disturbance.lift(one)
        if went and (disturbance is not None or part is Part.DOWN):
            outcome.lost += one.judge(part, calm)
        if not went:
            break
    else:
        found[Part.DOWN].lost += one.end()
    return found
