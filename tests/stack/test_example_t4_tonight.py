"""The commands of examples/t4-tonight/README.md, read out of it and run as they stand, in a copy of the checkout."""

from pathlib import Path

import pytest

from tests.support.embedded import CHECKOUT, ServedAzure
from tests.support.readme_commands import commands_in, copied, groups_left, login, priced, walked

README = CHECKOUT / "examples" / "t4-tonight" / "README.md"
MOST_COMMANDS = 6


def test_six_commands_at_most_lead_to_a_gpu_each_with_its_minutes_and_its_cost() -> None:
    assert len(commands_in(README)) <= MOST_COMMANDS
    priced(README)


def test_the_hours_price_in_the_text_is_the_catalogs() -> None:
    from azure_gpu_operations.job_cost import hourly_price
    from azure_gpu_operations.jobs import job_of

    resources = {"cpu": 4, "memory": "16Gi"}
    job = job_of(
        {"id": "/x", "name": "x", "location": "eastus", "properties": {"template": {"containers": [{"resources": resources}]}}}
    )
    price = hourly_price(job, "Consumption-GPU-NC8as-T4")
    assert price is not None
    assert f"{price.usd_hour:.2f} USD for each hour" in README.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_the_commands_run_as_they_stand_and_leave_nothing(azure: ServedAzure, engine_bin: Path, tmp_path: Path) -> None:
    commands = commands_in(README)
    outputs = walked(commands, copied(tmp_path / "clone", installed=False), login(azure, engine_bin))
    ran = next(output for command, output in zip(commands, outputs, strict=True) if " operations run " in command)
    first, *_, last = ran.splitlines()
    assert first.startswith("hello from ")
    assert '"passed": true' in last
    assert "nothing is running" in outputs[-2]
    assert groups_left(azure, "tonight") == []
