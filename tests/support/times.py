"""A pytest plugin that measures where the time of a test run goes: `make times`, or `-p tests.support.times --times FILE`.

In: the phases of every test, on each of xdist's workers. Out: a report in FILE, of rooms, files and tests, the most expensive
first, and its totals in the terminal.

CPU time is that of the worker and of every process that it started, servers that outlive a test too: they are known by a
variable of their environment or by their parent. What a process used after it was last looked at is lost where nobody waits
for it. Where the system has no /proc, only the worker and the processes that it waited for count.
"""

import os
import resource
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

# What tests start, counted where they start it: "server", "stack brought up", …
STARTED: Counter[str] = Counter()

_MARK = "AZURE_GPU_TIMES_OF"
_PHASES = ("setup", "call", "teardown")
_SHOWN_FILES = 20


@dataclass
class Cost:
    """What one test, file or room took."""

    tests: int = 0
    wall: dict[str, float] = field(default_factory=lambda: dict.fromkeys(_PHASES, 0.0))
    cpu: float = 0.0
    started: Counter[str] = field(default_factory=Counter)
    slow: bool = False

    def add(self, other: "Cost") -> None:
        self.tests += other.tests
        self.cpu += other.cpu
        self.started.update(other.started)
        for phase, seconds in other.wall.items():
            self.wall[phase] += seconds


