"""Azurite, installed from the public npm registry into the cache, exactly as `azurite/package-lock.json` pins it.

`python3 -m localazure.blobs.installation` does it ahead, with the standard library alone; the server does it when blob storage is
first used. A folder in the cache is complete or not there: it is filled under a temporary name, under a lock, and then moved.
"""

import asyncio
import hashlib
import json
import logging
import os
import shutil
import sys
import tempfile
from pathlib import Path

from localazure.blobs.keeper import KeeperError
from localazure.containers.locks import alone
from localazure.folder import default_cache

OLDEST_NODE = 20
_PINNED = Path(__file__).with_name("azurite")
_FILES = ("package.json", "package-lock.json")
_INSTALL = ("ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
_HOW = "Debian, Ubuntu: apt install nodejs npm; macOS: brew install node; or https://nodejs.org/"
_MARKER = ".complete"
_SHOWN_LINES = 5
log = logging.getLogger(__name__)


async def installed() -> Path:
    """The folder that holds Azurite's `node_modules`, installed first where it doesn't exist. KeeperError where that can't be."""
    await _check_node()
    folder = default_cache() / f"azurite-{_version()}"
    if _is_complete(folder):
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    async with alone(folder.with_name(f"{folder.name}.lock")):
        if not _is_complete(folder):
            log.info("blob storage: installing Azurite into %s; that takes 15 to 60 seconds, once", folder)
            await _install(folder)
            log.info("blob storage: Azurite is installed")
    return folder


async def _check_node() -> None:
    node, npm = shutil.which("node"), shutil.which("npm")
    requested = f"missing: Node.js {OLDEST_NODE} or later with npm, for blob storage"
    if node is None or npm is None:
        raise KeeperError(f"{requested}. {_HOW}")
    status, said = await _run(node, "--version")
    major = said.strip().lstrip("v").partition(".")[0]
    if status != 0 or not major.isdigit() or int(major) < OLDEST_NODE:
        raise KeeperError(f"{requested}; {node} is {said.strip()[:40] or 'broken'}. {_HOW}")


async def _install(folder: Path) -> None:
    for leftover in folder.parent.glob(f"{folder.name}.installing-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    half = Path(tempfile.mkdtemp(prefix=f"{folder.name}.installing-", dir=folder.parent))
    try:
        for name in _FILES:
            shutil.copyfile(_PINNED / name, half / name)
        status, said = await _run("npm", *_INSTALL, cwd=half)
        if status != 0:
            last = "\n".join(f"  {line}" for line in said.strip().splitlines()[-_SHOWN_LINES:])
            raise KeeperError(f"npm could not install Azurite (exit code {status}):\n{last}")
        (half / _MARKER).write_text(_digest(), encoding="ascii")
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        half.rename(folder)
    finally:
        await asyncio.to_thread(shutil.rmtree, half, ignore_errors=True)


async def _run(program: str, *arguments: str, cwd: Path | None = None) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        program,
        *arguments,
        cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={name: value for name, value in os.environ.items() if name.upper() != "NODE_OPTIONS"},
    )
    try:
        said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, said.decode("utf-8", errors="replace")


def _is_complete(folder: Path) -> bool:
    try:
        return (folder / _MARKER).read_text(encoding="ascii") == _digest()
    except OSError:
        return False


def _version() -> str:
    return str(json.loads((_PINNED / "package.json").read_text(encoding="utf-8"))["dependencies"]["azurite"])


def _digest() -> str:
    """Of the pins, so that others of the same version are installed again."""
    return hashlib.sha256((_PINNED / "package-lock.json").read_bytes()).hexdigest()


def main() -> int:
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        print(asyncio.run(installed()))
    except KeeperError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
