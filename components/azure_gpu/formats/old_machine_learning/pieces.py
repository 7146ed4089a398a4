"""Splits a file into pieces of one kind each: most files are one piece, a page or a notebook has one for each block of code.

A file without anything of a retired client of Azure Machine Learning has no pieces. Each piece keeps its lines in the file, for
the paths of problems."""

import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import PurePath
from typing import Any, NamedTuple, cast

from azure_gpu.catalog.services.machine_learning.old_settings import COMPUTE_FILE, RUN_FILE
from azure_gpu.formats.old_machine_learning import commands

MOST_BLOCKS = 200  # of one page
COMPUTE, RUN, CONDA, SCRIPT, COMMANDS = "compute", "run", "conda", "script", "commands"

_FENCE = re.compile(r"(```+|~~~+)[ \t]*(\w*)")
_PYTHON = ("python", "py", "ipython")
_SDK = re.compile(
    r"^[ \t]*(?:from|import)[ \t]+azureml\b|\b(?:AksCompute|AksWebservice|InferenceConfig|aks_service)\b", re.MULTILINE
)
_RAW_SCRIPT = re.compile(r"^def (?:init|run)\(", re.MULTILINE)
_DEPENDENCIES = re.compile(r"^[ \t]*dependencies:[ \t]*(?:#.*)?$", re.MULTILINE)
_LEFT_OUT = re.compile(r"^[ \t]*\.\.\.[ \t]*$", re.MULTILINE)  # how pages show that something stands there; to YAML an end
_MAGIC = re.compile(r"^(?=[ \t]*[%!])", re.MULTILINE)


class Piece(NamedTuple):
    """`text` begins with as many empty lines as stand before it in the file."""

    kind: str
    file: str
    text: str


def pieces(file: str, text: str) -> list[Piece]:
    """What there is, in its order."""
    suffix = PurePath(file).suffix.lower()
    if suffix == ".ipynb":
        return [piece for cell in _cells(text, file) for piece in cell]
    if suffix == ".compute":
        return [Piece(COMPUTE, file, text)]
    if suffix == ".runconfig":
        return [Piece(RUN, file, text)]
    if suffix == ".py":
        return [Piece(SCRIPT, file, text)] if _SDK.search(text) else []
    blocks = (piece for language, code, first in _blocks(text) for piece in _of_block(language, code, first, file))
    if fenced := list(islice(blocks, MOST_BLOCKS)):
        return fenced
    kind = _kind_of_yaml(text) if suffix in (".yml", ".yaml", "") else ""
    if kind:
        return [Piece(kind, file, text)]
    return [Piece(COMMANDS, file, text)] if commands.has_commands(text) else []


def _blocks(text: str) -> Iterator[tuple[str, str, int]]:
    """Language and code of each block of a page, and how many lines stand before it. One that is never closed is none."""
    fence, language, first = "", "", 0
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if fence and line.rstrip() == fence:
            yield language, "".join(f"{one}\n" for one in lines[first:number]), first
            fence = ""
        elif not fence and (opening := _FENCE.match(line)):
            fence, language, first = opening[1], opening[2].lower(), number + 1


def _of_block(language: str, code: str, first: int, file: str) -> Iterator[Piece]:
    above = "\n" * first
    if commands.has_commands(code):
        yield Piece(COMMANDS, file, above + code)
    elif language in _PYTHON:
        yield Piece(SCRIPT, file, above + code)
    elif language in ("yaml", "yml", "json", "") and (kind := _kind_of_yaml(code)):
        yield Piece(kind, file, above + _LEFT_OUT.sub("", code))


def _kind_of_yaml(text: str) -> str:
    """A glance at the keys. They may be quoted, and a page shows pieces of files."""
    if _DEPENDENCIES.search(text):
        return CONDA
    keys = {key.lower() for key in re.findall(r"""^["']?(\w+)["']?[ \t]*:""", text, re.MULTILINE)}
    for kind, table in ((RUN, RUN_FILE), (COMPUTE, COMPUTE_FILE)):
        if keys and keys <= {name.lower() for name in table} and keys != {"type"}:
            return kind
    return ""


def _cells(text: str, file: str) -> Iterator[list[Piece]]:
    """A notebook's cells of code, as one script each; lines are counted within the cell."""
    try:
        notebook: Any = json.loads(text)
    except (ValueError, RecursionError):
        return
    cells = cast(list[Any], cast(dict[str, Any], notebook).get("cells") or []) if isinstance(notebook, dict) else []
    found = [
        Piece(SCRIPT, f"{file}[cell {number}]", _MAGIC.sub("# ", _source(cast(dict[str, Any], cell))))
        for number, cell in enumerate(cells, start=1)
        if isinstance(cell, dict) and cast(dict[str, Any], cell).get("cell_type") == "code"
    ]
    if any(_SDK.search(piece.text) for piece in found):
        yield found


def _source(cell: dict[str, Any]) -> str:
    source = cell.get("source") or ""
    return "".join(str(line) for line in cast(list[Any], source)) if isinstance(source, list) else str(source)


def is_scoring_script(text: str) -> bool:
    """Whether it has the two functions that the inference server calls."""
    return len(set(_RAW_SCRIPT.findall(text))) == 2
