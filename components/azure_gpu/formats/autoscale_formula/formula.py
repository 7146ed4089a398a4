"""A parsed and checked formula, or every error with its line and column."""

from typing import NamedTuple

from azure_gpu.formats.autoscale_formula import checks, syntax
from azure_gpu.formats.autoscale_formula.syntax import Fault, Statement

_MOST_MESSAGE = 300  # characters: a name can be as long as a formula


class FormulaError(NamedTuple):
    """What is wrong, and where: lines and columns count from 1."""

    message: str  # no full stop at the end
    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message}"


class Formula(NamedTuple):
    """A formula without faults."""

    text: str
    statements: tuple[Statement, ...]


def parse(text: str) -> tuple[Formula | None, list[FormulaError]]:
    """The formula, or what keeps it from being one: all that can't be read, else unknown names and wrong types; 20 at most."""
    statements, faults = syntax.read(text)
    if not faults:
        faults = (
            [Fault("the formula is empty: it sets no number of nodes", 0)] if not statements else checks.faults_of(statements)
        )
    if faults:
        return None, [placed(text, fault) for fault in sorted(faults, key=lambda fault: fault.at)[: checks.MOST_FAULTS]]
    return Formula(text, tuple(statements)), []


def placed(text: str, fault: Fault) -> FormulaError:
    """A fault with its line and column."""
    before = text[: fault.at]
    message = fault.message if len(fault.message) <= _MOST_MESSAGE else fault.message[:_MOST_MESSAGE] + "…"
    return FormulaError(message, before.count("\n") + 1, fault.at - (before.rfind("\n") + 1) + 1)
