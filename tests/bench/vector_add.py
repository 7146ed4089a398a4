"""`make bench-vector-add`: the vector addition on a GPU, as ratios to what the GPU does without it, in turn in one run.

The baselines are a device-to-device copy, the plain addition of CUDA's first sample, and an empty kernel. Bandwidths are those of
BabelStream: 10^9 bytes a second, two vectors for a copy, three for an addition. Writes docs/results.md. Where there is no GPU or
no CUDA compiler, one line says so, and the page stays as it is.

    --elements N,M  vector lengths; default 2^28 and 2^30
    --rounds N      how often each measurement is taken; default 20
    --built         build/ holds the programs: build nothing
    --program PATH  measure with this program and write no page

Ends with exit code 1 where a limit doesn't hold. Needs nothing but Python and a CUDA toolkit.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.bench import results

FOLDER = Path(__file__).parents[2] / "workloads" / "vector_add"
BENCH = FOLDER / "build" / "vector_add_bench"
NO_GPU = 3  # the program's exit code
NO_MEMORY = 2
ADD_TO_COPY = 0.9  # at least
LAUNCH_TO_EMPTY = 2.0  # at most
GPU_FILES = ("/dev/nvidiactl", "/dev/dxg")  # the driver's, on Linux and in Windows' subsystem for it
SECONDS = 300
HEAD = "Median of the rounds, least and most in brackets; GB are 10^9 bytes, and ratios are taken in each round."


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    try:
        program = options.program or _built(options.built)
    except LookupError as missing:
        print(f"bench-vector-add: not measured, docs/results.md stays as it is: {missing}")
        return 0
    body: list[str] = []
    held: list[bool] = []
    versions: dict[str, str] = {}
    for elements in options.elements:
        done = subprocess.run(
            [program, str(elements), str(options.rounds)], capture_output=True, text=True, timeout=SECONDS, check=False
        )
        said = done.stderr.strip().removeprefix("vector_add_bench: ")
        if done.returncode == NO_GPU:
            print(f"bench-vector-add: not measured, docs/results.md stays as it is: {said}")
            return 0
        if done.returncode == NO_MEMORY:
            print(f"{elements} elements: not measured: {said}")
            continue
        if done.returncode != 0:
            print(f"bench-vector-add: {said}", file=sys.stderr)
            return 1
        figures = json.loads(done.stdout)
        versions = {"CUDA": figures["cuda_runtime"], "a driver for CUDA": figures["cuda_driver"]}
        table, holds = _table(figures)
        body += [*table, ""]
        held += holds
        print("\n".join(table))
        if not figures["pinned"]:
            body += ["The host's memory could not be page-locked, and so copies from and to it are slow.", ""]
    if not body:
        return 1
    if options.program is None:
        results.write("vector-add", "Vector addition on a GPU", [HEAD, "", *body[:-1]], versions)
    return 0 if all(held) else 1


def _built(there: bool) -> Path:
    """The program. LookupError says what is missing to build it."""
    if not any(Path(file).exists() for file in GPU_FILES):
        raise LookupError("no GPU: the driver's device files are missing")
    if not there:
        build = FOLDER / "build"
        configure = ["cmake", "-S", FOLDER, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CUDA_ARCHITECTURES=native"]
        subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["cmake", "--build", build, "--parallel"], check=True, stdout=subprocess.DEVNULL)
    if not BENCH.exists():
        raise LookupError("no CUDA compiler: nvcc is neither on PATH nor in CUDACXX")
    return BENCH


def _table(figures: dict[str, Any]) -> tuple[list[str], list[bool]]:
    """The figures of one length as Markdown, and which limits hold."""
    rounds: dict[str, list[float]] = figures["rounds"]

    def ratio(above: str, below: str) -> list[float]:
        return [a / b for a, b in zip(rounds[above], rounds[below], strict=True)]

    to_copy = ratio("add_gb_per_s", "copy_gb_per_s")
    to_empty = ratio("add_launch_us", "empty_launch_us")
    holds = [statistics.median(to_copy) >= ADD_TO_COPY, statistics.median(to_empty) <= LAUNCH_TO_EMPTY]
    rows = [
        ("copy on the device, GB/s", results.spread(rounds["copy_gb_per_s"]), ""),
        ("plain addition, GB/s", results.spread(rounds["plain_gb_per_s"]), ""),
        ("addition, GB/s", results.spread(rounds["add_gb_per_s"]), ""),
        ("addition to copy", results.spread(to_copy), f"at least {ADD_TO_COPY}: {_word(holds[0])}"),
        ("addition to plain addition", results.spread(ratio("add_gb_per_s", "plain_gb_per_s")), ""),
        ("host to device, GB/s", results.spread(rounds["to_device_gb_per_s"]), ""),
        ("device to host, GB/s", results.spread(rounds["from_device_gb_per_s"]), ""),
        ("launch of an empty kernel, one of 200 in a row, µs", results.spread(rounds["empty_launch_us"]), ""),
        ("addition of 50000 elements, likewise, µs", results.spread(rounds["add_launch_us"]), ""),
        (
            "addition of 50000 elements to an empty kernel",
            results.spread(to_empty),
            f"at most {LAUNCH_TO_EMPTY}: {_word(holds[1])}",
        ),
    ]
    return results.table((f"{figures['elements']} elements, {len(to_copy)} rounds", "median", "limit"), rows), holds


def _word(holds: bool) -> str:
    return "holds" if holds else "FELL SHORT"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-vector-add")
    lengths = (1 << 28, 1 << 30)
    parser.add_argument("--elements", type=lambda text: tuple(int(each) for each in text.split(",")), default=lengths)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--built", action="store_true")
    parser.add_argument("--program", type=Path)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
