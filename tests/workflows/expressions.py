"""Expressions of GitHub Actions, as far as these workflows use them: `${{ … }}` and the conditions of jobs and steps.

Source: GitHub Docs, "Evaluate expressions in workflows and actions". Comparisons ignore case, and a missing
property is null, which is equal to "".
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

_TOKEN = re.compile(r"\s*(?:('(?:[^']|'')*')|(==|!=|&&|\|\||[!(),])|([A-Za-z_][\w-]*(?:\.(?:[\w-]+|\*))*)|(\d+))")
Function = Callable[..., Any]


def substituted(value: Any, contexts: Mapping[str, Any], functions: Mapping[str, Function]) -> str:
    """A value of a workflow as text, with the values of its expressions."""
    text = shown(value)
    return re.sub(r"\$\{\{(.*?)\}\}", lambda found: shown(evaluate(found[1], contexts, functions)), text)


def shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value)


def evaluate(text: str, contexts: Mapping[str, Any], functions: Mapping[str, Function]) -> Any:
    words: list[tuple[str, str]] = []
    at = 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        assert found is not None, f"{text[at:]!r} of {text!r} isn't known"
        words.append(
            next((kind, word) for kind, word in zip(("text", "sign", "name", "number"), found.groups(), strict=True) if word)
        )
        at = found.end()
    reader = _Reader(words, contexts, functions)
    value = reader.either()
    assert not reader.words, f"{reader.words} of {text!r} is left"
    return value


class _Reader:
    def __init__(self, words: list[tuple[str, str]], contexts: Mapping[str, Any], functions: Mapping[str, Function]) -> None:
        self.words = words
        self._contexts = contexts
        self._functions: Mapping[str, Function] = {"contains": _contains, "fromJSON": json.loads, **functions}

    def either(self) -> Any:
        value = self._both()
        while self._takes("||"):
            other = self._both()
            value = value or other
        return value

    def _both(self) -> Any:
        value = self._compared()
        while self._takes("&&"):
            other = self._compared()
            value = value and other
        return value

    def _compared(self) -> Any:
        value = self._single()
        for sign in ("==", "!="):
            if self._takes(sign):
                return _equal(value, self._single()) is (sign == "==")
        return value

    def _single(self) -> Any:
        kind, word = self.words.pop(0)
        if word == "!" and kind == "sign":
            return not self._single()
        if word == "(" and kind == "sign":
            value = self.either()
            assert self._takes(")")
            return value
        if kind == "text":
            return word[1:-1].replace("''", "'")
        if kind == "number":
            return int(word)
        if self._takes("("):
            arguments: list[Any] = []
            while not self._takes(")"):
                arguments.append(self.either())
                self._takes(",")
            return self._functions[word](*arguments)
        if word in ("true", "false", "null"):
            return {"true": True, "false": False, "null": None}[word]
        first, *steps = word.split(".")
        assert first in self._contexts, f"{word}: there is no context {first}"
        return _at(self._contexts[first], steps)

    def _takes(self, sign: str) -> bool:
        if self.words and self.words[0] == ("sign", sign):
            self.words.pop(0)
            return True
        return False


def _at(value: Any, steps: list[str]) -> Any:
    for index, step in enumerate(steps):
        if step == "*":
            return [_at(each, steps[index + 1 :]) for each in value or ()]
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _contains(where: Any, what: Any) -> bool:
    return any(_equal(each, what) for each in where) if isinstance(where, list) else shown(what).lower() in shown(where).lower()


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return one.lower() == other.lower()
    return (one or "") == (other or "") if one is None or other is None else one == other
