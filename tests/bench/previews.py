"""How long `pulumi preview` takes for many container groups, through the component and without it.

All measurements of one run alternate, in another order each round, so that what the machine does meanwhile meets each of them
alike; ratios are of medians. A first preview, which finds cold caches, isn't counted.
"""

import statistics
import subprocess
import sys
import time
from pathlib import Path

import yaml

from tests.bench.results import Bench, Limit, spread, succeeded
from tests.support.embedded import CHECKOUT, ServedAzure
from tests.support.stack import connected_environment, connection_keys

COMPONENT_TO_BARE, PER_RESOURCE_LARGE_TO_SMALL = Limit("at most", 1.15), Limit("at most", 1.1)
SHAPES = ("component", "bare", "flat")
PROGRAM = CHECKOUT / "tests" / "bench" / "program"
LIMIT_SECONDS = 600


def built(*what: str) -> Path:
    """The folder of what `engine/build.py` has built: the engine, or what is named."""
    command = [sys.executable, "engine/build.py", *what]
    return Path(subprocess.run(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=True).stdout.strip())


def measure(bench: Bench, azure: ServedAzure, engine_bin: Path, counts: tuple[int, ...], rounds: int) -> float:
    """Seconds of a preview of the most groups, flat."""
    environment = {**connected_environment(azure, engine_bin), "PYTHONPATH": str(CHECKOUT)}
    seconds: dict[tuple[str, int], list[float]] = {(shape, count): [] for count in counts for shape in SHAPES}
    init = ["pulumi", "stack", "init", "bench", "--no-select"]
    subprocess.run(init, cwd=_copy(azure), env=environment, check=True, capture_output=True)
    _preview(azure, environment, SHAPES[0], min(counts))
    keys = list(seconds)
    for number in range(rounds):
        turn = number % len(keys)
        for shape, count in keys[turn:] + keys[:turn]:
            seconds[shape, count].append(_preview(azure, environment, shape, count))
    bench.figures["preview_seconds"] = {f"{shape}-{count}": each for (shape, count), each in seconds.items()}
    for (shape, count), each in seconds.items():
        bench.say(f"preview of {count} groups, {shape}: {spread(each)} s, {rounds} runs")
    median = {key: statistics.median(each) for key, each in seconds.items()}
    for count in counts:
        ratio = median["component", count] / median["bare", count]
        bench.hold(f"{count} groups, component to bare component", COMPONENT_TO_BARE, ratio)
        bench.say(f"{count} groups, component to flat resources: {median['component', count] / median['flat', count]:.2f}")
    small, large = min(counts), max(counts)
    if small != large:
        ratio = (median["component", large] / large) / (median["component", small] / small)
        bench.hold(f"time per group, {large} to {small} groups", PER_RESOURCE_LARGE_TO_SMALL, ratio)
    bench.say(f"the engine's own time per resource, flat preview of {large}: {median['flat', large] / large * 1000:.1f} ms")
    return median["flat", large]


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
    words = ["pulumi", "preview", "--stack", "bench", "--non-interactive", "--suppress-progress"]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    spent = time.monotonic() - began
    created = count if shape == "flat" else 2 * count
    if f"+ {created + 1} to create" not in succeeded(done):
        raise RuntimeError(f"the preview of {count} groups, {shape}, didn't go as planned:\n{done.stdout[-3000:]}")
    return spent
