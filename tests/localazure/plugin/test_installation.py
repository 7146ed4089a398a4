"""Where plugins lie, and which: Pulumi's own where the machine has it, else the stand-ins."""

import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import pytest

from localazure.folder import LocalFolder
from localazure.plugin import installation
from localazure.plugin.installation import NAME, STAND_INS, Installed, install, real_plugin

CHECKOUT = Path("/checkout with space")
PYTHON = Path("/usr/bin/python3")


def real_one(home: Path, name: str = NAME, begins: bytes = b"\x7fELF", release: str | None = None) -> Path:
    """As `pulumi plugin install` puts it there."""
    program = home / "plugins" / f"resource-{name}-v{release or version(f'pulumi-{name}')}" / f"pulumi-resource-{name}"
    program.parent.mkdir(parents=True)
    program.write_bytes(begins + b"rest")
    program.chmod(0o755)
    return program


def found(tmp_path: Path, name: str = NAME, platform: str = "linux", **environment: str) -> Path | None:
    return real_plugin(LocalFolder(tmp_path), name, {"HOME": str(tmp_path / "user"), **environment}, platform)


def put(tmp_path: Path, real: Path | None = None) -> Installed:
    return install(tmp_path / "pulumi", PYTHON, CHECKOUT, real=real)


@pytest.mark.parametrize("name", STAND_INS)
def test_a_stand_in_lies_where_the_engine_looks_for_exactly_this_version(tmp_path: Path, name: str) -> None:
    there = install(tmp_path, PYTHON, CHECKOUT, name)
    assert there.executable == tmp_path / "plugins" / f"resource-{name}-v{version(f'pulumi-{name}')}" / f"pulumi-resource-{name}"
    assert there.executable.read_text() == (f"#!/bin/sh\nPYTHONPATH='{CHECKOUT}' exec {PYTHON} -m {STAND_INS[name]} \"$@\"\n")
    assert (str(there), os.access(there.executable, os.X_OK)) == (f"{name} {there.version} (stand-in)", True)


def test_installing_again_writes_nothing_and_repairs_what_was_broken(tmp_path: Path) -> None:
    executable = put(tmp_path).executable
    before = executable.stat()
    assert put(tmp_path).executable.stat().st_ino == before.st_ino
    executable.write_text("half")
    put(tmp_path)
    assert executable.stat().st_size == before.st_size
    assert os.access(executable, os.X_OK)
    assert [path.name for path in executable.parent.parent.iterdir()] == [executable.parent.name]


@pytest.mark.parametrize("begins", [b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"])
def test_pulumis_own_is_linked_and_is_followed_where_it_comes_and_goes(tmp_path: Path, begins: bytes) -> None:
    assert found(tmp_path) is None
    real = real_one(tmp_path / "user" / ".pulumi", begins=begins)
    put(tmp_path)
    there = put(tmp_path, found(tmp_path))
    assert (there.real, there.executable.readlink()) == (True, real)
    assert installation.plugin(tmp_path / "pulumi", NAME) == there
    assert put(tmp_path, found(tmp_path)) == there
    real.unlink()
    assert installation.plugin(tmp_path / "pulumi", NAME).real is False
    assert put(tmp_path, found(tmp_path)).real is False
    assert not there.executable.is_symlink()


def test_one_that_was_installed_with_our_connection_stays_as_it_is(tmp_path: Path) -> None:
    real = real_one(tmp_path / "pulumi")
    assert put(tmp_path).real is True
    assert (real.read_bytes(), real.is_symlink()) == (b"\x7fELFrest", False)


@pytest.mark.parametrize(
    ("home", "environment", "is_taken"),
    [
        ("other", {"PULUMI_HOME": "other"}, True),
        ("user/.pulumi", {"PULUMI_HOME": "other"}, True),
        ("user/.pulumi", {"PULUMI_HOME": "pulumi"}, True),
        ("pulumi", {"PULUMI_HOME": "pulumi"}, False),
        ("user/.pulumi", {"AZURE_GPU_TOOLS": "build"}, False),
    ],
    ids=["PULUMI_HOME", "the user's, beside PULUMI_HOME", "with our connection", "pulumi", "build"],
)
def test_where_it_is_looked_for(tmp_path: Path, home: str, environment: Mapping[str, str], is_taken: bool) -> None:
    real = real_one(tmp_path / home)
    said = {name: str(tmp_path / value) if name == "PULUMI_HOME" else value for name, value in environment.items()}
    assert found(tmp_path, **said) == (real if is_taken else None)


def test_what_was_downloaded_is_taken_where_the_user_has_none(tmp_path: Path) -> None:
    real = real_one(tmp_path / "downloaded")
    (tmp_path / "providers-bin").write_text(f"{tmp_path / 'gone'}\n{tmp_path / 'downloaded'}\n")
    assert found(tmp_path) == real
    assert found(tmp_path, "kubernetes") is None


def test_another_version_a_script_and_what_cannot_be_executed_are_not_taken(tmp_path: Path) -> None:
    home = tmp_path / "user" / ".pulumi"
    real_one(home, release="3.0.0")
    program = real_one(home, begins=b"#!/bin/sh\n")
    assert found(tmp_path) is None
    program.write_bytes(b"\x7fELF")
    program.chmod(0o644)
    assert found(tmp_path) is None


def test_on_macos_azure_native_would_refuse_the_certificate_and_kubernetes_is_given_one(tmp_path: Path) -> None:
    for name in STAND_INS:
        real_one(tmp_path / "user" / ".pulumi", name, begins=b"\xcf\xfa\xed\xfe")
    assert [found(tmp_path, name, "darwin") is not None for name in STAND_INS] == [False, True]
