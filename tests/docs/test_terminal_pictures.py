"""A command's picture has what it printed, with its colours, and loads nothing."""

from pathlib import Path

import pytest

from tests.docs import terminal_pictures


def test_a_picture_has_the_command_line_the_output_and_its_colours() -> None:
    svg = terminal_pictures.picture("sizes --gpu T4", f"{'x' * 80}y \x1b[31mred\x1b[0m\n", "sizes")
    assert "sizes&#160;--gpu&#160;T4" in svg
    assert "#cf222e" in svg
    assert f"{'x' * 80}</text>" in svg, "a terminal of 80 columns breaks the line"
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")


def test_without_output_there_is_no_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal_pictures, "printed", lambda command: "\n")
    assert terminal_pictures.main([str(tmp_path / "x.svg"), "--", "python", "-c", ""]) == 1
    assert "printed nothing" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
