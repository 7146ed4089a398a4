"""How Azurite comes onto a machine: once, whole, and exactly as it is pinned. A small script stands for npm."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from localazure.blobs import installation
from localazure.blobs.keeper import KeeperError

PINNED = Path(installation.__file__).with_name("azurite")


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, and an npm that takes a moment and writes down each call."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no Node.js on this machine")
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "node").symlink_to(node)
    npm(tools, f'echo "$@" >> {tmp_path}/calls; sleep 0.2; mkdir -p node_modules/azurite; echo done > node_modules/azurite/x')
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "calls"


def npm(tools: Path, script: str) -> None:
    (tools / "npm").write_text(f"#!/bin/sh\n{script}\n")
    (tools / "npm").chmod(0o755)


def test_every_package_is_pinned_by_a_checksum_and_none_by_a_host() -> None:
    lock = json.loads((PINNED / "package-lock.json").read_text())
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert len(packages) > 300
    assert [name for name, package in packages.items() if not package.get("integrity", "").startswith("sha512-")] == []
    assert [name for name, package in packages.items() if "resolved" in package] == []
    assert packages["node_modules/azurite"]["version"] == "3.35.0"
    assert json.loads((PINNED / "package.json").read_text())["dependencies"] == {"azurite": "3.35.0"}


@pytest.mark.slow
def test_two_who_need_it_at_once_install_it_once_and_without_scripts(calls: Path, tmp_path: Path) -> None:
    async def both() -> list[Path]:
        return list(await asyncio.gather(installation.installed(), installation.installed()))

    first, second = asyncio.run(both())
    assert first == second == tmp_path / "cache" / "azure-gpu" / "azurite-3.35.0"
    assert asyncio.run(installation.installed()) == first
    (call,) = calls.read_text().splitlines()
    assert call.startswith("ci --ignore-scripts --omit=dev ")
    assert (first / "node_modules" / "azurite" / "x").read_text() == "done\n"


@pytest.mark.slow
def test_a_failed_installation_leaves_nothing_and_says_why(calls: Path, tmp_path: Path) -> None:
    npm(tmp_path / "bin", "mkdir node_modules; echo 'ENOTFOUND registry' >&2; exit 7")
    with pytest.raises(KeeperError, match=r"exit code 7.*\n.*ENOTFOUND registry"):
        asyncio.run(installation.installed())
    assert [path.name for path in (tmp_path / "cache" / "azure-gpu").iterdir()] == ["azurite-3.35.0.lock"]


@pytest.mark.slow
def test_what_a_killed_installation_left_is_cleared(calls: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache" / "azure-gpu"
    (cache / "azurite-3.35.0" / "node_modules").mkdir(parents=True)  # without its marker
    (cache / "azurite-3.35.0.installing-abc").mkdir()
    installed = asyncio.run(installation.installed())
    assert (installed / "node_modules" / "azurite" / "x").exists()
    assert sorted(path.name for path in cache.iterdir()) == ["azurite-3.35.0", "azurite-3.35.0.lock"]


@pytest.mark.slow
@pytest.mark.parametrize("version", ["v18.20.0", "nonsense", ""])
def test_an_older_node_is_named_with_what_to_do(calls: Path, tmp_path: Path, version: str) -> None:
    node = tmp_path / "bin" / "node"
    node.unlink()
    node.write_text(f"#!/bin/sh\necho '{version}'\n")
    node.chmod(0o755)
    with pytest.raises(KeeperError, match=r"missing: Node\.js 20 or later with npm, for blob storage; .*https://nodejs\.org/"):
        asyncio.run(installation.installed())
