"""Reads a project for one of Azure Machine Learning's retired clients: all of its files together.

What belongs to none of the clients is skipped."""

import ast
from collections.abc import Iterable, Iterator

from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.formats import conda_file
from azure_gpu.formats.old_machine_learning import commands, scoring_script, sdk, workbench
from azure_gpu.formats.old_machine_learning.pieces import COMMANDS, COMPUTE, CONDA, RUN, SCRIPT, Piece, is_scoring_script, pieces
from azure_gpu.formats.old_machine_learning.project import Machine, OldProject, Packages, Run, ScoringScript


def belongs(file: str, text: str) -> bool:
    """Whether there is anything of theirs in it."""
    return bool(pieces(file, text))


def read(files: Iterable[tuple[str, str]]) -> tuple[OldProject, list[Problem]]:
    """Each file is its name, as the user has it, and its text."""
    found = [piece for file, text in files for piece in pieces(file, text)]
    machines: list[Machine] = []
    runs: list[Run] = []
    packages: list[Packages] = []
    problems: list[Problem] = []
    for piece in found:
        if piece.kind == COMPUTE:
            machine, wrong = workbench.read_compute(piece.text, piece.file)
            machines += [machine] if machine else []
            problems += wrong
        elif piece.kind == RUN:
            run, wrong = workbench.read_run(piece.text, piece.file)
            runs += [run] if run else []
            problems += wrong
        elif piece.kind == COMMANDS:
            attached, submitted = commands.read(piece.text, piece.file)
            machines += attached
            runs += submitted
        elif piece.kind == CONDA:
            try:
                packages.append(_packages(piece))
            except conda_file.CondaFileError as error:
                problems.append(Problem(piece.file, f"not a conda file: {error}", fix="list packages under dependencies"))
    scoring, trees, wrong = _scripts(piece for piece in found if piece.kind == SCRIPT)
    script = sdk.scripts(trees)
    return (
        OldProject(
            tuple(_merged(machines)),
            tuple(runs),
            tuple(packages),
            tuple(script.clusters),
            tuple(script.services),
            tuple(script.models),
            tuple(scoring),
        ),
        [*problems, *wrong, *script.problems],
    )


def _scripts(found: Iterable[Piece]) -> tuple[list[ScoringScript], list[tuple[ast.Module, str]], list[Problem]]:
    scoring: list[ScoringScript] = []
    trees: list[tuple[ast.Module, str]] = []
    problems: list[Problem] = []
    for piece in found:
        try:
            tree = ast.parse(piece.text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = getattr(error, "lineno", None) or 1
            message = "this isn't Python 3, and is passed over"
            problems.append(Problem(f"{piece.file}:{line}", message, fix="mend it, or leave it out", severity=Severity.WARNING))
            continue
        if is_scoring_script(piece.text):
            scoring.append(scoring_script.read(tree, piece.file))
        else:
            trees.append((tree, piece.file))
    return scoring, trees, problems


def _packages(piece: Piece) -> Packages:
    conda = conda_file.read(piece.text)
    lines: dict[str, int] = {}
    for number, line in enumerate(piece.text.splitlines(), start=1):
        lines.setdefault(line.partition("- ")[2].partition(" #")[0].strip().strip("'\""), number)
    return Packages(piece.file, conda, tuple(lines.get(package.text, 1) for package in conda.packages))


def _merged(machines: Iterable[Machine]) -> Iterator[Machine]:
    """What a page's command attaches, and a piece of its `.compute` file further down, are one machine."""

    def is_whole(machine: Machine) -> bool:
        return bool(machine.kind) or any(setting.name == "address" for setting in machine.settings)

    whole: list[Machine] = []
    for machine in machines:
        if is_whole(machine) or not whole:
            whole.append(machine)
        else:
            last = whole[-1]
            whole[-1] = last._replace(gpu=last.gpu or machine.gpu, settings=(*last.settings, *machine.settings))
    yield from whole
