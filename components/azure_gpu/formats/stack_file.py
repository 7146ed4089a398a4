"""Reads `Pulumi.<stack>.yaml` as the engine does, without the engine.

In: the file's text. Out: its configuration, every value as text with JSON in it for what isn't text, as a program gets it. Values
that are encrypted can't be read here; a stand-in takes their place.
"""

import json
from collections.abc import Mapping
from datetime import date
from typing import Any, cast

import yaml

SECRET = "[secret]"  # noqa: S105 - it stands where a secret is, and is none


class StackFileError(Exception):
    """The text is no stack file. The message says what is wrong with it."""


def configuration(text: str) -> dict[str, str]:
    """The keys under `config`, such as `azure-gpu:location`. StackFileError where the text is no YAML, or no mapping."""
    try:
        content: Any = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise StackFileError(f"not YAML: {' '.join(str(error).split())}") from None
    config: Any = cast(Mapping[str, Any], content).get("config") or {} if isinstance(content, dict) else None
    if not isinstance(config, dict):
        raise StackFileError("a stack file is a mapping with the key `config`, which is a mapping too")
    return {str(key): _as_text(_readable(value)) for key, value in cast(dict[object, object], config).items()}


def _readable(value: object) -> object:
    if isinstance(value, dict):
        mapping = cast(dict[str, object], value)
        if set(mapping) == {"secure"}:
            return SECRET
        return {str(key): _readable(inner) for key, inner in mapping.items()}
    if isinstance(value, list):
        return [_readable(inner) for inner in cast(list[object], value)]
    return value.isoformat() if isinstance(value, date) else value


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
