"""The commands that README.md and the pages of docs/ print, and the list that says of each what runs it or why nothing does.

A command is a line of a block of shell, or words between backticks that begin with `make`, `eval`, or one of this project's own
programs and leave nothing open. `…`, a comment and the output below `$` aren't part of it. The list is `page_commands.yaml`.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.support.embedded import CHECKOUT

PAGES = (CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md")))
LIST = Path(__file__).parent / "page_commands.yaml"
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SHELL = ("", "sh", "bash")
_INDENTED = re.compile(r"(?:^ {4}\S.*\n)+", re.MULTILINE)
_INLINE = re.compile(r"`([^`\n]+)`")
_PROGRAMS = r"make|eval|python|pip|pulumi|az|gh|git|cd|export|\.venv/bin/[\w-]+|azure-gpu"
_COMMAND = re.compile(rf"(?:\w+=\S+ )*(?:{_PROGRAMS})(?: .*)?")
_OURS = re.compile(r'make [\w.=/-].*|eval "\$\(.*|(?:\.venv/bin/)?python -m (?:operations|localazure) [a-z-]+ .*')
_OPEN = re.compile(r"…|\b(?!HEAD\b)[A-Z]{2,}\b(?!=)|<|--stack S\b")  # something that the reader puts in


class Step(NamedTuple):
    """One command of the list that is run, and the exit code that it ends with."""

    command: str
    code: int = 0


@cache
def printed() -> dict[str, str]:
    """Every command, with the first page that prints it."""
    found: dict[str, str] = {}
    for page in PAGES:
        for command in _of_page(page.read_text(encoding="utf-8")):
            found.setdefault(command, page.relative_to(CHECKOUT).as_posix())
    return found


def _of_page(text: str) -> Iterator[str]:
    for language, block in _BLOCK.findall(text):
        if language in _SHELL:
            yield from _of_block(block)
    prose = _BLOCK.sub("", text)
    for block in _INDENTED.findall(prose):
        yield from _of_block(re.sub(r"^ {4}", "", block, flags=re.MULTILINE))
    for words in _INLINE.findall(prose):
        if _OURS.fullmatch(words) and not _OPEN.search(words):
            yield words


def _of_block(block: str) -> Iterator[str]:
    lines = re.sub(r"\\\n\s*", "", block).splitlines()
    typed = [line[2:] for line in lines if line.startswith("$ ")]
    for line in typed or lines:
        command = re.sub(r"\s+#(?= ).*|\s{3,}\S.*", "", line).strip()
        if _COMMAND.fullmatch(command):
            yield command


@cache
def listed() -> dict[str, Any]:
    """The list: `run` by setting, `tested` by test, and `not_here` by reason."""
    content: dict[str, Any] = yaml.safe_load(LIST.read_text(encoding="utf-8"))
    return content


def steps(setting: str) -> list[Step]:
    """What is run in one setting, in order. A command that ends with another exit code than 0 is a mapping to that."""
    given = listed()["run"][setting]
    return [Step(*next(iter(each.items()))) if isinstance(each, dict) else Step(each) for each in given]
