"""`python -m operations sizes` in a terminal and as a process. What it finds is in `calls/sizes.yaml`."""

import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from azure_gpu_operations.__main__ import main
from azure_gpu_operations.sizes import command

CHECKOUT = Path(__file__).parents[2]
AS_OF = ("--as-of", "2026-11-21")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    try:
        code = main(["sizes", *arguments])
    except SystemExit as ended:  # argparse refuses a command line so
        code = int(str(ended.code))
    output = capsys.readouterr()
    return code, output.out, output.err


def test_a_message_shows_no_more_of_what_was_given_than_helps(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "--vcpus", "9" * 5000)
    assert code == 2
    assert "is not an integer" in err
    assert len(err) < 2000


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


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 80 columns."""
    monkeypatch.setattr(command, "console", lambda: Console(width=80, force_terminal=True, color_system=None))


@pytest.mark.usefixtures("terminal")
def test_less_important_columns_give_way_and_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    wish = ("--gpu", "A100", *AS_OF)
    _, out, _ = run(capsys, *wish)
    headings = out.splitlines()[0]
    assert "USD/hour" in headings
    assert "As of" not in headings
    (note,) = [line for line in out.splitlines() if line.startswith("Not shown in 80 columns: ")]
    assert "As of" in note
    _, out, _ = run(capsys, *wish, "--wide")
    assert "As of" in out.splitlines()[0]
    assert "Not shown" not in out
