"""A parsed and checked formula, or every error with its line and column, also as problems.

The limits on its length and its number of statements are the catalog's, in `catalog.services.batch.scale`."""

from collections.abc import Iterator
from typing import NamedTuple

from azure_gpu.catalog import spelling
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats.autoscale_formula import checks, language, syntax
from azure_gpu.formats.autoscale_formula.syntax import FaultError, Statement

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
        empty = [FaultError("the formula is empty: it sets no number of nodes", 0)]
        faults = checks.faults_of(statements) if statements else empty
    if faults:
        return None, [placed(text, fault) for fault in sorted(faults, key=lambda fault: fault.at)[: checks.MOST_FAULTS]]
    return Formula(text, tuple(statements)), []


def placed(text: str, fault: FaultError) -> FormulaError:
    """A fault with its line and column."""
    before = text[: fault.at]
    message = fault.message if len(fault.message) <= _MOST_MESSAGE else fault.message[:_MOST_MESSAGE] + "…"
    return FormulaError(message, before.count("\n") + 1, fault.at - (before.rfind("\n") + 1) + 1)


def formula_problems(text: str, path: str) -> list[Problem]:
    """Errors: what can't be read, unknown names, wrong types. Warnings: a formula that sets no number of nodes, or nearly."""
    formula, errors = parse(text)
    if formula is None:
        return [refused("autoscale.faulty", path, _line(text, error.line), error=error) for error in errors]
    return list(_warnings(formula, path))


def _warnings(formula: Formula, path: str) -> Iterator[Problem]:
    targets = [statement.target for statement in formula.statements if statement.target]
    by_lower = {name.lower(): name for name in language.WRITABLE}
    for target in targets:
        near = spelling.nearest(target.name.lower(), by_lower, 1, 0.85)
        if target.name not in language.WRITABLE and target.name.startswith("$") and near:
            message = f"{target.name} is a variable of the formula's own, and no node depends on it"
            error = placed(formula.text, FaultError(message, target.at))
            value = _line(formula.text, error.line)
            yield refused("autoscale.misspelt_target", path, value, error=error, meant=by_lower[near[0]])
    if not any(target.name in language.TARGETS for target in targets):
        yield refused("autoscale.no_target", path, formula.text.strip()[:80], dedicated=language.DEDICATED, spot=language.SPOT)


def _line(text: str, line: int) -> str:
    """The line of the formula in which something is wrong."""
    lines = text.splitlines()
    return lines[line - 1].strip()[:120] if 0 < line <= len(lines) else ""
