"""Adds entries to a stack file and leaves every existing line as it is, comments and encrypted values included.

MergeError is raised if that isn't possible. The result is parsed again, and must contain what the file had and the entries, and
nothing else."""

from collections.abc import Iterable
from typing import Any

from yaml.nodes import MappingNode

from azure_gpu.formats import bounded_yaml, yaml_edit
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
    lines = text.splitlines()
    config = _child(bounded_yaml.compose(text), "config")
    section = _child(config, entry.key) if entry.name else None
    if section is not None and _child(section, entry.name) is not None:
        raise MergeError(f"`{entry.key}` has an entry {entry.name} already: remove it there, or name this one otherwise")
    around = section or config
    indent = " " * yaml_edit.column_of(_block(around)) if around is not None else "  "
    if section is not None:
        added = entry_lines(entry, indent, "  ")
    elif entry.name:
        added = [f"{indent}{entry.key}:", *entry_lines(entry, indent + "  ", "  ")]
    else:
        added = section_lines(entry, indent)
    at = yaml_edit.end_of(around, lines, len(text)) if around is not None else len(lines)
    newline = "\r\n" if "\r\n" in text else "\n"
    return newline.join([*lines[:at], *([] if config is not None else ["config:"]), *added, *lines[at:], ""])


def _child(node: Any, name: str) -> Any:
    """The node under a key; None where the key isn't there."""
    return yaml_edit.child_of(_block(node), name) if node is not None else None


def _block(node: Any) -> MappingNode:
    """A mapping with a line for each key."""
    if not isinstance(node, MappingNode) or node.flow_style or not node.value:
        raise MergeError("the stack file has something else where a mapping with a line for each key is needed")
    return node
