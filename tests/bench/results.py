"""The figures of a bench, held against their limits, and its section of `docs/results.md`, between markers.

A section is written in place of its earlier one; the other sections stay as they are. The date, the hardware and the versions
are part of a section, because each is measured when it is. Needs nothing but Python: a machine with a GPU may have nothing else.
"""

import json
import os
import platform
import re
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

PAGE = Path(__file__).parents[2] / "docs" / "results.md"
QUIET = 0.5  # waiting processes a core
HEAD = """# Results

What the workloads reach beside a baseline that runs in turn with them, in the same run and on the same machine. Each section is
written by the command that it names; ratios are medians with the smallest and the largest of the pairs.
"""


def write(name: str, title: str, body: Sequence[str], versions: Mapping[str, str], page: Path = PAGE) -> None:
    """Replaces the section `name`, or adds it at the end. `body`: lines of Markdown; `versions`: of what was measured."""
    said = ", ".join(f"{what} {version}" for what, version in versions.items())
    head = f"Measured on {datetime.now(UTC):%Y-%m-%d} by `make bench-{name}` on {hardware()}; {said}."
    section = "\n".join([f"<!-- {name} begins -->", f"## {title}", "", head, "", *body, f"<!-- {name} ends -->", ""])
    text = page.read_text(encoding="utf-8") if page.exists() else HEAD
    earlier = re.compile(rf"<!-- {re.escape(name)} begins -->.*?<!-- {re.escape(name)} ends -->\n", re.DOTALL)
    text = earlier.sub(lambda _: section, text) if earlier.search(text) else f"{text.rstrip()}\n\n{section}"
    page.write_text(text, encoding="utf-8")


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines]


def spread(figures: Sequence[float], digits: int = 2) -> str:
    """The median, and the smallest and the largest of several."""
    median, least, most = (f"{each:.{digits}f}" for each in (statistics.median(figures), min(figures), max(figures)))
    return f"{median} ({least} to {most})"


def hardware() -> str:
    """Processor, cores and memory, and the GPU where there is one; no machine's name."""
    try:
        cpu = next(
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
            if line.startswith("model name")
        )
    except (OSError, StopIteration):
        cpu = platform.processor() or platform.machine()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    said = f"{cpu}, {os.cpu_count()} cores, {memory:.0f} GiB"
    asked = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        answer = subprocess.run(asked, capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return said
    return f"{said}; {'; '.join(line.strip() for line in answer.splitlines())}"


def load() -> str:
    """How busy the machine is beside what is measured: waiting processes a core over the last minute."""
    return f"{os.getloadavg()[0] / (os.cpu_count() or 1):.1f}"


def load_sentence(busy: str) -> str:
    """A sentence of the page about what `load` returned before the measurements began."""
    if float(busy) < QUIET:
        return f"Nothing else was running ({busy} waiting processes a core before it began)."
    return (
        f"The machine was busy with other work, {busy} waiting processes a core: ratios by the clock spread, and only those in "
        "processor time are the programs' own."
    )


class Limit(NamedTuple):
    """What a figure is held against."""

    words: str  # at least, at most
    figure: float

    def __str__(self) -> str:
        return f"{self.words} {self.figure:g}"

    def holds(self, value: float) -> bool:
        return value >= self.figure if self.words == "at least" else value <= self.figure


class Bench:
    """One run: its figures are said as they come, held against their limits, and all of them are JSON in its last line.

    `quick`: small numbers, which show that it runs; no limit counts.
    """

    def __init__(self, *, quick: bool) -> None:
        self.quick = quick
        self.figures: dict[str, Any] = {"machine_cores": os.cpu_count(), "load": load()}
        self._held = True

    def say(self, text: str) -> None:
        print(text, flush=True)

    def hold(self, what: str, limit: Limit, *values: float) -> None:
        """`values`: of each round; their median counts."""
        holds = limit.holds(statistics.median(values))
        self._held = self._held and holds
        shown = spread(values) if len(values) > 1 else f"{statistics.median(values):.4g}"
        self.say(f"{what}: {shown}, limit {limit}: {'holds' if holds else 'FELL SHORT'}")

    def end(self) -> int:
        """The exit code."""
        self.say(json.dumps(self.figures))
        return 0 if self._held or self.quick else 1


def resident_mib(*pids: int, children: bool = False) -> float:
    """The memory of processes, or of their children, together."""
    of = ["--ppid" if children else "-p", ",".join(map(str, pids))]
    said = subprocess.run(["ps", "-o", "rss=", *of], capture_output=True, text=True, check=True).stdout
    return sum(int(line) for line in said.split()) / 1024


def succeeded(done: "subprocess.CompletedProcess[str]") -> str:
    """What a command has printed. RuntimeError with the end of it where it failed."""
    if done.returncode:
        raise RuntimeError(f"{done.args}: {done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout
