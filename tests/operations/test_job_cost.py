"""What an execution costs. The figures are those of the meters' source, for East US on 2026-08-01, added up by hand."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from azure_gpu_operations import job_cost
from azure_gpu_operations.job_bodies import Job, job_of

T4, A100 = "Consumption-GPU-NC8as-T4", "Consumption-GPU-NC24-A100"
DAY = date(2026, 11, 21)


def job(cpu: float | None = 8, memory: str = "56Gi", location: str = "eastus", parallelism: int = 1) -> Job:
    container: dict[str, Any] = {"name": "c", "resources": {"cpu": cpu, "memory": memory}}
    configuration = {"manualTriggerConfig": {"parallelism": parallelism}}
    properties = {"template": {"containers": [container]}, "configuration": configuration}
    return job_of({"id": "/x", "name": "j", "location": location, "properties": properties})


@pytest.mark.parametrize(
    ("asked", "profile", "usd_hour"),
    [
        (job(), T4, "1.5588"),  # 3600 s of a T4 at 0.000073, 8 vCPU at 0.000024, 56 GiB at 0.000003
        (job(4, "16Gi"), T4, "0.7812"),
        (job(4, "16Gi", "East US"), T4, "0.7812"),
        (job(4, "16Gi", parallelism=2), T4, "1.5624"),
        (job(24, "220Gi"), A100, "6.354"),
    ],
)
def test_an_hour_costs_gpu_processors_and_memory_of_every_replica(asked: Job, profile: str, usd_hour: str) -> None:
    price = job_cost.hourly_price(asked, profile)
    assert price is not None
    assert price.usd_hour == Decimal(usd_hour)
    assert price.day == date(2026, 8, 1)


@pytest.mark.parametrize(
    ("asked", "profile"),
    [
        (job(location="westeurope"), T4),
        (job(), "Consumption"),
        (job(), "NC24-A100"),
        (job(), ""),
        (job(None), T4),
        (job(memory=""), T4),
    ],
)
def test_what_is_not_known_stays_unknown(asked: Job, profile: str) -> None:
    assert job_cost.hourly_price(asked, profile) is None


def test_the_summary_has_minutes_cost_and_where_the_price_is_from() -> None:
    price = job_cost.hourly_price(job(4, "16Gi"), T4)
    assert job_cost.summary(300, price, DAY) == "5.0 minutes, 0.07 USD at 0.7812 USD/hour (list price of 2026-08-01)"
    assert job_cost.summary(3, price, DAY).startswith("0.05 minutes, 0.0007 USD at ")
    assert job_cost.summary(0.3, price, DAY).startswith("0.01 minutes, less than 0.0001 USD at ")
    assert job_cost.summary(300, None, DAY) == "5.0 minutes, cost isn't known"
    assert job_cost.summary(None, price, DAY) == "its time isn't known, cost isn't known"
