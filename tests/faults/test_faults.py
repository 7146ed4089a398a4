"""The campaign of faults in small: judged strictly, and survived. All of it is `make faults`."""

import os
import shutil
import subprocess
import sys
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from tests.faults import __main__ as campaign, any_input
from tests.faults.killing import Killing, Victim
from tests.faults.lives import Part
from tests.faults.looking import Looks, traces
from tests.faults.report import Campaign
from tests.faults.scenarios import SMALL
from tests.support.embedded import CHECKOUT

SEED = 7
PATHS = {**os.environ, "PYTHONPATH": os.pathsep.join(str(CHECKOUT / each) for each in ("", "components", "operations"))}


def test_what_is_missing_doubled_or_left_is_a_loss() -> None:
    calm = Looks(Counter({"/a": 1, "/b": 1}), Counter({"urn:a": 1}), Counter({"/a": 1}))
    other = Looks(Counter({"/a": 2}), Counter({"urn:a": 1}), Counter())
    assert other.problems(calm) == ["Azure lacks /b", "Azure has too much: /a", "the state's ids lacks /a"]
    assert calm.problems(calm) == []


def test_a_trace_is_seen_wherever_it_stands() -> None:
    trace = "up\nTraceback (most recent call last):\n  File x\n    call()\nKeyError: 'a'\nerror: failed"
    assert traces(trace) == ["Traceback (most recent call last) KeyError: 'a'"]
    assert traces("error: the region has no capacity") == []


def test_a_run_without_room_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**10, 10**10, 10**9))
    assert campaign.main([]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert "0.9 GB free" in said.err


@pytest.mark.slow
def test_no_stack_file_ends_with_a_trace_or_takes_long_or_much() -> None:
    # In a process of its own: what a test worker has loaded would count as the inputs'.
    command = [sys.executable, "-m", "tests.faults", "--only", "inputs", "--inputs", "150", "--seed", str(SEED)]
    done = subprocess.run(command, cwd=CHECKOUT, env=PATHS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "300 inputs, of which 0 failed." in done.stdout


@pytest.mark.slow  # inputs are judged in forks
def test_an_input_that_crashes_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(text: str) -> None:
        if text.startswith('{"config"'):  # and no file that is right
            raise KeyError("location")

    monkeypatch.setattr(any_input, "_judged", crash)
    monkeypatch.setattr(any_input, "PEAK_MB", float("inf"))  # a test worker may be larger
    failed = [each for _, found in any_input.run(SEED, {"generated": 3}, 1) for each in found]
    assert [each.number for each in failed] == [0, 1, 2]
    assert "KeyError: 'location'" in failed[0].why


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.usefixtures("kubernetes_bin")
def test_a_small_campaign_loses_nothing(engine_bin: Path, tmp_path: Path) -> None:
    said: list[str] = []
    found = Campaign(SEED, date(2026, 11, 25))
    run = campaign.Run(found, tmp_path, engine_bin, said.append, 2)
    run.look([SMALL])
    run.faults(6)
    run.kill(
        [
            Killing(SMALL, Victim.ENGINE, Part.UP, 0.5),
            Killing(SMALL, Victim.AZURE_NATIVE, Part.CHANGE, 0.3),
            Killing(SMALL, Victim.AZURE, Part.DOWN, 0.1),
        ]
    )
    assert found.lost == [], "\n".join(said)
    assert len(found.rows) + len(found.missed) == 9
    assert len(found.rows) >= 7, found.missed
