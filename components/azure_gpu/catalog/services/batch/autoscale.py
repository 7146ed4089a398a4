"""Automatic scaling of Batch pools: the service's variables, its intervals and the limits of a formula.

In: an evaluation interval. Out: problems; `FACTS` has what no rule decides by.
"""

import re
from collections.abc import Iterator
from datetime import date, timedelta

from azure_gpu.catalog.facts import Fact
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
    Fact("$TaskSlotsPerNode", "tasks that run on a node at the same time", sources.AUTOSCALE_2025),
    Fact("$UsableNodeCount", "nodes that can run tasks", sources.AUTOSCALE_2025),
    Fact("a sample", "one every 30 seconds, which a formula sees about a minute later", sources.AUTOSCALE),
    Fact(
        "part of a node",
        "is cut off: a target of 2.9 is 2",
        Source("Azure/Batch issue 151", Dated.OBSERVED, date(2023, 2, 9)),
    ),
    Fact(
        "the results of a run",
        "`$TargetDedicatedNodes=1;$TargetLowPriorityNodes=0;$NodeDeallocationOption=taskcompletion;$samples=96.6667;cap=3`: the "
        "service's variables, then the formula's own by name, six digits of each number",
        Source("an autoScaleRun in public, of a pool with its formula", Dated.OBSERVED, date(2025, 4, 24)),
    ),
    Fact(
        "a formula that can't be evaluated",
        "the run has the error AutoScalingFormulaEvaluationError and the targets of before, and the pool stays as it is",
        Source("Azure/azure-sdk-for-js, tests of @azure/batch", Dated.OBSERVED, sources.PROVIDER.day),
    ),
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
