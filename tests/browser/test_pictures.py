"""The pictures of docs/environments.md are taken from the sample review, and are small."""

from pathlib import Path

import pytest
from PIL import Image

from tests.browser import driving, installation, pictures

_MOST_BYTES = 150_000


@pytest.mark.slow
def test_both_pictures_are_taken_and_are_small(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with driving.started() as driven:
        if driven is None:
            pytest.skip(f"no Chromium, or no Playwright: {installation.HOW}")

    assert pictures.main([str(tmp_path / "images")]) == 0

    for name in ("review-page.png", "review-comment.png"):
        file = tmp_path / "images" / name
        with Image.open(file) as taken:
            assert taken.width == 1_000
            assert len(taken.convert("RGB").getcolors(10_000) or []) > 20
        assert file.stat().st_size < _MOST_BYTES


def test_without_a_browser_it_says_how_one_comes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(installation, "found", lambda: None)

    assert pictures.main(["nowhere"]) == 1

    assert "make browser" in capsys.readouterr().err
