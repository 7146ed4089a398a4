"""`python -m operations sizes` as a process. What it finds and shows is in `calls/sizes.yaml`."""

import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_reader_that_has_enough_is_no_error_to_report() -> None:
    command = [sys.executable, "-m", "operations", "sizes", "--json", "--why"]
    with subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 1
