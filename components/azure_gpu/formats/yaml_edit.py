"""Changes one value in a YAML file and leaves every other character as it is: comments, quotes, order, encrypted values.

EditError is raised if that isn't possible. The result is parsed again, and must differ from the file in this value only."""

import json
from collections.abc import Sequence
from typing import Any, cast

from yaml.nodes import MappingNode, Node, ScalarNode

from azure_gpu.formats import bounded_yaml

Path = Sequence[str]


class EditError(ValueError):
    """The file has to be changed by hand. The message tells why."""


def with_value(text: str, path: Path, value: object, *, in_place_of: Sequence[str] = ()) -> str:
    """The text with `value` at `path`; missing mappings of the path are added.

    `in_place_of` are words that a mapping may replace, such as `create`.
    """
    wanted = _said(text)
    _set(wanted, path, value, in_place_of)
    return _checked(_with_value(text, path, value, in_place_of), wanted)


def _with_value(text: str, path: Path, value: object, in_place_of: Sequence[str]) -> str:
    node, column = _root(text), 0  # of the key that the node is under
    for at, step in enumerate(path):
        if isinstance(node, ScalarNode) and (node.value in in_place_of or node.value == ""):
            return _in_place_of(text, node, column, _nested(path[at:], value))
        if not isinstance(node, MappingNode):
            raise EditError(f"`{'.'.join(path[:at])}` isn't a mapping")
        found = _pair(node, step)
        if found is None:
            return _added(text, node, step, _nested(path[at + 1 :], value))
        column, node = found[0].start_mark.column, found[1]
    if not isinstance(node, ScalarNode) or isinstance(value, dict | list):
        raise EditError(f"`{'.'.join(path)}` has more than a word in it")
    space = " " if node.start_mark.index == node.end_mark.index else ""
    return text[: node.start_mark.index] + space + json.dumps(value) + text[node.end_mark.index :]


def _in_place_of(text: str, node: ScalarNode, column: int, value: object) -> str:
    """A mapping where a word stands, a line for each key of it. A comment behind the word stays behind the key."""
    indent = " " * (column + 2)
    newline = _newline(text)
    before, after = text[: node.start_mark.index].rstrip(" "), text[node.end_mark.index :]
    rest, _, following = after.partition("\n")
    block = newline.join(f"{indent}{line}" for line in bounded_yaml.dump(value).splitlines())
    return f"{before}{rest.rstrip()}{newline}{block}{newline}{following}"


def _added(text: str, node: MappingNode, name: str, value: object) -> str:
    """One more key, behind the others."""
    if node.flow_style:
        at = node.end_mark.index - 1
        comma = ", " if node.value else ""
        inner = bounded_yaml.dump({name: value}, flow=True)
        before = text[:at].rstrip(" ") if node.value else text[:at]
        return f"{before}{comma}{inner.strip()[1:-1]}{text[at:]}"
    newline = _newline(text)
    lines, indent = text.splitlines(), " " * column_of(node)
    at = end_of(node, lines, len(text))
    added = [f"{indent}{line}" for line in bounded_yaml.dump({name: value}).splitlines()]
    return newline.join([*lines[:at], *added, *lines[at:], ""])


def column_of(node: MappingNode) -> int:
    """Where the keys of a mapping with a line for each begin."""
    return node.value[0][0].start_mark.column


def end_of(node: MappingNode, lines: Sequence[str], length: int) -> int:
    """The line behind a mapping with a line for each key. `length`: of the whole text, with which the last mapping ends."""
    indent = " " * column_of(node)
    at = len(lines) if node.end_mark.index >= length else node.end_mark.line
    # What follows a mapping may be a comment that belongs to what comes next: it isn't set in as the keys are.
    while at and (not lines[at - 1].strip() or (lines[at - 1].lstrip().startswith("#") and not lines[at - 1].startswith(indent))):
        at -= 1
    return at


def _root(text: str) -> Node:
    try:
        root = bounded_yaml.compose(text)
    except bounded_yaml.BoundedYamlError:
        root = None
    if root is None:
        raise EditError("the file can't be read as YAML, or is empty")
    return root


def child_of(node: Node, name: str) -> Node | None:
    """The node under a key of a mapping; None where the key isn't there."""
    found = _pair(node, name)
    return found[1] if found else None


def _pair(node: Node, name: str) -> tuple[ScalarNode, Node] | None:
    pairs = node.value if isinstance(node, MappingNode) else []
    return next(((key, value) for key, value in pairs if isinstance(key, ScalarNode) and key.value == name), None)


def _nested(path: Path, value: object) -> object:
    # pyrefly: ignore[non-convergent-recursion]
    for step in reversed(path):
        value = {step: value}
    return value


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _said(text: str) -> Any:
    content = _loaded(text)
    if not isinstance(content, dict):
        raise EditError("the file can't be read as a mapping in YAML")
    return _apart(content)


def _loaded(text: str) -> Any:
    try:
        return bounded_yaml.load(text)
    except bounded_yaml.BoundedYamlError:
        return None


def _apart(value: Any) -> Any:
    """A copy in which an alias no longer shares what it stands for with its anchor."""
    if isinstance(value, dict):
        return {key: _apart(inner) for key, inner in cast(dict[Any, Any], value).items()}
    return [_apart(inner) for inner in cast(list[Any], value)] if isinstance(value, list) else value


def _set(content: Any, path: Path, value: object, in_place_of: Sequence[str]) -> None:
    around = content
    for step in path[:-1]:
        inner = around.get(step)
        if inner is None or (isinstance(inner, str) and inner in in_place_of):
            around[step] = inner = {}
        if not isinstance(inner, dict):
            raise EditError(f"`{step}` isn't a mapping")
        around = cast(dict[Any, Any], inner)
    around[path[-1]] = value


def _checked(text: str, wanted: Any) -> str:
    if _loaded(text) != wanted:
        raise EditError("the file's layout doesn't take this change without another")
    return text
