"""Formulas by which Azure Batch scales a pool: `$TargetDedicatedNodes = min(4, $PendingTasks);`.

`parse` and `formula_problems` report everything that is wrong with a formula, with line and column; `evaluate` and `as_text`
return the numbers of nodes that it requests, in the service's form."""

from azure_gpu.formats.autoscale_formula.evaluation import Evaluation, Targets, as_text, evaluate, results_of
from azure_gpu.formats.autoscale_formula.formula import Formula, FormulaError, formula_problems, parse
from azure_gpu.formats.autoscale_formula.functions import Samples
from azure_gpu.formats.autoscale_formula.language import Interval, Value

__all__ = [
    "Evaluation", "Formula", "FormulaError", "Interval", "Samples", "Targets", "Value", "as_text", "evaluate", "formula_problems",
    "parse", "results_of",
]  # fmt: skip
