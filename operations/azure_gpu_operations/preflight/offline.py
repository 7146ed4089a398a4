"""Checks needs against the catalog only. Problems of a stack come from `program`."""

from collections.abc import Sequence
from datetime import date

from azure_gpu.catalog import offers, regions
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.size_use import SizeUse


def problems(needs: Sequence[SizeUse], as_of: date) -> list[Problem]:
    """Every problem of every need, and of every region once."""
    of_regions = [problem for each in dict.fromkeys(need.region for need in needs) for problem in regions.check(each, "region")]
    return [*of_regions, *(problem for need in needs for problem in offers.check(need, as_of, prices=packaged()))]
