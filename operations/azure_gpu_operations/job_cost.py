"""Cost of an execution of a job: the meters of its workload profile times its duration; None if the price isn't known."""

import re
from datetime import date
from decimal import Decimal

from azure_gpu.catalog.prices.container_apps import packaged_meters
from azure_gpu.catalog.prices.price_book import Price
from azure_gpu.catalog.services.container_apps import PROFILES
from azure_gpu_operations.job_bodies import Job

UNKNOWN = "cost isn't known"
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)Gi")


def hourly_price(job: Job, profile_type: str) -> Price | None:
    """What all replicas of one execution cost an hour: GPU, vCPUs and memory. None for a profile without a known meter."""
    profile = PROFILES.get(profile_type)
    if profile is None or profile.kind != "serverless":
        return None
    vcpus, memory = Decimal(0), Decimal(0)
    for container in job.containers:
        resources = container.get("resources") or {}
        amount = _MEMORY.fullmatch(str(resources.get("memory", "")))
        if not resources.get("cpu") or amount is None:
            return None
        vcpus += Decimal(str(resources["cpu"]))
        memory += Decimal(amount[1])
    price = packaged_meters().hourly_cost(vcpus, memory, profile.gpu, job.location)
    return price and price._replace(usd_hour=price.usd_hour * job.parallelism)


def cost(price: Price | None, seconds: float | None) -> Decimal | None:
    """USD for a number of seconds; None if price or time isn't known."""
    if price is None or seconds is None:
        return None
    return price.usd_hour * Decimal(str(seconds)) / 3600


def summary(seconds: float | None, price: Price | None, today: date) -> str:
    """`2.3 minutes, 0.04 USD at 1.07 USD/hour (list price of 2026-08-01)`."""
    took = "its time isn't known" if seconds is None else minutes(seconds)
    return f"{took}, {paid(cost(price, seconds), price, today)}"


def minutes(seconds: float) -> str:
    return f"{seconds / 60:.{1 if seconds >= 60 else 2}f} minutes"


def paid(usd: Decimal | None, price: Price | None, today: date, *, whose: str = "", each: str = "") -> str:
    """`0.04 USD for its node at 0.53 USD/hour a node (list price of 2026-08-01)`, with `whose` and `each`."""
    if usd is None or price is None:
        return UNKNOWN
    return f"{money(usd)}{whose} at {price.text(today).replace(' USD/hour', f' USD/hour{each}')}"


def money(amount: Decimal) -> str:
    """US dollars in cents, and in more digits below a cent."""
    if amount >= Decimal("0.01") or not amount:
        return f"{amount:.2f} USD"
    return f"{amount:.4f} USD" if amount >= Decimal("0.0001") else "less than 0.0001 USD"
