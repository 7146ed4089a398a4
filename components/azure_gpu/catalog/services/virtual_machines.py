"""What holds for plain virtual machines beyond what holds for every service.

In: a size, its use and the day. Out: problems.
"""

from collections.abc import Iterator
from datetime import date

from azure_gpu.catalog.lifecycle import WARNING_DAYS, Status
from azure_gpu.catalog.problems import Code, End, Problem, Severity
from azure_gpu.catalog.size_use import SizeUse
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.catalog.sources import RETIREMENTS


def size_problems(size: Size, use: SizeUse, as_of: date) -> Iterator[Problem]:
    """A series whose end is announced is closed to subscriptions that have none of it yet, long before its last day.

    Within the last days before the end, `catalog.lifecycle` warns of the end itself, and nothing is said here.
    """
    end = size.lifecycle.end_in(use.region)
    if end is None or as_of < RETIREMENTS.day or size.lifecycle.status(as_of, use.region) is not Status.RETIRING:
        return
    if (end.day - as_of).days > WARNING_DAYS:
        yield Problem(
            path=use.path,
            message=f"the end of {size.name} on {end.day.isoformat()} is announced, so a new subscription doesn't get it",
            value=use.size,
            fix="choose a size whose end isn't announced, or use a subscription that has this series already",
            source=str(RETIREMENTS),
            code=Code.RETIRING,
            severity=Severity.WARNING,
            end=End(size.name, end.day),
        )
