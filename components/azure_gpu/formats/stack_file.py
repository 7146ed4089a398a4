"""Reads `Pulumi.<stack>.yaml` as the engine does, without the engine.

Every value is text, with JSON in it for what isn't text, as a program gets it. Encrypted values can't be read here and are
replaced by SECRET."""

import json
from collections.abc import Iterator
from typing import Any, cast

from azure_gpu.formats import bounded_yaml

SECRET = "[secret]"  # noqa: S105 - it stands where a secret is, and is none


_FORM = "a stack file is a mapping with the key `config`, which is a mapping too"
Steps = tuple[str | int, ...]  # to a value: keys, and numbers of entries in lists


class StackFileError(Exception):
    """The text isn't a stack file. The message tells what is wrong with it."""


def configuration(text: str) -> dict[str, str]:
    """The keys under `config`, such as `azure-gpu:location`. StackFileError if the text isn't YAML, or not a mapping."""
    return {str(key): _as_text(_readable(value)) for key, value in _config(text).items()}


def _config(text: str) -> dict[object, object]:
    config: Any = _content(text).get("config") or {}
    if not isinstance(config, dict):
        raise StackFileError(_FORM)
    return cast(dict[object, object], config)


def _content(text: str) -> dict[object, object]:
    try:
        content: Any = bounded_yaml.load(text) or {}
    except bounded_yaml.BoundedYamlError as error:
        raise StackFileError(str(error)) from None
    if not isinstance(content, dict):
        raise StackFileError(_FORM)
    return cast(dict[object, object], content)


def encrypted(text: str) -> list[Steps]:
    """Where the encrypted values are: `("azure-gpu:jobs", "train", "environment", "TOKEN")`. StackFileError as above."""
    return list(_encrypted(_config(text), ()))


def decoded(text: str) -> object:
    """The value of a text that `configuration` or the engine wrote: JSON for what isn't text.

    A text that isn't JSON stays text; so do a number of thousands of digits, and lists nested too deep.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def imports_environments(text: str) -> bool:
    """Whether the file takes values from environments of Pulumi ESC. StackFileError as above."""
    return bool(_content(text).get("environment"))


def _encrypted(value: object, steps: Steps) -> Iterator[Steps]:
    if isinstance(value, dict):
        mapping = cast(dict[object, object], value)
        if set(mapping) == {"secure"}:
            yield steps
            return
        for key, inner in mapping.items():
            yield from _encrypted(inner, (*steps, str(key)))
    elif isinstance(value, list):
        for index, inner in enumerate(cast(list[object], value)):
            yield from _encrypted(inner, (*steps, index))


def _readable(value: object) -> object:
    if isinstance(value, dict):
        mapping = cast(dict[str, object], value)
        if set(mapping) == {"secure"}:
            return SECRET
        return {str(key): _readable(inner) for key, inner in mapping.items()}
    if isinstance(value, list):
        return [_readable(inner) for inner in cast(list[object], value)]
    return value


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
