"""Generates the reference of all keys of a stack file: docs/settings.md for people, docs/settings.schema.json for editors.

Both come from the docstrings of the keys: `python -m azure_gpu.stack.settings_reference schema|reference` prints one.
"""

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from azure_gpu.shared.validation import OUTPUT_TITLE, schema
from azure_gpu.stack.file import StackFile
from azure_gpu.stack.keys import PROJECT, config_key

_HEAD = Path(__file__).with_name("settings_head.md")
_WORDS = {"string": "string", "integer": "integer", "number": "number", "boolean": "`true` or `false`"}
_DESCRIPTION = re.compile(r"(?:Plain: |Wired: )?(?P<meaning>.*?)(?: ?Default: (?P<default>.*?)\.)?")
TABLE = "| key | type | default | |\n| --- | --- | --- | --- |"


def reference(stack_file: dict[str, Any]) -> str:
    """Builds the whole page. `stack_file`: the JSON Schema of `StackFile`."""
    properties: dict[str, dict[str, Any]] = stack_file["properties"]
    needed: list[str] = stack_file["required"]
    tables = ["\n## The stack\n", TABLE, *(row(key, node, key in needed) for key, node in properties.items())]
    for key, node in properties.items():
        rows = list(rows_below(node, key))
        if rows:
            tables += [f"\n## `{key}`\n", TABLE, *rows]
    return "\n".join([_HEAD.read_text(encoding="utf-8").rstrip("\n"), *tables]) + "\n"


def rows_below(node: dict[str, Any], path: str) -> Iterator[str]:
    """Yields the rows of the keys below a key, at any depth."""
    yield from (row(*key) for key in keys_below(node, path))


class Key(NamedTuple):
    """A key of a stack file or of a component's arguments."""

    path: str  # user-defined names are `<name>`, entries of a list `[]`
    node: dict[str, Any]  # its JSON Schema
    needed: bool


def keys_below(node: dict[str, Any], path: str) -> Iterator[Key]:
    """Yields the keys below a key, at any depth."""
    if "additionalProperties" in node and "properties" not in node:
        yield from keys_below(node["additionalProperties"], f"{path}.<name>")
        return
    if "items" in node:
        yield from keys_below(node["items"], f"{path}[]")
        return
    written = written_out(node)
    for key, below in written.get("properties", {}).items():
        here = f"{path}.{key}" if path else key
        yield Key(here, below, key in written["required"])
        yield from keys_below(below, here)


def written_out(node: dict[str, Any]) -> dict[str, Any]:
    """Returns the object form of a node with a shorthand; any other node unchanged."""
    match node:
        case {"anyOf": [{"enum": _}, written]}:
            return written
        case _:
            return node


def row(path: str, node: dict[str, Any], needed: bool) -> str:
    """Builds the row of one key."""
    match = _DESCRIPTION.fullmatch(" ".join(str(node["description"]).split()))
    meaning, default = (match["meaning"], match["default"]) if match else ("", None)
    cells = [f"`{path}`", _type(node), default or ("required" if needed else ""), meaning[:1].upper() + meaning[1:]]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _type(node: dict[str, Any]) -> str:
    match node:
        case {"anyOf": [{"enum": shorthands}, _]}:
            return f"{', '.join(f'`{_yaml(each)}`' for each in shorthands)} or an object"
        case {"anyOf": [*forms, {"properties": {"secure": _}}]}:
            return f"{_either(forms)}, may be encrypted"
        case {"anyOf": [*forms]}:
            return _either(forms)
        case {"title": title}:
            return "an output" if title == OUTPUT_TITLE else f"a `{title}`"
        case {"enum": choices}:
            return ", ".join(f"`{each}`" for each in choices)
        case {"items": items}:
            return f"list of {_type(items)}"
        case {"properties": _}:
            return "object"
        case {"additionalProperties": value}:
            return f"by name: {_type(value)}"
        case _:
            return _WORDS.get(node.get("type", ""), "anything")


def _either(forms: Sequence[dict[str, Any]]) -> str:
    *first, last = [_type(each) for each in forms]
    return f"{', '.join(first)} or {last}" if first else last


def _yaml(word: object) -> str:
    return str(word).lower() if isinstance(word, bool) else str(word)


def editor_schema() -> dict[str, Any]:
    """Builds the JSON Schema of a whole stack file, `Pulumi.<stack>.yaml`; keys of other namespaces aren't validated."""
    program = schema(StackFile)
    keys = {config_key(key): value for key, value in program["properties"].items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Stack files of {PROJECT}",
        "type": "object",
        "properties": {
            "config": {
                "type": "object",
                "properties": keys,
                "propertyNames": {"anyOf": [{"enum": list(keys)}, {"not": {"pattern": f"^{PROJECT}:"}}]},
                "required": [config_key(key) for key in program["required"]],
            }
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m azure_gpu.stack.settings_reference",
        description="Prints the reference or the JSON Schema of a stack file.",
    )
    parser.add_argument("form", nargs="?", choices=("schema", "reference"), default="schema", help="default: schema")
    if parser.parse_args().form == "schema":
        print(json.dumps(editor_schema(), indent=2, ensure_ascii=False))
    else:
        print(reference(schema(StackFile)), end="")


if __name__ == "__main__":
    main()
