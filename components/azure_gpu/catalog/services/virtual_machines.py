"""Rules for plain virtual machines, in addition to the general rules."""

from collections.abc import Iterator
from datetime import date

from azure_gpu.catalog.lifecycle import WARNING_DAYS, Status
from azure_gpu.catalog.problems import End, Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.size_use import SizeUse
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.catalog.sources import RETIREMENTS


def size_problems(size: Size, use: SizeUse, as_of: date) -> Iterator[Problem]:
    """A warning that a retiring series is closed to subscriptions that don't have it yet.

    In the last days before the end, `catalog.lifecycle` warns instead.
    """
    end = size.lifecycle.end_in(use.region)
    if end is None or as_of < RETIREMENTS.day or size.lifecycle.status(as_of, use.region) is not Status.RETIRING:
        return
    if (end.day - as_of).days > WARNING_DAYS:
        yield refused("vm.closed_to_new_subscriptions", use.path, use.size, size=size, last=end)._replace(
            end=End(size.name, end.day)
        )
