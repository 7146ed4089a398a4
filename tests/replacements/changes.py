"""Changes of one argument: where it stands in a stack, and what else may stand there.

An argument is a key of a stack file by its path, in which what a user names is `<name>` and an entry of a list `[]`. Values are
found by its schema, by what other stacks have there, and in `values.yaml`; a change is tried where the pure plan has nothing
against the stack before and after it.
"""

import copy
import datetime
import fnmatch
import itertools
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import yaml

from azure_gpu.catalog.problems import Severity
from azure_gpu.shared.validation import schema
from azure_gpu.stack.file import StackFile
from azure_gpu.stack.settings import read
from azure_gpu.stack.settings_reference import Key, keys_below, written_out
from tests.components.recorded_bodies import CASES
from tests.components.recording import PROJECT, STACK
from tests.components.settings_of import TODAY, configuration, encrypted, pure_problems
from tests.replacements import stacks
from tests.replacements.stacks import Stack

VALUES = Path(__file__).parent / "values.yaml"
MOST_OF_A_KIND = 2  # values that are tried of each kind of change, but for
MOST_REMOVED = 1  # what is taken away, which has no value. What is changed isn't added and taken away as well.
MOST_WITHIN = 4  # changes within an object that are tried as changes of it
MOST_PLACES = 6  # where more is looked for once something is found
MOST_OF_A_PLACE = 2  # values of each kind that are tried in further places where those have no effect
MOST_FURTHER = 8  # of each kind in all of them: a stack whose clusters have nothing on them takes up four
MOST_ALIKE = 3  # places of a stack in which the same is tried then
KINDS = ("changed", "added", "removed", "with", "without")
# Sections of what stands on another section's part, and may have to go with it.
STANDING_ON = {
    "gallery_images": ("batch_account", "pools", "vms"),
    "batch_account": ("pools",),
    "job_environment": ("jobs",),
}
Steps = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """One argument of one stack, changed."""

    argument: str
    kind: str  # one of KINDS
    stack: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    at: Steps
    answers: Mapping[str, Any]

    @property
    def text(self) -> str:
        """What is written there before and after."""
        if self.kind in ("with", "without"):
            names = value_at(self.before, self.at).keys() ^ value_at(self.after, self.at).keys()
            return f"{self.kind} {', '.join(sorted(names))}"
        if self.kind == "changed":
            return f"{_short(value_at(self.before, self.at))} to {_short(value_at(self.after, self.at))}"
        return f"{self.kind} {_short(value_at(self.after if self.kind == 'added' else self.before, self.at))}"


@cache
def arguments() -> dict[str, Key]:
    """Every argument by its path."""
    return {key.path: key for key in keys_below(schema(StackFile), "")}


def changes_of(argument: str) -> list[Change]:
    """The changes of an argument that are tried first, at most `MOST_OF_A_KIND` of each kind."""
    if left_out(argument):
        return []
    found = _found(argument, MOST_OF_A_KIND, MOST_OF_A_KIND)
    changed = [change for change in found if change.kind == "changed"]
    return [*(changed or found), *_pairs(argument)]


def every_change_of(argument: str) -> Iterator[Change]:
    """All that can be tried, the first ones first."""
    yield from changes_of(argument)
    yield from _found(argument, MOST_OF_A_KIND, MOST_OF_A_KIND)
    yield from further_changes_of(argument)


def further_changes_of(argument: str) -> list[Change]:
    """More of them, where the first have no effect: some of each kind in each place."""
    if any(fnmatch.fnmatchcase(argument, pattern) for pattern in values()["settled"]):
        return []
    tried = {_identity(change) for change in changes_of(argument)}
    return [change for change in _found(argument, MOST_OF_A_PLACE, MOST_FURTHER, further=True) if _identity(change) not in tried]


def _identity(change: Change) -> str:
    return json.dumps([change.before, change.after], default=str, sort_keys=True)


def _found(argument: str, most_of_place: int, most: int, *, further: bool = False) -> list[Change]:
    found: dict[str, list[Change]] = defaultdict(list)
    seen: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))  # by kind: how often a change in these words
    looked = 0
    for stack in (*stacks.every(), *_with_what_it_is_in(argument)):
        if stack.name.startswith(_MORE) and any(found.values()):
            break
        if not further and looked > MOST_PLACES and any(found.values()):
            break
        for at in places(argument, stack.says):
            looked += 1
            of_place: dict[str, int] = defaultdict(int)
            for change in _of_place(argument, stack, at):
                alike = seen[change.kind]
                text = f"{change.text} {stack.name if further else ''}"
                most_of_kind = min(most, MOST_REMOVED) if change.kind == "removed" and not further else most
                is_enough = not alike[text] and len(found[change.kind]) >= most_of_kind
                is_enough = is_enough or alike[text] >= (MOST_ALIKE if further else 1)
                if is_enough or of_place[change.kind] >= most_of_place or not is_legal(change.after):
                    continue
                alike[text] += 1
                of_place[change.kind] += 1
                found[change.kind].append(smaller(change))
    return [change for kind in KINDS for change in found[kind]]


