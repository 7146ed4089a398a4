"""The bench runs and says its figures; what they have to be is asserted by `make bench` alone, on a quiet machine."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench import results
from tests.support import kubernetes
from tests.support.embedded import CHECKOUT


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_bench_measures_every_figure() -> None:
    kubernetes.needed()
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench", "--quick"], cwd=CHECKOUT, capture_output=True, text=True, timeout=890, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert set(figures["preview_seconds"]) == {f"{shape}-{count}" for shape in ("component", "bare", "flat") for count in (2, 5)}
    assert all(seconds > 0 for runs in figures["preview_seconds"].values() for seconds in runs)
    assert figures["embedded_azure"]["p50_ms"] > 0
    assert figures["embedded_azure"]["resident_mib"] > 10
    assert 0 < figures["warm_up_seconds"]["workloads"] < figures["warm_up_seconds"]["whole"]
    assert figures["catalog"]["checked"] == 5
    assert 0 < figures["catalog"]["load_own_cpu_ms"] < figures["catalog"]["load_cpu_ms"]
    assert 0 < max(figures["catalog"]["service_cpu_ms"].values()) < figures["catalog"]["load_cpu_ms"]
    assert figures["catalog"]["modules_cpu_ms"]["batch"] > figures["catalog"]["service_cpu_ms"]["batch"]
    assert len(figures["azure_cli"]["created"]) == 1
    assert 0 < figures["azure_cli"]["by_hand"][0] < figures["azure_cli"]["created"][0]
    assert min(figures["languages"]["python"] + figures["languages"]["yaml"]) > 0.5
    assert figures["preflight"]["lists"] == 9
    assert figures["preflight"]["slowest_list"] > 0.5
    tasks = figures["batch_tasks"]
    assert tasks["count"] == 20
    assert 0 < tasks["submitted"] < tasks["whole"]
    assert tasks["overhead_ms"] > 0
    assert tasks["xargs_overhead_ms"] > 0
    routed = figures["endpoints"]
    assert 0 < routed["direct_p50"] < routed["routed_p50"]
    assert (routed["requests"], routed["shared"]) == (100, 1000)
    assert routed["answered_under_kill"] > 200
    cluster = figures["kubernetes_cluster"]
    assert (cluster["nodes"], cluster["pods"], len(cluster["first_lines"])) == (2, 8, 1)
    assert 100 < cluster["resident_mib"] < 1536
    assert all(cluster[name] > 0 for name in ("ready", "scheduled", "deleted"))
    scored = figures["scoring"]
    assert all(0 < p50 <= scored["p99_ms"][name][0] for name, (p50,) in scored["p50_ms"].items())
    assert all(images > 0 for each in scored["images_a_second"].values() for images in each)
    assert (scored["requests"], scored["resident_before_mib"] > 100) == (200, True)


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_bench_of_the_training_measures_both_in_turn() -> None:
    command = [sys.executable, "-m", "tests.bench.mnist", "--quick"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=590, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    ((fit, ours),) = figures["training"]["pairs"]
    assert (fit["who"], ours["who"]) == ("fit", "ours")
    assert min(fit["accuracy"], ours["accuracy"]) >= figures["training"]["target"]
    assert len(figures["training"]["sweep"]) == 5
    assert all(each[kind] > 0 for pair in figures["start"] for each in pair for kind in ("wall", "cpu"))
    assert all(each[kind] > 0 for pair in figures["workers"] for each in pair for kind in ("clock", "cpu"))
    assert figures["peak_memory_mib"] < 900


def test_a_section_of_the_results_takes_the_place_of_its_earlier_one(tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    results.write("mnist", "Training", ["first"], {"TensorFlow": "2.21.0"}, page)
    results.write("scoring", "Scoring", ["other"], {}, page)
    results.write("mnist", "Training", results.table(("a", "b"), [(1, results.spread([3, 1, 2]))]), {}, page)
    text = page.read_text()
    assert text.startswith(results.HEAD)
    assert "first" not in text
    assert text.index("## Training") < text.index("| 1 | 2.00 (1.00 to 3.00) |") < text.index("## Scoring") < text.index("other")
    assert text.count("by `make bench-mnist` on ") == 1
