"""`python -m operations sizes` as a process. What it finds and shows is in `calls/sizes.yaml`."""

import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]


@pytest.mark.slow
def test_what_asks_nothing_of_azure_loads_none_of_its_clients() -> None:
    program = (
        "import sys; from azure_gpu_operations.__main__ import main; main(['sizes', 'show', 'nc6', '--json']); "
        "print([name for name in sys.modules if name.split('.')[0] in ('azure', 'msal')], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


@pytest.mark.slow
def test_a_reader_that_has_enough_is_no_error_to_report() -> None:
    command = [sys.executable, "-m", "operations", "sizes", "--json", "--why"]
    with subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 1