def left_out(argument: str) -> str:
    """Why an argument isn't tried; empty where it is."""
    return next((why for pattern, why in values()["left_out"].items() if fnmatch.fnmatchcase(argument, pattern)), "")


def _pairs(argument: str) -> Iterator[Change]:
    """Changes that need more than the argument itself to be changed: from one alternative to another."""
    for pair in values()["pairs"]:
        if pair["argument"] != argument:
            continue
        [stack] = [each for each in stacks.every() if each.name == pair["stack"]]
        before = _patched(stack.says, pair.get("before", {}))
        after = _patched(before, pair["after"])
        for says in (before, after):
            assert is_legal(says), f"{argument}: {pair}"
        at = tuple(pair["at"].split("."))
        kind = "changed" if _is_at(before, at) and _is_at(after, at) else "added" if _is_at(after, at) else "removed"
        yield Change(argument, kind, stack.name, before, after, at, {**stack.answers, **pair.get("answers", {})})


def _is_at(says: Mapping[str, Any], at: Steps) -> bool:
    try:
        value_at(says, at)
    except (KeyError, TypeError):
        return False
    return True


def _patched(says: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """`patch`: values by path; null removes one."""
    patched = copy.deepcopy(dict(says))
    for path, value in patch.items():
        *parents, key = path.split(".")
        parent = value_at(patched, parents)
        if value is None:
            del parent[key]
        else:
            parent[key] = value
    return patched


_MORE = "more of "


def _with_what_it_is_in(argument: str) -> Iterator[Stack]:
    """Stacks to which what the argument is in is added."""
    for pattern, value in values()["inside"].items():
        parents = [each for each in arguments() if argument.startswith(f"{each}.") and fnmatch.fnmatchcase(each, pattern)]
        for parent in parents:
            for stack in stacks.every():
                for at in places(parent, stack.says):
                    says = with_objects(stack.says, at)
                    value_at(says, at[:-1])[at[-1]] = value
                    yield Stack(f"{_MORE}{stack.name}", says, stack.answers)


def _of_place(argument: str, stack: Stack, at: Steps) -> Iterator[Change]:
    before = with_objects(stack.says, at)
    if not is_legal(before):
        return
    parent, key = value_at(before, at[:-1]), at[-1]
    node = arguments()[argument].node
    if key not in parent:
        for value in _added(argument, node):
            yield _change(argument, "added", stack, before, at, value)
        return
    for value in _others(argument, node, parent[key]):
        yield _change(argument, _kind(node, parent[key], value), stack, before, at, value)
    yield _change(argument, "removed", stack, before, at, _NOTHING)


def _kind(node: Mapping[str, Any], before: Any, after: Any) -> str:
    """Of parts by name: whether there is one more."""
    if not _is_object(node.get("additionalProperties", {})):
        return "changed"
    return "with" if len(after) > len(before) else "without"


_NOTHING = object()


def _change(argument: str, kind: str, stack: Stack, before: Mapping[str, Any], at: Steps, value: Any) -> Change:
    after = copy.deepcopy(dict(before))
    parent = value_at(after, at[:-1])
    if value is _NOTHING:
        del parent[at[-1]]
    else:
        parent[at[-1]] = value
    return Change(argument, kind, stack.name, before, after, at, stack.answers)


def places(argument: str, says: Mapping[str, Any]) -> list[Steps]:
    """Where an argument stands or could stand: what it is in is there."""
    found: list[Steps] = [()]
    *parents, last = _segments(argument)
    for segment in parents:
        found = [(*steps, each) for steps in found for each in _below(says, steps, segment)]
    return [(*steps, last) for steps in found if isinstance(value_at(_opened(says, steps), steps), dict)]


def _segments(argument: str) -> list[str]:
    return re.findall(r"<name>|\[\]|[^.\[\]]+", argument)


def _below(says: Mapping[str, Any], steps: Steps, segment: str) -> Iterator[str | int]:
    yield from _keys(value_at(_opened(says, steps), steps), segment)


def _keys(value: Any, segment: str) -> Iterator[str | int]:
    if segment == "<name>":
        yield from value if isinstance(value, dict) else ()
    elif segment == "[]":
        yield from range(len(value)) if isinstance(value, list) else ()
    elif isinstance(value, dict) and segment in value:
        yield segment


def value_at(value: Any, steps: Sequence[str | int]) -> Any:
    for step in steps:
        value = value[step]
    return value


def with_objects(says: Mapping[str, Any], at: Steps) -> dict[str, Any]:
    """The stack, with what the argument is in written as an object where it is a shorthand."""
    return _opened(says, at[:-1])


def _opened(says: Mapping[str, Any], steps: Steps) -> dict[str, Any]:
    opened = copy.deepcopy(dict(says))
    for index in range(1, len(steps) + 1):
        value = value_at(opened, steps[:index])
        if isinstance(value, bool | str):
            key = _pattern(steps[:index])
            node = arguments()[key].node if key in arguments() else {}
            match node:
                case {"anyOf": [{"enum": _}, {"properties": _}]}:
                    name = value if isinstance(value, str) else "enabled"
                    value_at(opened, steps[: index - 1])[steps[index - 1]] = {name: True if isinstance(value, str) else value}
                case _:
                    pass
    return opened


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    found: list[tuple[re.Pattern[str], str]] = []
    for path in arguments():
        parts = [
            r"[^.\[\]]+" if each == "<name>" else r"\[\d+\]" if each == "[]" else re.escape(each) for each in _segments(path)
        ]
        text = parts[0] + "".join(part if part.startswith(r"\[") else rf"\.{part}" for part in parts[1:])
        found.append((re.compile(text), path))
    return sorted(found, key=lambda each: each[1].count("<name>"))


def written(steps: Sequence[str | int]) -> str:
    """The path of a place as people write it: `pools.train.mounts.data`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return text.removeprefix(".")


@cache
def _pattern(steps: Steps) -> str:
    path = written(steps)
    return next((argument for pattern, argument in _patterns() if pattern.fullmatch(path)), "")


@cache
def values() -> dict[str, Any]:
    return yaml.safe_load(VALUES.read_text(encoding="utf-8"))


def _by_hand(argument: str) -> list[Any]:
    matching = [
        values for pattern, values in values()["values"].items() if fnmatch.fnmatchcase(argument.replace("[]", "()"), pattern)
    ]
    return [value for values in matching for value in values]


@cache
def _elsewhere() -> Mapping[str, list[Any]]:
    """What stacks and cases have at each argument."""
    found: dict[str, list[Any]] = defaultdict(list)
    for path in sorted(CASES.glob("*.yaml")):
        _collect(yaml.safe_load(path.read_text(encoding="utf-8")).get("says", {}), found)
    for stack in stacks.every():
        _collect(stack.says, found)
    return found


def _collect(says: Any, found: dict[str, list[Any]]) -> None:
    if not isinstance(says, dict):
        return
    for argument in arguments():
        for at in _standing(argument, says):
            value = value_at(says, at)
            if value not in found[argument]:
                found[argument].append(value)


def _standing(argument: str, says: Mapping[str, Any]) -> list[Steps]:
    """Where an argument stands, shorthands left as they are."""
    found: list[Steps] = [()]
    for segment in _segments(argument):
        found = [(*steps, each) for steps in found for each in _keys(value_at(says, steps), segment)]
    return found


def _added(argument: str, node: dict[str, Any]) -> Iterator[Any]:
    yield from _by_hand(argument)
    yield from _by_schema(node)
    yield from _elsewhere()[argument]


def _others(argument: str, node: dict[str, Any], value: Any) -> Iterator[Any]:
    if _is_object(node):
        # Its keys have changes of their own.
        candidates = [*_by_hand(argument), *_by_schema(node), *itertools.islice(_near(value), MOST_WITHIN)]
    elif isinstance(value, dict) and _is_object(node.get("additionalProperties", {})):
        candidates = list(_other_entries(cast(dict[str, Any], value)))
    else:
        candidates = [*_by_hand(argument), *_near(value), *_by_schema(node), *_elsewhere()[argument]]
    for each in candidates:
        if json.dumps(each, default=str) != json.dumps(value, default=str):
            yield each


def _is_object(node: Any) -> bool:
    return isinstance(node, dict) and "properties" in written_out(cast(dict[str, Any], node))


def _other_entries(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A map of parts with one more, or with one less."""
    for name in value:
        yield {key: each for key, each in value.items() if key != name}
    for name, each in value.items():
        yield {**value, f"{name}2": each}


def _by_schema(node: dict[str, Any]) -> Iterator[Any]:
    match node:
        case {"enum": [*choices]}:
            yield from choices
        case {"type": "boolean"}:
            yield from (True, False)
        case {"type": "integer"} | {"type": "number"}:
            yield from (1, 2, 3, 5, 10, 30, 60, 100)
        case {"anyOf": [*forms]}:
            for form in forms:
                yield from _by_schema(form)
        case {"type": "array", "items": {"enum": [*choices]}}:
            yield from ([choice] for choice in choices)
        case {"type": "string"}:
            yield from ("other", "1.0.1")
        case {"type": "object", "additionalProperties": {"type": "string"}} | {
            "type": "object",
            "additionalProperties": {"anyOf": [{"type": "string"}, *_]},
        }:
            yield {"added": "1"}
        case _:
            pass


_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def _near(value: Any) -> Iterator[Any]:
    """Values like this one."""
    match value:
        case bool():
            yield not value
        case int() | float():
            yield from (value + 1, value * 2, value - 1)
            if isinstance(value, int):
                yield value // 2
        case str() if _DATE.fullmatch(value):
            day = datetime.date.fromisoformat(value)
            yield from ((day + datetime.timedelta(days=days)).isoformat() for days in (-1, 1, -10))
        case str():
            yield from (f"{value}2", f"{value}-2", f"{value[:-1]}2", f"2{value}", f"{value} -v")
        case [*entries]:
            yield from ([*entries, each] for entry in entries for each in _near(entry))
            yield from (entries[:-1], entries[1:])
        case {}:
            yield {**value, "added": "1"}
            for key, each in value.items():
                yield from ({**value, key: other} for other in _near(each))
            yield {}
        case _:
            pass


@cache
def _is_legal(text: str) -> bool:
    says = json.loads(text)
    try:
        settings = read(configuration(says), TODAY, encrypted(says))
        return all(problem.severity is Severity.WARNING for problem in pure_problems(settings, PROJECT, STACK))
    except Exception:  # noqa: BLE001  a candidate that isn't even read is none
        return False


def is_legal(says: Mapping[str, Any]) -> bool:
    """Whether the pure plan has nothing against a stack."""
    return _is_legal(json.dumps(says, default=str))


def smaller(change: Change) -> Change:
    """The same change in a stack without what it doesn't need: parts beside the one that is changed."""
    if change.at[0] in ("foundation", "team", "location", "tags", "as_of", "image_source", "assign_roles", "protect_data"):
        return change
    before, after = copy.deepcopy(dict(change.before)), copy.deepcopy(dict(change.after))
    stay = ("team", "location", "foundation", "protect_data", change.at[0], *STANDING_ON.get(str(change.at[0]), ()))
    needless: list[Steps] = [*_beside(before, change), *((change.at[0], name) for name in _entries(before, change.at))]
    needless += [(section,) for section in before if section not in stay]
    for steps in needless:
        fewer = [copy.deepcopy(says) for says in (before, after)]
        for says in fewer:
            if _is_at(says, steps):
                del value_at(says, steps[:-1])[steps[-1]]
        if all(map(is_legal, fewer)):
            before, after = fewer
    return Change(change.argument, change.kind, change.stack, before, after, change.at, change.answers)


def _beside(says: Mapping[str, Any], change: Change) -> Iterator[Steps]:
    """Of an argument of a part of a part, such as a job on a cluster: the other parts of what that is in."""
    last = max((index for index, segment in enumerate(_segments(change.argument)) if segment == "<name>"), default=0)
    for level in range(1, last + 1):
        inside, pattern = value_at(says, change.at[:level]), _pattern(change.at[:level])
        is_of_parts = _is_object(arguments()[pattern].node.get("additionalProperties")) if pattern in arguments() else False
        for key in inside if isinstance(inside, dict) else ():
            below = _pattern((*change.at[:level], key))
            node = arguments()[below].node if below in arguments() else {}
            if key != change.at[level] and level <= last and (is_of_parts or _is_object(node.get("additionalProperties"))):
                yield (*change.at[:level], key)


def _entries(says: Mapping[str, Any], at: Steps) -> list[str]:
    section = says.get(str(at[0]))
    if len(at) < 2 or not arguments()[str(at[0])].node.get("additionalProperties") or not isinstance(section, dict):
        return []
    return [name for name in section if name != at[1]]


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= 40 else f"{text[:37]}..."
