"""`make faults`: stacks come up, change and go down while requests fail, processes are killed, disks are full, clocks are wrong.

    --seed N           another campaign; it is printed
    --faults N         requests that fail, in 8 ways; default 200
    --kills N          default 50
    --troubles N       full disks, moved clocks and no capacity; default 12
    --inputs N         stack files that are made up, and as many broken ones; default 10000
    --only NAME        of faults, kills, troubles and inputs: these alone; may be repeated
    --report FILE      the page that the run is written into

Ends with 1 where something was lost, and with 2 where it can't begin.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from tests.faults import any_input, killing, report, requests_failing, surroundings_failing
from tests.faults.lives import Calm, life
from tests.faults.report import Campaign, Row
from tests.faults.requests import Request, found
from tests.faults.requests_failing import Failing
from tests.faults.scenarios import ALL, Scenario
from tests.support import warm_python
from tests.support.embedded import CHECKOUT, kubernetes_programs

GB = 1024**3
NEEDED_BYTES = 4 * GB  # of all lives that are lived at a time, with images that are built
PARTS = ("faults", "kills", "troubles", "inputs")
T = TypeVar("T")


class Run:
    """One campaign. `say` shows a line of it."""

    def __init__(self, campaign: Campaign, folder: Path, engine_bin: Path, say: Callable[[str], None], jobs: int) -> None:
        self.campaign = campaign
        self.folder = folder
        self.engine_bin = engine_bin
        self.say = say
        self.jobs = jobs
        self.known: dict[Scenario, tuple[list[Request], Calm]] = {}

    def look(self, scenarios: Sequence[Scenario]) -> None:
        """Lives calm lives: which requests there are, and what is right."""
        warm_python.python()  # before threads ask for it
        self.each(scenarios, self._look)

    def _look(self, scenario: Scenario) -> None:
        self.known[scenario] = found(scenario, self.folder / f"calm-{scenario.name}", self.engine_bin)
        self.say(f"calm: {scenario.name}, {len(self.known[scenario][0])} requests")

    def faults(self, number: int) -> None:
        drawn = requests_failing.drawn({each: sent for each, (sent, _) in self.known.items()}, number, self._chance("faults"))
        missed = self._fail(requests_failing.shared(drawn))
        # What nothing ran into may be met where nothing else is in its way.
        self.campaign.missed += [str(each) for each in self._fail([[each] for each in missed])]

    def _fail(self, lives: list[list[Failing]]) -> list[Failing]:
        missed: list[Failing] = []

        def live(failing: list[Failing]) -> None:
            results, left = self._fail_once(failing)
            missed.extend(left)
            if len(failing) > 1 and any(each.lost for each in results):
                # Each alone, for which of them loses something. Those that lose together only keep what was lost.
                again = [each for one in results if one.lost for each in self._fail_once([one.failing])[0]]
                if any(each.lost for each in again):
                    results = [*(each for each in results if not each.lost), *again]
            self.campaign.rows += [_row(each) for each in results]

        self.each(lives, live)
        return missed

    def _fail_once(self, failing: list[Failing]) -> tuple[list[requests_failing.Result], list[Failing]]:
        scenario = failing[0].scenario
        with life(scenario, self._next(), self.engine_bin) as one:
            results, left = requests_failing.live(one, self.known[scenario][1], failing)
        self._told(f"{failing[0].kind}, {scenario.name}, {len(failing)} faults", [line for each in results for line in each.lost])
        return results, left

    def kills(self, number: int) -> None:
        chance = self._chance("kills")
        before = len(self.campaign.rows)
        for _ in range(3):  # those that came too late are made up for
            if left := number - (len(self.campaign.rows) - before):
                self.each(killing.drawn(left, chance), self.kill)

    def kill(self, killings: Sequence[killing.Killing]) -> None:
        """One life with kills."""
        scenario = killings[0].scenario
        warm = all(each.victim in killing.APART for each in killings)
        with life(scenario, self._next(), self.engine_bin, warm=warm) as one:
            results, late = killing.live(one, self.known[scenario][1], killings)
        self._told(f"{killings[0].victim} killed, {scenario.name}", [line for each in results for line in each.lost])
        self.campaign.missed += map(str, late)
        self.campaign.rows += [
            Row("Killed", each.killing.victim, f"`{each.killing.part}`", "", str(each.killing), each.runs, each.lost)
            for each in results
        ]

    def troubles(self, number: int) -> None:
        def live(troubled: list[surroundings_failing.Troubled]) -> None:
            scenario = troubled[0].scenario
            with life(scenario, self._next(), self.engine_bin) as one:
                results = surroundings_failing.live(one, self.known[scenario][1], troubled)
            self._told(f"{troubled[0].trouble}, {scenario.name}", [line for each in results for line in each.lost])
            self.campaign.rows += [
                Row(
                    "Disks, clocks and capacity",
                    each.troubled.trouble,
                    f"`{each.troubled.part}`",
                    "",
                    str(each.troubled),
                    each.runs,
                    each.lost,
                )
                for each in results
            ]

        self.each(surroundings_failing.drawn(number, self._chance("troubles")), live)

    def inputs(self, number: int) -> None:
        numbers: dict[str, int] = {kind: number for kind in any_input.KINDS}
        for _, failed in any_input.run(self.campaign.seed, numbers, self.jobs):
            for each in failed:
                self.campaign.failed.append(f"{each.kind} file {each.number}: {each.why}")
                self.say(self.campaign.failed[-1])
        self.campaign.inputs = numbers

    def each(self, parts: Iterable[T], work: Callable[[T], None]) -> None:
        with ThreadPoolExecutor(self.jobs) as pool:
            for done in [pool.submit(work, each) for each in parts]:
                done.result()

    def _next(self) -> Path:
        return self.folder / str(requests_failing.number())

    def _chance(self, part: str) -> random.Random:
        return random.Random(f"{self.campaign.seed}/{part}")

    def _told(self, what: str, lost: Iterable[str]) -> None:
        self.say(f"{what}: {'; '.join(dict.fromkeys(lost)) or 'nothing lost'}")


def _row(result: requests_failing.Result) -> Row:
    part, method, what = result.failing.request.kind
    is_type = what.startswith("Microsoft.")
    where = f"`{part}`: {method}" if is_type else f"`{part}`: {method} {what.split(' of an operation')[0]}"
    name = what.split(",")[0] if is_type else ""
    return Row("Requests that fail", result.failing.kind, where, name, str(result.failing), result.runs, result.lost)


def refused(folder: Path, *, lives: bool) -> str:
    """Why a campaign can't begin; "" where it can. `lives`: stacks come up in it."""
    free = shutil.disk_usage(folder).free
    if free < NEEDED_BYTES:
        return f"{folder} has {free / GB:.1f} GB free, and a campaign takes up to {NEEDED_BYTES / GB:.0f} GB"
    if lives and kubernetes_programs() is None:
        return "there is no build of Kubernetes' programs; `make kubernetes` makes one"
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--troubles", type=int, default=12)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", action="append", choices=PARTS)
    parser.add_argument("--report", type=Path)
    given = parser.parse_args(arguments)
    chosen = [each for each in given.only or PARTS if getattr(given, each)]
    lives = [each for each in chosen if each != "inputs"]
    if why := refused(Path(tempfile.gettempdir()), lives=bool(lives)):
        print(f"faults: {why}", file=sys.stderr)
        return 2
    began = time.monotonic()

    def say(line: str) -> None:
        print(f"{time.monotonic() - began:5.0f} s  {line}", flush=True)

    say(f"seed {given.seed}")
    campaign = Campaign(given.seed, datetime.now(UTC).date(), cores=given.jobs)
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        engine_bin = Path((CHECKOUT / ".local" / "engine-bin").read_text().strip()) if lives else Path()
        run = Run(campaign, Path(folder), engine_bin, say, given.jobs)
        if "inputs" in chosen:
            run.inputs(given.inputs)
        if lives:
            run.look(ALL)
        for each in lives:
            getattr(run, each)(getattr(given, each))
    campaign.seconds = time.monotonic() - began
    text = report.written(campaign)
    print(f"\n{text}")
    if given.report:
        before = given.report.read_text(encoding="utf-8") if given.report.exists() else ""
        given.report.write_text(report.page(before, campaign), encoding="utf-8")
    return 1 if campaign.lost or campaign.failed else 0


if __name__ == "__main__":
    sys.exit(main())
