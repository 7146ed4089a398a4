"""The bench runs and says its figures; what they have to be is asserted by `make bench` alone, on a quiet machine."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import kubernetes
from tests.support.embedded import CHECKOUT


@pytest.mark.nightly
@pytest.mark.slow
def test_the_bench_measures_every_figure() -> None:
    kubernetes.needed()
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench", "--quick"], cwd=CHECKOUT, capture_output=True, text=True, timeout=890, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    measured = {"azure_cli", "batch_tasks", "catalog", "embedded_azure", "endpoints", "kubernetes_cluster", "languages"}
    assert figures.keys() >= measured | {"preflight", "preview_seconds", "scoring", "warm_up_seconds"}
    assert [path for path, number in _numbers(figures) if not number >= 0] == []


def _numbers(figures: Any, path: str = "") -> Iterator[tuple[str, float]]:
    for key, value in figures.items() if isinstance(figures, dict) else enumerate(figures) if isinstance(figures, list) else ():
        yield from _numbers(value, f"{path}.{key}")
    if isinstance(figures, (int, float)):
        yield path, figures


@pytest.mark.nightly
@pytest.mark.slow
def test_the_bench_of_the_training_measures_both_in_turn() -> None:
    command = [sys.executable, "-m", "tests.bench.mnist", "--quick"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=590, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures.keys() >= {"training", "start", "workers", "peak_memory_mib"}
