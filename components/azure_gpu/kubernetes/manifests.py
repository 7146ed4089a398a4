"""The manifests of `manifests.yaml`, with what differs from case to case filled in."""

from collections.abc import Mapping
from functools import cache
from string import Template
from typing import Any, cast

import yaml

from azure_gpu.catalog.tables import beside, text_of


def filled(what: str, /, **words: Any) -> Any:
    """The manifest of this name, or the part of one. A value that is only `$word` is that word, of any type. Keys and items that
    are None are left out; an item that is a list stands for its items, and a key `$word` for the keys of that word."""
    return _filled(_templates()[what], words)


@cache
def _templates() -> Mapping[str, Any]:
    """The file is read at the first use. It is this project's own, so that `bounded_yaml` and its limits aren't needed."""
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where it is there
    return yaml.load(text_of(beside(__file__, "manifests.yaml")), loader)  # noqa: S506, TID251


def _filled(template: Any, words: Mapping[str, Any]) -> Any:
    if isinstance(template, str):
        word = template.removeprefix("$")
        return words[word] if word != template and word.isidentifier() else Template(template).substitute(words)
    if isinstance(template, list):
        found: list[Any] = []
        for each in cast(list[Any], template):
            item = _filled(each, words)
            found += cast(list[Any], item) if isinstance(item, list) else [item] if item is not None else []
        return found
    if not isinstance(template, dict):
        return template
    keys: dict[str, Any] = {}
    for key, each in cast(dict[str, Any], template).items():
        if key.startswith("$"):
            keys |= words[key[1:]] or {}
        elif (value := _filled(each, words)) is not None:
            keys[key] = value
    return keys
