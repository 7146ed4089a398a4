"""How tests are given to workers: files as a whole, what shares a control plane too, and what takes longest first."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.distribution import place_of, unit_of
from tests.support.embedded import CHECKOUT


@pytest.mark.parametrize(
    ("test", "unit"),
    [
        ("tests/stack/test_jobs.py::test_one[a::b]", "tests/stack/test_jobs.py"),
        ("tests/localazure/kubernetes/test_pods_on_nodes.py::test_one", "control plane"),
        ("tests/localazure/kubernetes_plugin/test_kubernetes_plugin_objects.py::test_one", "control plane"),
        ("tests/operations/test_clusters_api.py::test_one", "control plane"),
        ("tests/workloads/test_scoring_server.py::test_one", "models"),
    ],
)
def test_a_file_or_what_shares_more_is_a_unit(test: str, unit: str) -> None:
    assert unit_of(test) == unit


def test_what_takes_longest_comes_first() -> None:
    files = ["tests/components/vm/test_a.py", "tests/localazure/test_a.py", "tests/workloads/test_a.py", "tests/stack/test_a.py"]
    assert sorted(files, key=place_of) == files[::-1]


def test_every_path_that_is_named_is_there() -> None:
    """A file that moved would come up with a control plane of its own, and nobody would notice."""
    from tests.support import distribution

    missing = [start for start in distribution._FIRST if not list(CHECKOUT.glob(f"{start}*"))]
    assert missing == []


@pytest.mark.slow
def test_each_file_is_run_by_one_worker(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"test_{name}.py").write_text(
            "import os, pathlib, pytest\n"
            "@pytest.mark.parametrize('number', range(8))\n"
            f"def test_one(number): pathlib.Path('{tmp_path}', f'{name}-{{os.getpid()}}').touch()\n"
        )
    options = ["-q", "-p", "tests.support.distribution", "-n", "3", "--dist", "loadfile"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(path.name.partition("-")[0] for path in tmp_path.glob("?-*")) == ["a", "b", "c"]
