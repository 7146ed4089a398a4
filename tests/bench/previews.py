"""How long `pulumi preview` takes for many container groups, through the component and without it.

All measurements of one run alternate, in another order each round, so that what the machine does meanwhile meets each of them
alike; ratios are of medians. A first preview, which finds cold caches, isn't counted.
"""

import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.support.embedded import CHECKOUT, ServedAzure
from tests.support.stack import connected_environment, connection_keys

SHAPES = ("component", "bare", "flat")
PROGRAM = CHECKOUT / "tests" / "bench" / "program"
LIMIT_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of each run of one shape and count."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def __str__(self) -> str:
        return f"{self.median:.2f} s ({min(self.seconds):.2f} to {max(self.seconds):.2f}, {len(self.seconds)} runs)"


def measure(
    azure: ServedAzure, engine_bin: Path, counts: tuple[int, ...], rounds: int, say: Callable[[str], None]
) -> dict[tuple[str, int], Times]:
    """Times by shape and count."""
    environment = {**connected_environment(azure, engine_bin), "PYTHONPATH": str(CHECKOUT)}
    seconds: dict[tuple[str, int], list[float]] = {(shape, count): [] for count in counts for shape in SHAPES}
    subprocess.run(
        ["pulumi", "stack", "init", "bench", "--no-select"], cwd=_copy(azure), env=environment, check=True, capture_output=True
    )
    _preview(azure, environment, SHAPES[0], min(counts))
    keys = list(seconds)
    for number in range(rounds):
        turn = number % len(keys)
        for shape, count in keys[turn:] + keys[:turn]:
            spent = _preview(azure, environment, shape, count)
            seconds[shape, count].append(spent)
            say(f"round {number + 1} of {rounds}: {count} groups, {shape}: {spent:.2f} s")
    return {key: Times(tuple(values)) for key, values in seconds.items()}


def _copy(azure: ServedAzure) -> Path:
    """The program in a folder of its own: the engine writes the stack's file beside it."""
    folder = azure.state / "bench-program"
    folder.mkdir(exist_ok=True)
    for name in ("Pulumi.yaml", "__main__.py"):
        (folder / name).write_text((PROGRAM / name).read_text())
    return folder


def _preview(azure: ServedAzure, environment: dict[str, str], shape: str, count: int) -> float:
    folder = _copy(azure)
    file = folder / "Pulumi.bench.yaml"
    keys = {"azure-gpu-bench:shape": shape, "azure-gpu-bench:count": str(count), **connection_keys(azure)}
    file.write_text(yaml.safe_dump({**yaml.load(file.read_text(), yaml.CSafeLoader), "config": keys}))
    began = time.monotonic()
    done = subprocess.run(
        ["pulumi", "preview", "--stack", "bench", "--non-interactive", "--suppress-progress"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    spent = time.monotonic() - began
    created = count if shape == "flat" else 2 * count
    if done.returncode != 0 or f"+ {created + 1} to create" not in done.stdout:
        raise RuntimeError(
            f"the preview of {count} groups, {shape}, didn't go as planned:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        )
    return spent
