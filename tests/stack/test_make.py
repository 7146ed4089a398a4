"""The Makefile's promises, kept in a copy of the checkout as on a machine of its own: caches are shared, nothing else is."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.embedded import CHECKOUT, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
LIMIT_SECONDS = 600
# What belongs to this run and must not reach another checkout's.
OWN = {"PULUMI_HOME", "PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE", "VIRTUAL_ENV", "PYTHONPATH", "MAKEFLAGS"} | {
    f"ARM_{name}"
    for name in ("METADATA_HOSTNAME", "DISABLE_INSTANCE_DISCOVERY", "SUBSCRIPTION_ID", "TENANT_ID", "CLIENT_ID", "CLIENT_SECRET")
}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A git checkout with the files of this one, committed or not, and nothing that git ignores."""
    folder = tmp_path / "checkout"
    listed = git(CHECKOUT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, listed.split("\0")):
        if (CHECKOUT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, folder / name)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "-c", "user.name=test", "-c", "user.email=test@localhost", "commit", "--quiet", "--message", "all")
    return folder


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True).stdout


def make(folder: Path, *arguments: str) -> str:
    return command(folder, "make", *arguments)


def command(folder: Path, *words: str) -> str:
    inherited = {name: value for name, value in os.environ.items() if name not in OWN}
    path = [each for each in inherited["PATH"].split(":") if each != str(Path(sys.executable).parent)]
    done = subprocess.run(
        words,
        cwd=folder,
        env={**inherited, "PATH": ":".join(path)},
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_up_ends_with_a_table_of_proved_services_a_second_up_changes_nothing_and_down_leaves_nothing(copy: Path) -> None:
    text = make(copy, "up")
    port = json.loads((copy / ".local" / "endpoint.json").read_text())["port"]
    services = [
        "container group",
        "Container Apps job",
        "Batch pool",
        "AKS cluster",
        "Azure ML compute",
        "Azure ML endpoint",
    ]
    proved = [re.split(r" {2,}", line) for line in text.splitlines() if line.startswith(tuple(f"{each} " for each in services))]
    assert [(row[0], row[3]) for row in proved] == [(service, "yes") for service in services]
    assert "10 of 10 digits" in proved[-1][5]
    assert git(copy, "status", "--porcelain") == ""

    assert "unchanged" in make(copy, "up")
    assert git(copy, "status", "--porcelain") == ""

    text = command(
        copy,
        "sh",
        "-c",
        'eval "$(make -s env)" && pulumi destroy --yes --stack local --config-file .local/Pulumi.local.yaml --non-interactive',
    )
    assert "deleted" in text
    make(copy, "down")
    assert git(copy, "status", "--porcelain") == ""
    with socket.socket() as client:
        assert client.connect_ex(("127.0.0.1", port)) != 0, "somebody still listens on the embedded Azure's port"
    until(lambda: str(copy) not in processes(), "every process of this checkout has ended")


def processes() -> str:
    return subprocess.run(["ps", "-A", "-ww", "-o", "args="], capture_output=True, text=True, check=True).stdout
