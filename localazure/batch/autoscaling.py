"""Measures pools for their autoscale formulas, and evaluates the formulas.

The pool's counts are sampled every 30 seconds and at each evaluation. Samples are kept for a day, in memory: after a restart of
the embedded Azure a pool is measured again.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from azure_gpu.formats import autoscale_formula
from azure_gpu.formats.autoscale_formula import Evaluation, Targets
from localazure.arm.store import Body

SAMPLE_SECONDS = 30.0
_KEPT = timedelta(days=1)


class Measured:
    """The samples of one pool."""

    def __init__(self) -> None:
        self._rows: deque[tuple[datetime, tuple[float, ...]]] = deque()
        self._names: tuple[str, ...] = ()

    def add(self, now: datetime, values: Mapping[str, float]) -> None:
        """One sample of everything; the variables are the same each time."""
        self._names = tuple(values)
        self._rows.append((now, tuple(values.values())))
        while self._rows[0][0] < now - _KEPT:
            self._rows.popleft()

    def series(self, variable: str) -> Sequence[tuple[datetime, float]]:
        if variable not in self._names:
            return ()
        index = self._names.index(variable)
        return [(at, values[index]) for at, values in self._rows]


def evaluate(text: str, measured: Measured, now: datetime, targets: Targets) -> tuple[Targets, Body]:
    """What the pool is asked to have, and the run as it is shown. With an error the targets stay."""
    formula, errors = autoscale_formula.parse(text)
    if formula is None:
        before = autoscale_formula.as_text(autoscale_formula.results_of(targets))
        return targets, run(now, before, "; ".join(str(error) for error in errors))
    result: Evaluation = autoscale_formula.evaluate(formula, measured, now, targets=targets)
    error = str(result.error) if result.error else ""
    return result.targets, run(now, autoscale_formula.as_text(result.results), error)


def run(now: datetime, results: str, error: str) -> Body:
    body: Body = {"evaluationTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "results": results}
    if error:
        body["error"] = {"code": "AutoScalingFormulaEvaluationError", "message": error, "values": []}
    return body
