"""`docs/results.md`: a section for each bench, between markers, that the bench writes anew.

In: a section's name, its title and its lines of Markdown. Out: the page with this section in place of its earlier one; the other
sections stay as they are. The date, the hardware and the versions are part of a section, because each is measured when it is.
Needs nothing but Python, since a machine with a GPU may have nothing else.
"""

import os
import platform
import re
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

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


def hold(what: str, value: float, most: float, say: "partial[None]") -> bool:
    """Says a figure with its limit, and returns whether it is within."""
    holds = value <= most
    say(f"{what}: {value:.4g}, limit {most:g}: {'holds' if holds else 'FELL SHORT'}")
    return holds
