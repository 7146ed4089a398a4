"""`python -m operations sizes`: what it prints, and its exit codes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

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


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    code, out, err = run(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_two_a100_with_80_gb_for_aks_in_west_europe(capsys: pytest.CaptureFixture[str]) -> None:
    wish = ("--gpu", "A100", "--gpus", "2", "--gpu-memory", "80", "--region", "westeurope", "--service", "aks")
    answer = told(capsys, *wish, *AS_OF)
    assert [row["size"] for row in answer["found"]] == ["Standard_NC48ads_A100_v4"]
    assert answer["found"][0]["price_day"] == "2026-06-18"
    assert {"size": "Standard_NC24ads_A100_v4", "reasons": ["it has 1 GPU, not 2"]} in answer["left_out"]


def test_a_person_sees_a_table_and_the_reasons_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    wish = ("--gpu", "T4", "--gpus", "1", "--region", "eastus", *AS_OF)
    code, out, _ = run(capsys, *wish)
    assert code == 0
    assert "Standard_NC4as_T4_v3" in out
    assert "0.526" in out
    assert "--why shows the reasons" in out
    _, out, _ = run(capsys, *wish, "--why")
    assert "Standard_NC64as_T4_v3: it has 4 GPUs, not 1" in out


def test_what_replaces_a_size_for_rdma(capsys: pytest.CaptureFixture[str]) -> None:
    answer = told(capsys, "--instead-of", "nc24rs_v3", "--rdma", *AS_OF)
    assert "Standard_ND96asr_v4" in [row["size"] for row in answer["found"]]
    assert all(row["rdma"] for row in answer["found"])


def test_everything_about_one_size(capsys: pytest.CaptureFixture[str]) -> None:
    size = told(capsys, "show", "nc24rs_v3", *AS_OF)
    assert size["status"] == "retired"
    assert size["end"] == "2025-09-30"
    assert any("2025-03-31" in given for given in size["lifecycle"]["also_given"])
    assert size["lifecycle"]["end_elsewhere"].keys() >= {"usgovvirginia", "jioindiawest"}
    assert size["quota_family"] == "standardNCSv3Family"
    code, out, _ = run(capsys, "show", "nv6ads_a10_v5", *AS_OF)
    assert code == 0
    for part in ("1/6", "StandardNVADSA10v5Family", "Sources:", "NVIDIA A10"):
        assert part in out


def test_in_2019_the_answer_is_that_of_2019(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "show", "nc6", "--as-of", "2019-06-01")["status"] == "general"
    assert told(capsys, "show", "nc6", *AS_OF)["status"] == "retired"
    assert told(capsys, "show", "nc40ads_h100_v5", "--as-of", "2019-06-01")["status"] == "unknown"


def test_what_retires_within_a_year(capsys: pytest.CaptureFixture[str]) -> None:
    rows = told(capsys, "retiring", "--within", "365d", *AS_OF)
    by_size = {row["size"]: row for row in rows if row["where"] == "everywhere"}
    assert by_size["Standard_HC44rs"]["end"] == "2027-05-31"
    assert by_size["Standard_NP10s"]["end"] == "2027-05-31"
    assert by_size["Standard_HB120rs_v2"]["instead"]
    assert "Standard_NC6" not in by_size
    assert ("Standard_NV12s_v3", "uaenorth") in {(row["size"], row["where"]) for row in rows}
    assert told(capsys, "retiring", "--within", "10d", *AS_OF) == []


@pytest.mark.parametrize(
    "wrong",
    [
        ("--gpus", "many"),
        ("--gpus", "3"),
        ("--gpu", "A101"),
        ("--region", "westeuropa"),
        ("--service", "functions"),
        ("--as-of", "2026-13-01"),
        ("--needs", "OpenCL"),
        ("--max-price", "cheap"),
        ("retiring", "--within", "soon"),
        ("show", "nc6", "--region", "nowhere"),
        ("retiring", "--region", "nowhere"),
        ("retiring", "--within", "9999999999d"),
        ("--gpus", "1/0"),
        ("--gpus", "-1"),
        ("--gpu-memory", "0"),
        ("--gpu-memory", "1e3"),
        ("--vcpus", "0"),
        ("--vcpus", "-8"),
        ("--vcpus", "9999"),
        ("--max-price", "nan"),
        ("--max-price", "inf"),
        ("--max-price", "1e9999999999999999999"),
        ("--max-price", "-1"),
    ],
)
def test_a_wrong_command_line_is_named_and_ends_with_2(capsys: pytest.CaptureFixture[str], wrong: tuple[str, ...]) -> None:
    code, out, err = run(capsys, *wrong)
    assert code == 2
    assert out == ""
    assert wrong[-1] in err
    assert "Traceback" not in err


def test_nothing_that_fits_ends_with_1_and_an_unknown_size_gets_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--gpu", "K80", *AS_OF)
    assert code == 1
    assert "No size fits" in out
    code, _, err = run(capsys, "show", "Standard_NC4as_T4v3")
    assert code == 1
    assert "Standard_NC4as_T4_v3" in err


def test_an_empty_name_is_no_size_and_not_the_absence_of_one(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "--instead-of", "")
    assert (code, out) == (1, "")
    assert "unknown VM size" in err


def test_a_message_shows_no_more_of_what_was_given_than_helps(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "--vcpus", "9" * 5000)
    assert code == 2
    assert "is not an integer" in err
    assert len(err) < 2000


@pytest.mark.parametrize("words", [("--within", "999999999d"), ("--as-of", "9999-12-31")])
def test_the_end_of_the_calendar_is_no_error(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    code, _, err = run(capsys, "retiring", *words)
    assert (code, err) == (0, "")


def test_a_size_is_among_those_that_retire_until_its_last_day(capsys: pytest.CaptureFixture[str]) -> None:
    def retiring(day: str) -> set[str]:
        return {row["size"] for row in told(capsys, "retiring", "--within", "0d", "--region", "westeurope", "--as-of", day)}

    assert "Standard_NV12s_v3" in retiring("2026-09-30")
    assert "Standard_NV12s_v3" not in retiring("2026-10-01")


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
@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("--gpu", "A100"), {"Standard_NC24ads_A100_v4", "Standard_ND96amsr_A100_v4"}),
        (("--gpu", "RTX PRO 6000"), {"Standard_NC288lds_xl_RTXPRO6000BSE_v6"}),
        (("show", "nc4as_t4_v3"), {"Standard_NC4as_T4_v3", "Standard NCASv3_T4 Family"}),
        (("retiring", "--within", "365d"), {"Standard_HB120-96rs_v2", "Standard_NV12s_v3"}),
    ],
)
def test_a_terminal_of_80_columns_shows_every_name_whole(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], names: set[str]
) -> None:
    code, out, _ = run(capsys, *words, *AS_OF)
    assert code == 0
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= 80
    assert {name for name in names if name in out} == names


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


def test_what_retires_is_grouped_by_day_and_by_what_to_use_instead(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "retiring", "--within", "365d", *AS_OF)
    lines = out.splitlines()
    assert lines.count("2027-05-31, in 191 days") == 1
    at = lines.index("  Standard_HC44-16rs, Standard_HC44-32rs")
    assert lines[at + 1].startswith("  instead: Standard_HB")
    assert any(line.startswith("2026-12-31, in 40 days, in usgov") and ", usgov" in line for line in lines)
    assert lines[-1] == "--wide shows the sources."
    _, out, _ = run(capsys, "retiring", "--within", "365d", "--wide", *AS_OF)
    assert "  source: " in out
