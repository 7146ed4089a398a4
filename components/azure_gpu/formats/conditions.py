"""Conditions on bodies of Azure Resource Manager, as tables of facts write them: a path, and what holds of a value there.

Dots join a path's steps: `[]` behind a step means each element of a list, `{}` each value of an object. Each value that a path
leads to is judged.

A condition is clauses joined by `; `, which all have to hold. A clause is a test of the path's own value, or of that of another
path, which precedes it. Such a path begins at the body; with `:` at the own value; with one leading dot at the object that
holds that, with each further dot at the object above; with `@` at the facts that the caller adds, such as `@date`, the
request's. Tests:

- `missing`, `set`: null, "", [] and {} are missing
- `is A|B`, `not A|B`: as text
- `like /RE/`, `unlike /RE/`: the whole text
- `< N`, `> N`: numbers or dates; N may be a path
- `longer N`, `shorter N`: characters, or elements
- `twice`: an earlier value of the path is the same
- `among PATH`, `outside PATH`: of the values that another path leads to
- `changed`: not what it was; letter case, order and kinds of missing don't count. Never true of a new resource
"""

import functools
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

Body = dict[str, Any]

_CLAUSE = re.compile(r"(?:(?P<path>\S+) )?(?P<test>missing|set|is|not|like|unlike|<|>|longer|shorter|twice|among|outside|changed)"
                     r"(?: (?P<operand>.+))?")  # fmt: skip


class Value(NamedTuple):
    """A value that a path leads to."""

    value: Any
    path: str
    above: tuple[Any, ...]  # the objects that hold it, the outermost first


class Clause(NamedTuple):
    path: str  # "" is the row's own
    test: str
    operand: str


class Judged(NamedTuple):
    body: Body
    before: Body | None
    facts: Body


def found(path: str, condition: str, body: Body, facts: Body) -> Iterator[Any]:
    """The values of a path of a body for which a condition holds."""
    return (each.value for each in matching(path, condition, Judged(body, None, facts)))


def matching(path: str, condition: str, judged: Judged) -> Iterator[Value]:
    earlier: list[Any] = []
    for each in _values(judged.body, path):
        if all(_holds(clause, each, judged, earlier) for clause in clauses(condition)):
            yield each
        earlier.append(each.value)


@functools.cache
def clauses(condition: str) -> Sequence[Clause]:
    """ValueError for a condition that can't be read."""
    found: list[Clause] = []
    for text in condition.split("; "):
        match = _CLAUSE.fullmatch(text)
        if match is None:
            raise ValueError(f"no condition: {text}")
        found.append(Clause(match["path"] or "", match["test"], match["operand"] or ""))
    return found


def _values(body: Any, path: str) -> Iterator[Value]:
    yield from _below(body, path.split("."), "", ())


def _below(value: Any, steps: Sequence[str], at: str, above: tuple[Any, ...]) -> Iterator[Value]:
    if not steps:
        yield Value(value, at, above)
        return
    name, rest = steps[0], steps[1:]
    below = value.get(name.rstrip("[]{}")) if isinstance(value, dict) else None
    here = f"{at}.{name.rstrip('[]{}')}" if at else name.rstrip("[]{}")
    holders = (*above, value)
    if name.endswith("[]"):
        for index, each in enumerate(below if isinstance(below, list) else ()):
            yield from _below(each, rest, f"{here}[{index}]", (*holders, below))
    elif name.endswith("{}"):
        for key, each in (below if isinstance(below, dict) else {}).items():
            yield from _below(each, rest, f"{here}.{key}", (*holders, below))
    else:
        yield from _below(below, rest, here, holders)


def others(path: str, found: Value, judged: Judged) -> list[Any]:
    """The values that the path of a clause or of a word in a message leads to."""
    if path.startswith("@"):
        return [each.value for each in _values(judged.facts, path[1:])]
    if path.startswith(":"):
        return [each.value for each in _values(found.value, path[1:])]
    dots = len(path) - len(path.lstrip("."))
    root = [each for each in found.above if not isinstance(each, list)][-dots] if dots else judged.body
    return [each.value for each in _values(root, path[dots:])]


def _holds(clause: Clause, found: Value, judged: Judged, earlier: Sequence[Any]) -> bool:
    if clause.test == "changed":
        return judged.before is not None and not _same(
            value_at(judged.before, clause.path or found.path), _current(clause, found, judged)
        )
    value = _current(clause, found, judged)
    match clause.test:
        case "missing":
            return _is_missing(value)
        case "set":
            return not _is_missing(value)
        case "twice":
            return value in earlier
        case "among":
            return value in others(clause.operand, found, judged)
        case "outside":
            return not _is_missing(value) and value not in others(clause.operand, found, judged)
        case _:
            return _compared(clause, value, found, judged)


def _compared(clause: Clause, value: Any, found: Value, judged: Judged) -> bool:
    operand: Any = clause.operand
    if clause.test in ("is", "not"):
        return (text_of(value) in operand.split("|")) is (clause.test == "is")
    if _is_missing(value):
        return False
    match clause.test:
        case "like":
            return re.fullmatch(operand[1:-1], text_of(value)) is not None
        case "unlike":
            return re.fullmatch(operand[1:-1], text_of(value)) is None
        case "longer":
            return isinstance(value, str | list | dict) and len(value) > int(operand)
        case "shorter":
            return isinstance(value, str | list | dict) and len(value) < int(operand)
    if not re.match(r"-?\d", operand):
        operand = next(iter(others(operand, found, judged)), None)
    elif not isinstance(value, str):
        operand = float(operand)
    if not any(isinstance(value, kind) and isinstance(operand, kind) for kind in (str, int | float)):
        return False
    return value < operand if clause.test == "<" else value > operand


def _current(clause: Clause, found: Value, judged: Judged) -> Any:
    return next(iter(others(clause.path, found, judged)), None) if clause.path else found.value


def _is_missing(value: Any) -> bool:
    return value is None or value in ("", [], {})


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return one.lower() == other.lower()
    if isinstance(one, list) and isinstance(other, list):
        return sorted(str(each).lower() for each in one) == sorted(str(each).lower() for each in other)
    return one == other or (not one and not other)


def value_at(body: Any, path: str) -> Any:
    """What lies at a written path, `a.b[0].c`."""
    for step in re.findall(r"[^.\[\]]+|\[\d+\]", path):
        if step.startswith("["):
            index = int(step[1:-1])
            body = body[index] if isinstance(body, list) and index < len(body) else None
        else:
            body = body.get(step) if isinstance(body, dict) else None
    return body


def text_of(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else "" if value is None else str(value)
