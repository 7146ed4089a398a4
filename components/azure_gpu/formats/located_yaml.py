"""Reads YAML with the line of each value, as a person wrote it, and says everything that is wrong with it.

In: a file's text. Out: a `Document` and problems, each with its line; None where the text is no YAML at all. Nothing raises.
Values are those of YAML 1.1, which Azure's command line reads too, except that a date stays the text that it was written as, and
an unquoted `{{name}}`, to YAML a mapping whose key is a mapping, is the text PLACEHOLDER.
"""

import re
from collections.abc import Iterator
from typing import Any, cast

import yaml
from yaml.composer import ComposerError
from yaml.constructor import SafeConstructor
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.reader import ReaderError

from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.formats.document import Document
from azure_gpu.formats.lenient_json import member

LONGEST = 1_000_000  # characters; the files that this is for have some thousand
DEEPEST = 64
PLACEHOLDER = "{{…}}"
MOST_VALUES = 50_000  # an alias repeats all that it stands for, so that a few lines can say billions

_TAG = "tag:yaml.org,2002:"
_MERGE = f"{_TAG}merge"
_QUOTED = re.compile(r"\s*'[^']{2,}'|\s*\"[^\"]{2,}\"")
_SHOWN_LINES = 5
_MOST_BITS = 1000  # beyond, a number is none that a float can hold, nor one that Python writes out


def read(text: str, file: str) -> tuple[Document | None, list[Problem]]:
    """The first document of the text. `file` is how the user named it."""
    if len(text) > LONGEST:
        return None, [Problem(path=file, message=f"the file has {len(text)} characters", allowed=f"at most {LONGEST}")]
    loader: _Loader | None = None
    try:
        loader = _Loader(text.removeprefix("\ufeff"))
        nodes = list(_documents(loader))
    except yaml.MarkedYAMLError as error:
        return None, [_malformed(error, text, file)]
    except ReaderError as error:
        line = text.count("\n", 0, _position(error)) + 1
        return None, [Problem(path=f"{file}:{line}", message="a character here is not text that YAML takes", fix="remove it")]
    finally:
        if loader is not None:
            cast(Any, loader).dispose()
    if not nodes:
        return None, [Problem(path=file, message="the file is empty")]
    return _Values(file).document(nodes)


class _Loader(yaml.SafeLoader):
    """Composes nodes, up to a depth."""

    depth = 0

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        self.depth += 1
        if self.depth > DEEPEST:
            event = cast(Any, self).peek_event()
            raise ComposerError(None, None, f"this is nested more than {DEEPEST} deep", event.start_mark)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def _documents(loader: _Loader) -> Iterator[Node]:
    """The documents that hold something."""
    while loader.check_node():
        node = loader.get_node()
        if node is not None and not (isinstance(node, ScalarNode) and node.value == ""):
            yield node


