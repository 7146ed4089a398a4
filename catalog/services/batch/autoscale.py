"""Automatic scaling of Batch pools: the service's variables, its intervals and the limits of a formula.

In: an evaluation interval. Out: problems; `FACTS` has what no rule decides by.
"""

import re
from collections.abc import Iterator
from datetime import timedelta

from catalog.facts import Fact
from catalog.problems import Code, Problem
from catalog.services.batch import sources
from catalog.sources import Dated, Source

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
ENOUGH_SAMPLES = 70  # percent of the samples of a period; with fewer the documented formulas use the last sample alone

FACTS: tuple[Fact, ...] = (
    # What a formula may set, and what each means today.
    Fact("$TargetDedicatedNodes", "nodes that aren't interrupted", sources.AUTOSCALE),
    Fact("$TargetLowPriorityNodes", "Spot nodes, in both allocation modes", sources.SPOT),
    Fact(
        "$NodeDeallocationOption",
        "what becomes of tasks on a node that is taken away: requeue (default), terminate, taskcompletion or retaineddata",
        sources.AUTOSCALE,
    ),
    # What a formula may read, of those that matter for scaling by work.
    Fact("$ActiveTasks", "tasks ready to run that don't run yet", sources.AUTOSCALE),
    Fact("$PendingTasks", "active and running tasks together", sources.AUTOSCALE),
    Fact("$PreemptedNodeCount", "Spot nodes that were taken away", sources.AUTOSCALE),
    Fact(
        "too few samples",
        f"where GetSamplePercent of 15 minutes is under {ENOUGH_SAMPLES}, take the last sample, else the greater of the last "
        "sample and the average",
        sources.AUTOSCALE,
    ),
    Fact(
        "scale to zero",
        "target = min(cap, pending), the other target 0, $NodeDeallocationOption = taskcompletion; a common "
        "sample of Microsoft's halves the pool when it is idle and so never reaches 0",
        sources.AUTOSCALE,
    ),
    Fact(
        "MPI under a formula",
        "a formula over pending tasks can starve multi-instance tasks, which users saw counted as one task each; the page of "
        "2019-10-24 says that $ActiveTasks counts their instances",
        Source("Azure/batch-shipyard issue 343; Azure/Batch issues 117 and 151", Dated.OBSERVED, sources.PROVIDER.day),
    ),
)


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
            fix="put several into one",
            source=str(sources.AUTOSCALE),
            code=Code.IMPOSSIBLE,
        )
