"""Reads YAML with the line of each value, and reports everything that is wrong with it.

None is returned if the text can't be parsed at all; nothing is raised. Values are those of YAML 1.1, which Azure's command line
reads too, with two exceptions: a date stays text, and an unquoted `{{name}}`, to YAML a mapping whose key is a mapping, is the
text PLACEHOLDER."""

import re
from typing import Any, cast

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.formats import bounded_yaml
from azure_gpu.formats.bounded_yaml import TAG, BoundedYamlError
from azure_gpu.formats.document import Document
from azure_gpu.formats.lenient_json import member

PLACEHOLDER = "{{…}}"

_MERGE = f"{TAG}merge"
_DIRECTIVE = re.compile(r"[ \t]*(?:\{\{.*\}\}|\{%.*%\})[ \t]*")
_WITH_PLACEHOLDER = re.compile(
    r"(?P<key>[ \t]*(?:-[ \t]+)*(?:[^\s'\"{}\[\]#:-][^\s{}:]*:[ \t]+)?)(?P<value>[^\s'\"].*\{\{.*|\{\{.*)"
)


def read(text: str, file: str, above: int = 0, *, fast: bool = False) -> tuple[Document | None, list[Problem]]:
    """The first document of the text. `file` is how the user named it, `above` how many of its lines are above the text; `fast`
    as in `bounded_yaml`."""
    problems: list[Problem] = []
    try:
        nodes = bounded_yaml.compose_all(text, fast=fast)
    except BoundedYamlError as error:
        quoted, problems = _with_quotes(text, file, above)
        nodes = _composed(quoted) if quoted != text else None
        if nodes is None:
            where = f"{file}:{error.line + above}" if error.line else file
            return None, [Problem(path=where, message=error.reason, fix=error.fix)]
    if not nodes:
        return None, [Problem(path=file, message="the file is empty")]
    document, found = _Values(file, above).document(nodes)
    return document, [*problems, *found]


def _composed(text: str) -> list[Node] | None:
    try:
        return bounded_yaml.compose_all(text)
    except BoundedYamlError:
        return None


def _with_quotes(text: str, file: str, above: int) -> tuple[str, list[Problem]]:
    """The text with quotes around values with `{{ … }}` of a template engine, and without the lines that are its directives."""
    lines: list[str] = []
    problems: list[Problem] = []
    for number, line in enumerate(text.split("\n"), start=1 + above):
        if _DIRECTIVE.fullmatch(line):
            message = "a line of a template engine is passed over"
            problems.append(Problem(f"{file}:{number}", message, fix="render the template", severity=Severity.WARNING))
            lines.append("")
        elif match := _WITH_PLACEHOLDER.fullmatch(line):
            value = match["value"].strip().replace("'", "''")
            lines.append(f"{match['key']}'{value}'")
        else:
            lines.append(line)
    return "\n".join(lines), problems


class _Values:
    """Converts nodes to values, and collects lines and problems."""

    def __init__(self, file: str, above: int) -> None:
        self.file = file
        self.above = above
        self.lines: dict[str, int] = {}
        self.problems: list[Problem] = []

    def document(self, nodes: list[Node]) -> tuple[Document, list[Problem]]:
        value = self.value(nodes[0], "", self.line(nodes[0]))
        if len(nodes) > 1:
            self.report(self.line(nodes[1]), "", f"the file holds {len(nodes)} YAML documents", "put each into a separate file")
        return Document(self.file, value, self.lines), self.problems

    def report(self, line: int, path: str, message: str, fix: str, severity: Severity = Severity.ERROR) -> None:
        where = f"{self.file}:{line}: {path}" if path else f"{self.file}:{line}"
        self.problems.append(Problem(path=where, message=message, fix=fix, severity=severity))

    def value(self, node: Node, path: str, line: int) -> Any:
        self.lines[path] = line
        if isinstance(node, MappingNode):
            return PLACEHOLDER if _is_placeholder(node) else self.mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self.value(item, f"{path}[{index}]", self.line(item)) for index, item in enumerate(node.value)]
        return self.scalar(cast(ScalarNode, node), path, line)

    def line(self, node: Node) -> int:
        return self.above + (node.start_mark.line + 1 if node.start_mark else 1)

    def mapping(self, node: MappingNode, path: str) -> dict[str, Any]:
        """The keys as they are spelt: `on` stays `on`. Of a key that is there twice the later one counts, as everywhere."""
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        first_lines: dict[str, int] = {}
        for key, item in node.value:
            line = self.line(key)
            if not isinstance(key, ScalarNode):
                self.report(line, path, "the key is a list or a mapping", "write a word as the key")
                continue
            if key.tag == _MERGE:
                merged |= self.merged(item, path, line)
                continue
            name = str(key.value)
            inner = member(path, name)
            if name in first_lines:
                self.report(
                    line, inner, f"this key is there twice, at first in line {first_lines[name]}", "remove one of the two"
                )
            first_lines[name] = line
            own[name] = self.value(item, inner, line)
        return merged | own

    def merged(self, node: Node, path: str, line: int) -> dict[str, Any]:
        """What `<<: *anchor` brings in; of several the first wins."""
        nodes = node.value if isinstance(node, SequenceNode) else [node]
        result: dict[str, Any] = {}
        for one in nodes:
            if not isinstance(one, MappingNode) or _is_placeholder(one):
                self.report(line, path, "<< takes keys from a mapping, and this is none", "name an anchor of a mapping")
                continue
            result = self.value(one, path, self.lines.get(path, line)) | result
        return result

    def scalar(self, node: ScalarNode, path: str, line: int) -> Any:
        text = str(node.value)
        if node.tag == f"{TAG}null":
            return None
        if node.tag == f"{TAG}timestamp":
            message = "YAML reads this as a date, because it isn't quoted"
            self.report(line, path, message, "put it in quotes", Severity.WARNING)
            return text
        if node.tag == f"{TAG}bool":
            return text.lower() in ("yes", "true", "on")
        if node.tag in (f"{TAG}int", f"{TAG}float"):
            return bounded_yaml.number(node)
        if node.tag != f"{TAG}str":
            self.report(line, path, "a tag of YAML (what starts with '!') isn't understood here", "remove it, or quote the value")
        return text


def _is_placeholder(node: MappingNode) -> bool:
    key = node.value[0][0] if node.flow_style and len(node.value) == 1 else None
    return isinstance(key, MappingNode) and bool(key.flow_style)
