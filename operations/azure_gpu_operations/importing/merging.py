"""Adds entries to a stack file and leaves every existing line as it is, comments and encrypted values included.

MergeError is raised if that isn't possible. The result is parsed again, and must contain what the file had and the entries, and
nothing else."""

from collections.abc import Iterable
from typing import Any

from yaml.nodes import MappingNode, ScalarNode

from azure_gpu.formats import bounded_yaml
from azure_gpu_operations.importing.blocks import Entry, entry_lines, section_lines


class MergeError(Exception):
    """The file has to be changed by hand. The message tells why."""


def merged(text: str, entries: Iterable[Entry]) -> str:
    """The text with all entries in it."""
    wanted = _said(text)
    result = text
    for entry in entries:
        config = wanted.setdefault("config", {})
        there = config.get(entry.key, {}) if entry.name else config
        if entry.unless_there and isinstance(there, dict) and (entry.name or entry.key) in there:
            continue
        if entry.unless_there and entry.name == "create" and (not isinstance(there, dict) or "existing" in there):
            continue
        result = _with(result, entry)
        if entry.name:
            config.setdefault(entry.key, {})[entry.name] = entry.settings
        else:
            config[entry.key] = entry.settings
    if _said(result) != wanted:
        raise MergeError("the file's layout doesn't take a new entry without a change of the rest")
    return result


def _said(text: str) -> dict[str, Any]:
    try:
        content = bounded_yaml.load(text)
    except bounded_yaml.BoundedYamlError:
        raise MergeError("the stack file can't be read as YAML") from None
    if content is None:
        content = {}
    config = content.get("config", {}) if isinstance(content, dict) else None
    if not isinstance(config, dict):
        raise MergeError("the stack file has no mapping `config`")
    return content


def _with(text: str, entry: Entry) -> str:
    root = bounded_yaml.compose(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines()
    config = _child(root, "config")
    if not entry.name:
        added = section_lines(entry, _indent(config) if config is not None else "  ")
        at = _end(config, lines, len(text)) if config is not None else len(lines)
        return newline.join([*lines[:at], *([] if config is not None else ["config:"]), *added, *lines[at:], ""])
    if config is None:
        return newline.join([*lines, "config:", f"  {entry.key}:", *entry_lines(entry, "    ", "  "), ""])
    section = _child(config, entry.key)
    if section is None:
        indent = _indent(config)
        added = [f"{indent}{entry.key}:", *entry_lines(entry, indent + "  ", "  ")]
        at = _end(config, lines, len(text))
    else:
        if any(isinstance(key, ScalarNode) and key.value == entry.name for key, _ in _block(section).value):
            raise MergeError(f"`{entry.key}` has an entry {entry.name} already: remove it there, or name this one otherwise")
        indent = _indent(section)
        added = entry_lines(entry, indent, "  ")
        at = _end(section, lines, len(text))
    return newline.join([*lines[:at], *added, *lines[at:], ""])


def _child(node: Any, name: str) -> Any:
    """The node under a key; None where the key isn't there."""
    if node is None:
        return None
    return next((value for key, value in _block(node).value if isinstance(key, ScalarNode) and key.value == name), None)


def _block(node: Any) -> MappingNode:
    """A mapping with a line for each key."""
    if not isinstance(node, MappingNode) or node.flow_style or not node.value:
        raise MergeError("the stack file has something else where a mapping with a line for each key is needed")
    return node


def _indent(node: Any) -> str:
    return " " * _block(node).value[0][0].start_mark.column


def _end(node: Any, lines: list[str], length: int) -> int:
    """The line behind the mapping, with the comments that are set in as its keys are."""
    indent = _indent(node)
    # A mapping ends where the next thing begins; the last one where the text does.
    at = len(lines) if node.end_mark.index >= length else node.end_mark.line
    while at and (not lines[at - 1].strip() or (lines[at - 1].lstrip().startswith("#") and not lines[at - 1].startswith(indent))):
        at -= 1
    return at
