"""The commands of examples/t4-tonight/README.md, read out of it and run as they stand, in a copy of the checkout."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.embedded import CHECKOUT, SUBSCRIPTION, EmbeddedAzure
from tests.support.stack import connected_environment

README = CHECKOUT / "examples" / "t4-tonight" / "README.md"
MOST_COMMANDS = 6
LIMIT_SECONDS = 400


def commands() -> list[str]:
    """The lines of the first block."""
    block = re.search(r"^```\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert block is not None
    return block[1].strip().splitlines()


def table() -> list[list[str]]:
    """The rows of the table: number, what it does, minutes, cost."""
    rows = [line.strip("|").split("|") for line in README.read_text(encoding="utf-8").splitlines() if re.match(r"\| \d", line)]
    return [[cell.strip() for cell in row] for row in rows]


def test_six_commands_at_most_lead_to_a_gpu_each_with_its_minutes_and_its_cost() -> None:
    assert len(commands()) <= MOST_COMMANDS
    assert [row[0] for row in table()] == [str(number) for number in range(1, len(commands()) + 1)]
    for _, what, minutes, cost in table():
        assert what
        assert re.search(r"\d", minutes)
        assert re.search(r"\d|none", cost)


def test_the_hours_price_in_the_text_is_the_catalogs() -> None:
    from operations.job_cost import hourly_price
    from operations.jobs import job_of

    resources = {"cpu": 4, "memory": "16Gi"}
    job = job_of(
        {"id": "/x", "name": "x", "location": "eastus", "properties": {"template": {"containers": [{"resources": resources}]}}}
    )
    price = hourly_price(job, "Consumption-GPU-NC8as-T4")
    assert price is not None
    assert f"{price.usd_hour:.2f} USD for each hour" in README.read_text(encoding="utf-8")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The files of this checkout, committed or not, and nothing that git ignores."""
    folder = tmp_path / "clone"
    listed = ["git", "-C", str(CHECKOUT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in filter(None, subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split("\0")):
        if (CHECKOUT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, folder / name)
    return folder


@pytest.fixture
def environment(azure: EmbeddedAzure, engine_bin: Path) -> dict[str, str]:
    """A login to the embedded Azure as the provider and the Azure CLI's users have one, and a place for state."""
    variables = {
        "ARM_SUBSCRIPTION_ID": SUBSCRIPTION,
        "ARM_TENANT_ID": azure.tenant_id,
        "ARM_CLIENT_ID": azure.client_id,
        "ARM_METADATA_HOSTNAME": f"localhost:{azure.port}",
        "ARM_DISABLE_INSTANCE_DISCOVERY": "true",
    }
    inherited = connected_environment(azure, engine_bin)
    return {**{name: value for name, value in inherited.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}, **variables}


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_the_commands_run_as_they_stand_and_leave_nothing(azure: EmbeddedAzure, clone: Path, environment: dict[str, str]) -> None:
    outputs: list[str] = []
    for command in commands():
        done = subprocess.run(
            ["sh", "-c", command], cwd=clone, env=environment, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        outputs.append(done.stdout)
    ran = next(output for command, output in zip(commands(), outputs, strict=True) if " operations run " in command)
    first, *_, last = ran.splitlines()
    assert first.startswith("hello from ")
    assert '"passed": true' in last
    assert "nothing runs" in outputs[-2]
    left = azure.get(f"/subscriptions/{SUBSCRIPTION}/resourceGroups", "2024-03-01").json()["value"]
    assert [group["name"] for group in left if "tonight" in group["name"]] == []
