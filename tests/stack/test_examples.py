"""What the READMEs of examples say of each command's minutes and costs. That the commands run: `test_example_*.py`."""

from decimal import Decimal

import pytest

from azure_gpu.catalog.prices import packaged
from azure_gpu_operations.job_bodies import job_of
from azure_gpu_operations.job_cost import hourly_price
from tests.support.embedded import CHECKOUT
from tests.support.readme_commands import commands_in, priced

MOST_COMMANDS = 6  # to a GPU
NODE = "Standard_NC4as_T4_v3"


def cheapest() -> Decimal | None:
    price, _ = packaged().cheapest(NODE, "eastus")
    return price.usd_hour if price else None


def on_demand() -> Decimal | None:
    price = packaged().on_demand(NODE, "eastus")
    return price.usd_hour if price else None


def of_a_job() -> Decimal | None:
    template = {"containers": [{"resources": {"cpu": 4, "memory": "16Gi"}}]}
    job = job_of({"id": "/x", "name": "x", "location": "eastus", "properties": {"template": template}})
    price = hourly_price(job, "Consumption-GPU-NC8as-T4")
    return price.usd_hour if price else None


PRICES = {
    "batch-mnist": (cheapest, "an hour for the node"),
    "blue-green": (on_demand, "an hour for blue's machine"),
    "shared-gpu": (cheapest, "an hour for the GPU's node"),
    "t4-tonight": (of_a_job, "for each hour"),
}


@pytest.mark.parametrize("example", [*PRICES, "private-team", "spoke", "take-over"])
def test_each_command_has_its_minutes_and_its_cost_and_an_hour_the_catalogs_price(example: str) -> None:
    readme = CHECKOUT / "examples" / example / "README.md"
    priced(readme)
    if example in PRICES:
        price, words = PRICES[example]
        assert f"{price():.2f} USD {words}" in readme.read_text(encoding="utf-8")


def test_six_commands_at_most_lead_to_a_gpu() -> None:
    assert len(commands_in(CHECKOUT / "examples" / "t4-tonight" / "README.md")) <= MOST_COMMANDS