class _Values:
    """Turns nodes into values, and gathers lines and problems on the way."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.lines: dict[str, int] = {}
        self.problems: list[Problem] = []
        self.count = 0
        self.refused = False  # too much: said once

    def document(self, nodes: list[Node]) -> tuple[Document | None, list[Problem]]:
        value = self.value(nodes[0], "", _line(nodes[0]), 0)
        if len(nodes) > 1:
            self.say(_line(nodes[1]), "", f"the file holds {len(nodes)} YAML documents", "put each into a file of its own")
        return (None if self.refused else Document(self.file, value, self.lines)), self.problems

    def say(self, line: int, path: str, message: str, fix: str, severity: Severity = Severity.ERROR) -> None:
        where = f"{self.file}:{line}: {path}" if path else f"{self.file}:{line}"
        self.problems.append(Problem(path=where, message=message, fix=fix, severity=severity))

    def value(self, node: Node, path: str, line: int, depth: int) -> Any:
        self.count += 1
        if self.count > MOST_VALUES or depth > DEEPEST:
            if not self.refused:
                fix = "write the values out, or write fewer"
                self.say(line, "", f"aliases make more of this file than {MOST_VALUES} values, or an endless one", fix)
            self.refused = True
        if self.refused:
            return None
        self.lines[path] = line
        if isinstance(node, MappingNode):
            return PLACEHOLDER if _is_placeholder(node) else self.mapping(node, path, depth)
        if isinstance(node, SequenceNode):
            return [self.value(item, f"{path}[{index}]", _line(item), depth + 1) for index, item in enumerate(node.value)]
        return self.scalar(cast(ScalarNode, node), path, line)

    def mapping(self, node: MappingNode, path: str, depth: int) -> dict[str, Any]:
        """The keys as they are spelt: `on` stays `on`. Of a key that is there twice the later one counts, as everywhere."""
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        said: dict[str, int] = {}
        for key, item in node.value:
            line = _line(key)
            if not isinstance(key, ScalarNode):
                self.say(line, path, "the key is a list or a mapping", "write a word as the key")
                continue
            if key.tag == _MERGE:
                merged |= self.merged(item, path, line, depth)
                continue
            name = str(key.value)
            inner = member(path, name)
            if name in said:
                self.say(line, inner, f"this key is there twice, at first in line {said[name]}", "remove one of the two")
            said[name] = line
            own[name] = self.value(item, inner, line, depth + 1)
        return merged | own

    def merged(self, node: Node, path: str, line: int, depth: int) -> dict[str, Any]:
        """What `<<: *anchor` brings in; of several the first wins."""
        nodes = node.value if isinstance(node, SequenceNode) else [node]
        result: dict[str, Any] = {}
        for one in nodes:
            if not isinstance(one, MappingNode):
                self.say(line, path, "<< takes keys from a mapping, and this is none", "name an anchor of a mapping")
                continue
            result = self.value(one, path, self.lines.get(path, line), depth + 1) | result if not self.refused else {}
        return result

    def scalar(self, node: ScalarNode, path: str, line: int) -> Any:
        text = str(node.value)
        if node.tag == f"{_TAG}null":
            return None
        if node.tag == f"{_TAG}timestamp":
            message = "YAML reads this as a date, because it isn't quoted"
            self.say(line, path, message, "put it in quotes", Severity.WARNING)
            return text
        if node.tag == f"{_TAG}bool":
            return text.lower() in ("yes", "true", "on")
        if node.tag in (f"{_TAG}int", f"{_TAG}float"):
            return _number(node, text)
        if node.tag != f"{_TAG}str":
            self.say(line, path, "a tag of YAML (what starts with '!') isn't understood here", "remove it, or quote the value")
        return text


def _number(node: ScalarNode, text: str) -> int | float | str:
    """What YAML 1.1 makes of it. What only looks like a number, such as `0x`, or is too long for one, is text."""
    constructor = cast(Any, SafeConstructor())
    try:
        if node.tag.endswith("float"):
            return constructor.construct_yaml_float(node)
        number: int = constructor.construct_yaml_int(node)
    except (ValueError, OverflowError, IndexError):
        return text
    return number if number.bit_length() < _MOST_BITS else text


def _is_placeholder(node: MappingNode) -> bool:
    key = node.value[0][0] if node.flow_style and len(node.value) == 1 else None
    return isinstance(key, MappingNode) and bool(key.flow_style)


def _line(node: Node) -> int:
    return node.start_mark.line + 1 if node.start_mark else 1


def _position(error: ReaderError) -> int:
    return int(error.position)


def _malformed(error: yaml.MarkedYAMLError, text: str, file: str) -> Problem:
    """What YAML says of its own grammar, without any of the file's text: a secret may be in it."""
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 1
    rows = text.splitlines()
    tabs = [number for number, row in enumerate(rows, start=1) if "\t" in row[: len(row) - len(row.lstrip())]]
    if tabs and ("\\t" in (error.problem or "") or line in tabs):
        more = f" and {len(tabs) - _SHOWN_LINES} more" if len(tabs) > _SHOWN_LINES else ""
        which = ", ".join(str(number) for number in tabs[:_SHOWN_LINES])
        lines = f"line {which} is" if len(tabs) == 1 else f"lines {which}{more} are"
        message = f"{lines} indented with tabs, which YAML doesn't take"
        return Problem(
            path=f"{file}:{tabs[0]}", message=message, fix="replace each tab by spaces, as many as the lines around have"
        )
    reason = _QUOTED.sub("", error.problem or "it can't be read")
    return Problem(path=f"{file}:{line}", message=f"this is not YAML: {reason}", fix="correct this line or the one before it")