class Processes:
    """CPU seconds of this process and of all that it started."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        own = uuid.uuid4().hex
        self._mark = f"{_MARK}={own}".encode()
        os.environ[_MARK] = own
        self._ours: dict[tuple[int, int], float] = {}  # process and its start → CPU seconds when last looked at
        self._parents: dict[tuple[int, int], int] = {}
        self._others: set[int] = set()
        self._gone = 0.0  # of processes whose parent never waited for them
        self._tick = os.sysconf("SC_CLK_TCK")

    def cpu(self) -> float:
        """Seconds until now, of those that run and of those that have ended."""
        own, waited = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
        return sum(use.ru_utime + use.ru_stime for use in (own, waited)) + self._running() + self._gone

    def _running(self) -> float:
        if not self._proc.is_dir():
            return 0.0
        there = {int(name) for name in os.listdir(self._proc) if name.isdigit()}  # noqa: PTH208 (many times a second)
        self._others &= there
        found: dict[tuple[int, int], float] = {}
        members = {os.getpid(), *(pid for pid, _ in self._ours)}
        for pid in sorted(there - self._others - {os.getpid()}):
            stat = self._stat(pid)
            if stat is None:
                continue
            parent, start, seconds = stat
            if (pid, start) in self._ours or parent in members or self._marked(pid):
                found[(pid, start)] = seconds
                self._parents[(pid, start)] = parent
                members.add(pid)
            else:
                self._others.add(pid)
        ended = self._ours.keys() - found.keys()
        parents = {pid: self._parents[(pid, start)] for pid, start in self._ours}
        alive = {pid for pid, _ in found}
        for process in ended:
            # What a parent waited for is in the parent's sum; nobody of ours waited for a process of init's.
            if self._is_orphan(self._parents[process], parents, alive):
                self._gone += self._ours[process]
        for process in ended:
            del self._parents[process]
        self._ours = found
        return sum(found.values())

    @staticmethod
    def _is_orphan(parent: int, parents: dict[int, int], alive: set[int]) -> bool:
        """Whether the parents of a process that has ended have ended too, up to one that had none of ours."""
        while parent not in alive and parent in parents:
            parent = parents[parent]
        return parent not in alive and parent != os.getpid()

    def _stat(self, pid: int) -> tuple[int, int, float] | None:
        """Parent, start and CPU seconds, with those of the children that it has waited for."""
        try:
            fields = (self._proc / str(pid) / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        return int(fields[1]), int(fields[19]), sum(int(ticks) for ticks in fields[11:15]) / self._tick

    def _marked(self, pid: int) -> bool:
        try:
            return self._mark in (self._proc / str(pid) / "environ").read_bytes()
        except OSError:
            return False


class Stopwatch:
    """Measures the phases of each test where it runs, and hands them on in its reports."""

    def __init__(self) -> None:
        self.processes = Processes()
        self._cpu, self._started, self._began = 0.0, STARTED.copy(), time.monotonic()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        # What was used since the last test, as by a server that idles, belongs to no test.
        self._cpu, self._started = self.processes.cpu(), STARTED.copy()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Generator[None, Any, Any]:
        report = yield
        cpu, started = self.processes.cpu(), STARTED.copy()
        report.times_cpu = max(cpu - self._cpu, 0.0)
        report.times_started = dict(started - self._started)
        report.times_slow = item.get_closest_marker("slow") is not None
        self._cpu, self._started = cpu, started
        return report

    def pytest_collection_finish(self) -> None:
        self._collected = self.processes.cpu()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["times"] = {"collecting": self._collected, "all": self.processes.cpu()}


class Recorder:
    """Gathers the reports of every worker and writes them when the run ends."""

    def __init__(self, file: Path, stopwatch: Stopwatch) -> None:
        self.file = file
        self._stopwatch = stopwatch
        self._tests: dict[str, Cost] = {}
        self._collecting, self._all, self._began = 0.0, 0.0, time.monotonic()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        cost = self._tests.setdefault(report.nodeid, Cost(tests=1))
        cost.wall[report.when] += report.duration
        cost.cpu += getattr(report, "times_cpu", 0.0)
        cost.started.update(getattr(report, "times_started", {}))
        cost.slow = getattr(report, "times_slow", False)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        told = getattr(node, "workeroutput", {}).get("times", {})
        self._collecting += told.get("collecting", 0.0)
        self._all += told.get("all", 0.0)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self._all:  # no workers
            self._collecting, self._all = self._stopwatch._collected, self._stopwatch.processes.cpu()
        clock = time.monotonic() - self._began
        took = f"{clock:.0f} s on the clock, {self._all:.0f} s of CPU, {self._collecting:.0f} of them to collect"
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(f"{took}\n\n{report(self._tests)}")
        terminalreporter.section("times")
        terminalreporter.write_line(took)
        terminalreporter.write_line(table("room", grouped(self._tests, room)))
        terminalreporter.write_line(table("file", grouped(self._tests, file_of), most=_SHOWN_FILES))
        terminalreporter.write_line(f"every file and test: {self.file}")


def room(test: str) -> str:
    """The room of a test: its folder below tests/."""
    return "/".join(file_of(test).split("/")[:2])


def file_of(test: str) -> str:
    return test.partition("::")[0]


def grouped(tests: dict[str, Cost], key: Any) -> dict[str, Cost]:
    """Sums of the tests with the same key."""
    sums: dict[str, Cost] = defaultdict(Cost)
    for test, cost in tests.items():
        sums[key(test)].add(cost)
    return dict(sums)


def report(tests: dict[str, Cost]) -> str:
    """The whole report: totals, rooms, files, tests."""
    totals = grouped(tests, lambda test: "slow" if tests[test].slow else "not slow") | grouped(tests, lambda _: "all")
    parts = [("total", totals), ("room", grouped(tests, room)), ("file", grouped(tests, file_of)), ("test", tests)]
    return "\n\n".join(table(name, rows) for name, rows in parts) + "\n"


def table(name: str, rows: dict[str, Cost], most: int | None = None) -> str:
    """Columns as wide as they need to be, the row with most CPU time first."""
    lines: list[tuple[str, ...]] = [("CPU s", "wall s", *_PHASES, "tests", name, "started")]
    for key, cost in sorted(rows.items(), key=lambda row: -row[1].cpu)[:most]:
        seconds = (cost.cpu, sum(cost.wall.values()), *cost.wall.values())
        started = ", ".join(f"{what} {count}" for what, count in sorted(cost.started.items()))
        lines.append((*(f"{value:.2f}" for value in seconds), str(cost.tests), key, started))
    return "\n".join(_aligned(lines))


def _aligned(lines: list[tuple[str, ...]]) -> Iterable[str]:
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    for *numbers, name, started in lines:
        right = "  ".join(cell.rjust(width) for cell, width in zip(numbers, widths, strict=False))
        yield f"{right}  {name.ljust(widths[-2]) if started else name}  {started}".rstrip()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--times", metavar="FILE", default="", help="write where the time went to this file")


def pytest_configure(config: pytest.Config) -> None:
    file = config.getoption("times")
    if not file:
        return
    stopwatch = Stopwatch()
    config.pluginmanager.register(stopwatch, "times-stopwatch")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(Path(file), stopwatch), "times-recorder")
