"""`make times`: what a run took, of rooms, files and tests, with what their processes used, on one worker and on several."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.embedded import CHECKOUT
from tests.support.times import Processes, room

# Each uses a good quarter of a second of CPU: in a test, in a process that it waits for, and in one that outlives it.
_BUSY = "import time\nwhile time.process_time() < 0.3: pass\n"
_TESTS = f"""
import subprocess, sys, time
import pytest
from tests.support.times import STARTED

BUSY = {_BUSY!r}

def test_of_its_own():
    until = time.process_time() + 0.3
    while time.process_time() < until:
        pass

@pytest.mark.slow
def test_in_a_process_that_it_waits_for():
    subprocess.run([sys.executable, "-c", BUSY], check=True)

def test_in_a_process_that_nobody_waits_for():
    STARTED["servers"] += 1
    lasting = BUSY + "print(flush=True); time.sleep(2)"
    starting = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {{lasting!r}}], start_new_session=True)"
    with subprocess.Popen([sys.executable, "-c", starting], stdout=subprocess.PIPE) as parent:
        assert parent.stdout.readline() == b"\\n"  # from the process that outlives its parent, once it has used its share
        assert parent.wait() == 0

def test_of_nothing():
    pass
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "2"])
def test_the_cpu_time_of_processes_belongs_to_the_test_that_started_them(tmp_path: Path, workers: str) -> None:
    file, report = tmp_path / "test_busy.py", tmp_path / "report.txt"
    file.write_text(_TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "tests.support.times", "--times", str(report), "-n", workers, str(file)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = report.read_text().splitlines()
    cpu = {line.split()[6].rpartition("::")[2]: float(line.split()[0]) for line in lines if "::test_" in line}
    assert cpu.pop("test_of_nothing") < 0.2
    assert set(cpu) == {
        "test_of_its_own",
        "test_in_a_process_that_it_waits_for",
        "test_in_a_process_that_nobody_waits_for",
    }
    assert all(0.25 <= seconds < 3 for seconds in cpu.values()), cpu
    assert [line for line in lines if line.endswith("test_in_a_process_that_nobody_waits_for  servers 1")]
    totals = {tuple(line.split()[5:]) for line in lines[3:6]}
    assert totals == {("4", "all", "servers", "1"), ("3", "not", "slow", "servers", "1"), ("1", "slow")}


def test_a_room_is_a_folder_of_tests() -> None:
    assert room("tests/localazure/batch/test_pools.py::test_one[a/b]") == "tests/localazure"


def test_without_proc_only_processes_that_were_waited_for_count(tmp_path: Path) -> None:
    processes = Processes(tmp_path / "proc")
    before = processes.cpu()
    subprocess.run([sys.executable, "-c", _BUSY], check=True)
    assert processes.cpu() - before >= 0.3
