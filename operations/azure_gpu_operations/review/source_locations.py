"""Finds the file and line of a key of a stack, and so of each problem and warning.

A path has the form of a problem's path, such as `pools.train.size`. A missing key gets the line of the nearest key around it; a
path without a section in the files gets no line.
"""

import re
from collections.abc import Iterable, Mapping

from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.formats import located_yaml
from azure_gpu.stack.keys import config_key
from azure_gpu_operations.review.model import Finding, SourceLocation

NOWHERE = SourceLocation("", 0)


class SourceLocations:
    """The lines of a stack's files, its own first. `texts`: of each, by its path from the root of the repository."""

    def __init__(self, texts: Mapping[str, str], project: str) -> None:
        self._prefix = f"config.{config_key('', project)}"
        self._files = [(file, _lines(file, text)) for file, text in texts.items()]

    def of(self, path: str) -> SourceLocation:
        """The location of a problem's path; NOWHERE if no file has its section."""
        around = path
        while around:
            for file, lines in self._files:
                line = lines.get(f"{self._prefix}{around}") or lines.get(f"config.{around}")
                if line:
                    return SourceLocation(file, line)
            around = re.sub(r"(\.[^.\[\]]+|\[[^\]]*\]|^[^.\[\]]+)$", "", around)
        return NOWHERE


def _lines(file: str, text: str) -> dict[str, int]:
    document, _ = located_yaml.read(text, file)
    return dict(document.lines) if document is not None else {}


_LINE = re.compile(r"^\s*- (?P<path>[^:\s]+(?:\[[^\]]*\])?[^:\s]*): (?P<message>.+)$")
# What frames the list of problems, and the engine's own words about a program that ended.
_HEADING = re.compile(r"^(\d+ problems? in the configuration|an unhandled error occurred: program exited)")
_TRACE = "Traceback (most recent call last)"
_UNREAD = "UNREAD"  # code of a message that only the program prints


def of_problems(problems: Iterable[Problem], places: SourceLocations, before: Iterable[Problem]) -> tuple[Finding, ...]:
    """`before`: those of the base, which aren't news."""
    known = {str(each) for each in before}
    return tuple(
        Finding(
            severity="error" if each.severity is Severity.ERROR else "warning",
            code=each.code.value,
            path=each.path,
            message=str(each),
            place=places.of(each.path),
            is_new=str(each) not in known,
        )
        for each in problems
    )


def of_errors(errors: Iterable[str], places: SourceLocations) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """The problems in a preview's errors, and all other lines."""
    found: dict[str, Finding] = {}
    rest: list[str] = []
    for error in errors:
        for line in error.splitlines():
            match = _LINE.match(line)
            if match:
                message = f"{match['path']}: {match['message']}"
                found[message] = Finding("error", _UNREAD, match["path"], message, places.of(match["path"]), is_new=True)
            elif line.strip() and not _HEADING.match(line.strip()):
                rest.append(line.strip())
        if any(line.startswith(_TRACE) for line in rest):  # of the program: its last line has the exception
            rest = [*(line for line in rest if not line.startswith(("File ", _TRACE)))][-1:]
    return tuple(found.values()), tuple(dict.fromkeys(rest))
