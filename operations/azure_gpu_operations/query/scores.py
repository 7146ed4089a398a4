"""Parses the scores in an answer: one row per image, the highest first; empty if the answer has no scores. Pure.

These forms are understood: a list of numbers, a list of such lists, an object with one of them under a usual name, an object of
names and numbers, a list of objects with a name and a number, and each of them as a JSON string, from scripts that call
`json.dumps`.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_HOLDERS = ("scores", "predictions", "probabilities", "outputs", "output", "result", "results", "prediction", "logits")
_NAMES = ("label", "class", "name", "category", "className", "class_name")
_NUMBERS = ("score", "probability", "confidence", "value")
_DEEPEST = 8


class Score(NamedTuple):
    label: str
    value: float


def rows(body: bytes, labels: Sequence[str] = ()) -> list[list[Score]]:
    """By image, each with the highest score first."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return []
    found = _rows(answer, labels, 0)
    return [sorted(row, key=lambda score: -score.value) for row in found or []]


def _rows(answer: Any, labels: Sequence[str], depth: int) -> list[list[Score]] | None:
    if depth > _DEEPEST:
        return None
    if isinstance(answer, str):
        try:
            return _rows(json.loads(answer), labels, depth + 1)
        except (ValueError, RecursionError):
            return None
    if isinstance(answer, Mapping):
        return _of_mapping(answer, labels, depth)
    if not isinstance(answer, list) or not answer:
        return None
    if all(_is_number(each) for each in answer):
        return [[Score(_label(index, labels), float(each)) for index, each in enumerate(answer)]]
    named = [_named(each) for each in answer]
    if all(named):
        return [[each for each in named if each is not None]]
    inner = [_rows(each, labels, depth + 1) for each in answer]
    if all(each is not None and len(each) == 1 for each in inner):
        return [row for each in inner if each is not None for row in each]
    return inner[0] if len(inner) == 1 else None


def _of_mapping(answer: Mapping[str, Any], labels: Sequence[str], depth: int) -> list[list[Score]] | None:
    for name in _HOLDERS:
        if name in answer:
            return _rows(answer[name], labels, depth + 1)
    if answer and all(_is_number(each) for each in answer.values()):
        return [[Score(str(name), float(value)) for name, value in answer.items()]]
    if len(answer) == 1:
        return _rows(next(iter(answer.values())), labels, depth + 1)
    return None


def _named(one: Any) -> Score | None:
    if not isinstance(one, Mapping):
        return None
    name = next((one[each] for each in _NAMES if each in one), None)
    number = next((one[each] for each in _NUMBERS if _is_number(one.get(each))), None)
    return Score(str(name), float(number)) if name is not None and number is not None else None


def _is_number(value: Any) -> bool:
    """A number in float's range: `json` also reads larger integers."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _label(index: int, labels: Sequence[str]) -> str:
    return labels[index] if index < len(labels) else str(index)
