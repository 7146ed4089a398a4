"""A command's picture has its output on a terminal of 80 columns, and loads nothing."""

import sys
from pathlib import Path

import pytest

from tests.browser import terminal_pictures

PROGRAM = "import os, sys; print(os.get_terminal_size(1).columns, sys.stdout.isatty(), '\\x1b[31mred\\x1b[0m')"


def test_the_command_sees_a_terminal_of_80_columns(tmp_path: Path) -> None:
    file = tmp_path / "images" / "terminal-test.svg"

    assert terminal_pictures.main([str(file), "--", sys.executable, "-c", PROGRAM]) == 0

    svg = file.read_text(encoding="utf-8")
    assert "80&#160;True" in svg
    assert "#cf222e" in svg
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")


def test_without_output_there_is_no_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert terminal_pictures.main([str(tmp_path / "x.svg"), "--", sys.executable, "-c", ""]) == 1
    assert "printed nothing" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
