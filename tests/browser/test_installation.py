"""Which Chromium is used, and what is said where there is none."""

import os
import subprocess
from pathlib import Path

import pytest

from engine.progress import Progress
from tests.browser import installation


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without a browser: a folder that is all of PATH."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(installation, "_MAC", tmp_path / "none")
    (tmp_path / "bin").mkdir()
    return tmp_path


def _program(file: Path, text: str = "#!/bin/sh\nexit 1\n") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)
    return file


def test_the_machines_own_comes_before_the_caches(empty: Path) -> None:
    assert installation.found() is None
    cached = _program(installation._folder() / "chromium")
    assert installation.found() == installation.Chromium(cached, cached.parent / "lib")

    own = _program(empty / "bin" / "google-chrome")

    assert installation.found() == installation.Chromium(own)


@pytest.mark.parametrize(
    ("system", "machine", "tools", "said"),
    [
        (
            "darwin",
            "arm64",
            (),
            "missing: Chromium or Chrome. macOS: brew install --cask google-chrome; Linux: apt install chromium",
        ),
        ("linux", "aarch64", (), "missing: Chromium or Chrome."),
        ("linux", "x86_64", (), "missing: node, which unpacks Chromium."),
        ("linux", "x86_64", ("node", "npm"), "Chromium could not be installed: npm failed"),
    ],
)
def test_what_is_missing_is_one_line(
    empty: Path, monkeypatch: pytest.MonkeyPatch, system: str, machine: str, tools: tuple[str, ...], said: str
) -> None:
    monkeypatch.setattr(installation.sys, "platform", system)
    monkeypatch.setattr(installation.platform, "machine", lambda: machine)
    for tool in tools:
        _program(empty / "bin" / tool)
    failed = subprocess.CompletedProcess(["npm"], 1, "", "npm error")
    monkeypatch.setattr(installation.subprocess, "run", lambda *words, **options: failed)

    with pytest.raises(installation.NoChromiumError, match=said) as error, Path(os.devnull).open("w") as nowhere:
        installation.install(Progress(nowhere))

    assert "\n" not in str(error.value)
    assert installation.found() is None
