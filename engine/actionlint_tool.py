"""actionlint, which checks the workflows of GitHub Actions: whether a folder holds it, where PATH has it, and how it is built."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from engine import go, pins
from engine.answers import answer
from engine.progress import Progress

MODULE = pins.read(Path(__file__).with_name("actionlint"))
VERSION = MODULE.requires["github.com/rhysd/actionlint"]
_PROGRAM = "actionlint"


def problem(folder: Path) -> str | None:
    """What is wrong with `folder` as the home of actionlint; None where it is there and answers the pinned version."""
    if not folder.is_dir():
        return "it isn't there"
    if not os.access(folder / _PROGRAM, os.X_OK):
        return f"{_PROGRAM} is missing or can't be executed"
    version = _version(folder / _PROGRAM)
    return None if version == VERSION else f"`{_PROGRAM} -version` answers {version or 'nothing'} instead of {VERSION}"


def on_path() -> tuple[Path | None, str]:
    """The folder of the actionlint on PATH where it is the pinned version, else None; and a sentence that says why. Another
    version finds other things."""
    program = shutil.which(_PROGRAM)
    if program is None:
        return None, f"{_PROGRAM} is not on PATH"
    version = _version(Path(program))
    if version != VERSION:
        return None, f"{program} is {version or 'of no known version'}, and {VERSION} is needed"
    return Path(program).parent, f"using {program}, which is {version}"


def builder(progress: Progress, log: Path) -> Callable[[Path, Path], None]:
    """What fills a folder with actionlint, as `cache.ensure` calls it.

    Raises `go.MissingGoError`; what it answers raises `go.BuildError`, with Go's output in `log`.
    """
    go_program = go.find_go(MODULE.go, _PROGRAM)

    def build(result: Path, scratch: Path) -> None:
        progress.say(f"building {_PROGRAM} {VERSION}, once: half a minute; kept in {log.parent} (8 MB)")
        stamp = f"-ldflags=-s -w -X github.com/rhysd/actionlint.version={VERSION}"
        go.build(go_program, MODULE, result / _PROGRAM, [stamp], scratch=scratch, log=log, progress=progress)
        wrong = problem(result)
        if wrong is not None:
            raise go.BuildError(f"the build ended, but {wrong}")

    return build


def _version(program: Path) -> str | None:
    """The version that it answers, such as v1.7.12; None where it gives none, fails or takes too long."""
    found = re.match(r"v?(\d+\.\d+\.\d+)", answer([program, "-version"]))
    return f"v{found[1]}" if found else None
