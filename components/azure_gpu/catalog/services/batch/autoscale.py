"""Limits of autoscale formulas of Batch pools, and of their evaluation interval."""

import re
from collections.abc import Iterator
from datetime import timedelta

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services.batch import sources
from azure_gpu.catalog.sources import Dated, Source

DEFAULT_INTERVAL = timedelta(minutes=15)
SHORTEST_INTERVAL = timedelta(minutes=5)
LONGEST_INTERVAL = timedelta(hours=168)
INTERVALS = Source(
    "Microsoft Learn, dotnet/api/azure.compute.batch: BatchPoolSpecification.AutoScaleEvaluationInterval",
    Dated.OBSERVED,
    sources.PROVIDER.day,
)
LONGEST_FORMULA = 8 * 1024  # characters
MOST_STATEMENTS = 100
ENOUGH_SAMPLES = 70  # percent of the samples of a period; with fewer, the documented formulas use only the last sample


def interval_problems(interval: timedelta, path: str) -> Iterator[Problem]:
    """The interval at which a formula is evaluated."""
    if not SHORTEST_INTERVAL <= interval <= LONGEST_INTERVAL:
        yield Problem(
            path=path,
            message="Batch evaluates a formula at most every 5 minutes and at least every 168 hours",
            value=str(interval),
            allowed="PT5M to PT168H",
            fix="leave it out: the default is PT15M",
            source=str(INTERVALS),
            code=Code.IMPOSSIBLE,
        )


def formula_problems(formula: str, path: str) -> Iterator[Problem]:
    """The length of a formula and the number of its statements."""
    if len(formula) > LONGEST_FORMULA:
        yield Problem(
            path=path,
            message=f"an autoscale formula has at most {LONGEST_FORMULA} characters",
            value=len(formula),
            allowed=f"at most {LONGEST_FORMULA}",
            fix="shorten it",
            source=str(sources.AUTOSCALE),
            code=Code.IMPOSSIBLE,
        )
    without_comments = re.sub(r"//.*", "", formula)
    statements = len([part for part in without_comments.split(";") if part.strip()])
    if statements > MOST_STATEMENTS:
        yield Problem(
            path=path,
            message=f"an autoscale formula has at most {MOST_STATEMENTS} statements",
            value=statements,
            allowed=f"at most {MOST_STATEMENTS}",
            fix="merge some",
            source=str(sources.AUTOSCALE),
            code=Code.IMPOSSIBLE,
        )
