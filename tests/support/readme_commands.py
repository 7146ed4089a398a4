"""The commands of an example's README, run as they stand in a copy of the checkout.

In: a README. Out: its commands and the table that says what each does; `copied`, the copy; `login`, the environment of somebody
who is logged in; `walked`, which runs them one after another.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.support import warm_python
from tests.support.embedded import CHECKOUT, SUBSCRIPTION, ServedAzure
from tests.support.patience import SECONDS
from tests.support.stack import connected_environment


def commands_in(readme: Path) -> list[str]:
    """The lines of the first block."""
    block = re.search(r"^```\n(.*?)^```$", readme.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert block is not None
    return block[1].strip().splitlines()


def priced(readme: Path) -> None:
    """Each command has a row, with its minutes and its cost."""
    assert [row[0] for row in table_in(readme)] == [str(number) for number in range(1, len(commands_in(readme)) + 1)]
    for _, what, minutes, cost in table_in(readme):
        assert what
        assert re.search(r"\d", minutes)
        assert re.search(r"\d|none", cost)


def table_in(readme: Path) -> list[list[str]]:
    """The rows of the table: number, what it does, minutes, cost."""
    rows = [line.strip("|").split("|") for line in readme.read_text(encoding="utf-8").splitlines() if re.match(r"\| \d", line)]
    return [[cell.strip() for cell in row] for row in rows]


def copied(folder: Path, *, installed: bool) -> Path:
    """The files of this checkout, committed or not, and nothing that git ignores. `installed`: as on a second day, with the
    packages that its first `make` installs; those of this checkout, which saves a minute."""
    listed = ["git", "-C", str(CHECKOUT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in filter(None, subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split("\0")):
        if (CHECKOUT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, folder / name)
    if installed:
        (folder / ".venv").symlink_to(CHECKOUT / ".venv")
    return folder


def login(azure: ServedAzure, engine_bin: Path) -> dict[str, str]:
    """A login to the embedded Azure as the provider and the Azure CLI's users have one, and a place for state."""
    variables = {
        "ARM_SUBSCRIPTION_ID": SUBSCRIPTION,
        "ARM_TENANT_ID": azure.tenant_id,
        "ARM_CLIENT_ID": azure.client_id,
        "ARM_METADATA_HOSTNAME": f"localhost:{azure.port}",
        "ARM_DISABLE_INSTANCE_DISCOVERY": "true",
    }
    inherited = warm_python.warmed(connected_environment(azure, engine_bin, reaches_others=True))
    return {**{name: value for name, value in inherited.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}, **variables}


def walked(commands: Sequence[str], folder: Path, environment: dict[str, str]) -> list[str]:
    """What each command prints; each has to succeed. A virtual environment that the folder shares with this checkout has this
    checkout's packages in it; the folder's own come before them."""
    packages = os.pathsep.join(str(folder / room) for room in ("components", "operations"))
    outputs: list[str] = []
    for command in commands:
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=folder,
            env={**environment, "PYTHONPATH": packages},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        outputs.append(done.stdout)
    return outputs


def groups_left(azure: ServedAzure, word: str) -> list[str]:
    """The resource groups that have a word in their names."""
    found = azure.get(f"/subscriptions/{SUBSCRIPTION}/resourceGroups", "2024-03-01").json()["value"]
    return [group["name"] for group in found if word in group["name"]]
