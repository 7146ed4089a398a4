"""Values against type annotations: what is wrong with a configuration value, and the JSON Schema of what is right.

In: a value made of JSON's types, and an annotation: a TypedDict, `dict[str, …]`, `list[…]`, a `str` enum, `str`, `int`, `float`,
`bool`, `Any`, which takes everything, or `pulumi.Input[…]` of one of them. Out: the value without what is wrong in it, and one
problem for each thing left out.
What is annotated `pulumi.Input[…]` is wired: it may hold a secret, so no problem shows its value, nor that of an object, a map or
a list around it, in whatever shape it was written.
"""

import ast
import difflib
import functools
import inspect
import itertools
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints, is_typeddict

import pulumi

from azure_gpu.catalog.problems import Problem

T = TypeVar("T")
_WORDS: dict[type, str] = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


@dataclass(slots=True)
class Checked:
    """What is left of a value, and why the rest isn't."""

    value: Any
    problems: list[Problem] = field(default_factory=list[Problem])
    usable: bool = True  # False where the value as a whole is of a wrong type, or lacks a key that is needed


def check(value: object, annotation: Any, path: str) -> Checked:
    """`value` against `annotation`. `path` is where the user wrote it."""
    inner = unwired(annotation)
    shown = None if _may_hold_secrets(annotation) else value
    if inner is Any:
        return Checked(value)
    if is_typeddict(inner):
        return _check_object(_written_out(value, inner), shown, inner, path)
    if get_origin(inner) is dict:
        return _check_map(value, shown, get_args(inner)[1], path)
    if get_origin(inner) is list:
        return _check_list(value, shown, get_args(inner)[0], path)
    if issubclass(inner, Enum):
        return _check_choice(value, inner, path)
    if _is_a(value, inner):
        return Checked(value)
    return _wrong_type(path, shown, value, _WORDS[inner])


@functools.cache
def key_hints(wanted: Any) -> dict[str, Any]:
    """The annotation of each key of a TypedDict."""
    return get_type_hints(wanted, localns={"Output": pulumi.Output, "T": T})  # names that `pulumi.Input` holds as text


@functools.cache
def _may_hold_secrets(annotation: Any) -> bool:
    """Whether something wired, or anything at all, may stand there or below."""
    inner = unwired(annotation)
    if inner is not annotation or inner is Any:
        return True
    if is_typeddict(inner):
        return any(_may_hold_secrets(hint) for hint in key_hints(inner).values())
    return any(_may_hold_secrets(argument) for argument in get_args(inner))


def unwired(annotation: Any) -> Any:
    """The `T` of `pulumi.Input[T]`, or the annotation itself."""
    arguments = get_args(annotation)
    if get_origin(annotation) is Union and any(get_origin(argument) is pulumi.Output for argument in arguments):
        return arguments[0]
    return annotation


def _is_a(value: object, wanted: type) -> bool:
    if isinstance(value, bool):
        return wanted is bool
    if wanted in (int, float):
        return isinstance(value, int if wanted is int else int | float) and _is_counted(value)
    return isinstance(value, wanted)


def _is_counted(value: float) -> bool:
    """NaN, which compares with nothing, and what is larger than a number may be aren't numbers to anybody."""
    return abs(value) <= sys.float_info.max


def _wrong_type(path: str, shown: object, value: object, wanted: str) -> Checked:
    message = "nothing is written here" if value is None else f"{wanted} is wanted here, this is {_kind(value)}"
    fix = f'write it in quotes: "{shown}"' if wanted == "text" and isinstance(shown, int | float) else f"write {wanted}"
    return Checked(None, [Problem(path=path, message=message, value=shown, allowed=wanted, fix=fix)], usable=False)


def _kind(value: object) -> str:
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, int | float) and not _is_counted(value):
        return "one that nobody counts to"
    return _WORDS.get(type(value), type(value).__name__)


def _written_out(value: object, wanted: Any) -> object:
    """The two shorthands: `create` stands for `{create: true}`, where `create` is the first key and no other is needed; `true`
    stands for `{enabled: true}`, where `enabled` is."""
    [shorthand] = _shorthands(wanted) or [None]
    if shorthand == _SWITCH:
        return {shorthand: value} if isinstance(value, bool) else value
    return {shorthand: True} if shorthand is not None and value == shorthand else value


_SWITCH = "enabled"


def _shorthands(wanted: Any) -> list[str]:
    """The word that may stand for a whole object, or the key that true and false stand for; none for most."""
    return [] if wanted.__required_keys__ else [key for key, hint in list(key_hints(wanted).items())[:1] if hint is bool]


def _check_object(value: object, shown: object, wanted: Any, path: str) -> Checked:
    hints = key_hints(wanted)
    if not isinstance(value, Mapping):
        return _wrong_type(path, shown, value, f"an object with {', '.join(hints)}")
    given = cast(Mapping[str, object], value)
    kept: dict[str, object] = {}
    problems = [_unknown_key(_below(path, key), key, list(hints)) for key in given if key not in hints]
    for key in hints:
        if key in given:
            checked = check(given[key], hints[key], _below(path, key))
            problems += checked.problems
            if checked.usable:
                kept[key] = checked.value
        elif key in wanted.__required_keys__:
            problems.append(Problem(path=_below(path, key), message="this is needed and not given", fix=f"add {key}"))
    return Checked(kept, problems, usable=wanted.__required_keys__ <= kept.keys())


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _unknown_key(path: str, key: str, known: list[str]) -> Problem:
    close = difflib.get_close_matches(key, known, n=1)
    fix = f"did you mean {close[0]}?" if close else "remove it"
    return Problem(path=path, message="there is no such key", value=key, allowed=", ".join(known), fix=fix)


def _check_map(value: object, shown: object, wanted: Any, path: str) -> Checked:
    if not isinstance(value, Mapping):
        return _wrong_type(path, shown, value, "an object")
    entries = {str(key): check(entry, wanted, f"{path}.{key}") for key, entry in cast(Mapping[object, object], value).items()}
    kept = {key: entry.value for key, entry in entries.items() if entry.usable}
    return Checked(kept, [problem for entry in entries.values() for problem in entry.problems])


def _check_list(value: object, shown: object, wanted: Any, path: str) -> Checked:
    if not isinstance(value, list):
        return _wrong_type(path, shown, value, "a list")
    entries = [check(entry, wanted, f"{path}[{index}]") for index, entry in enumerate(cast(list[object], value))]
    kept = [entry.value for entry in entries if entry.usable]
    return Checked(kept, [problem for entry in entries for problem in entry.problems])


def _check_choice(value: object, wanted: type[Enum], path: str) -> Checked:
    choices = [str(member.value) for member in wanted]
    if value in choices:
        return Checked(value)
    close = difflib.get_close_matches(str(value), choices, n=1, cutoff=0.5)
    fix = f"did you mean {close[0]}?" if close else f"write one of {', '.join(choices)}"
    problem = Problem(path=path, message="this isn't one of the choices", value=value, allowed=", ".join(choices), fix=fix)
    return Checked(None, [problem], usable=False)


def schema(annotation: Any) -> dict[str, Any]:
    """The JSON Schema of an annotation. Docstrings of a TypedDict's keys become descriptions."""
    inner = unwired(annotation)
    if inner is Any:
        return {}
    if is_typeddict(inner):
        return _object_schema(inner)
    if get_origin(inner) is dict:
        return {"type": "object", "additionalProperties": schema(get_args(inner)[1])}
    if get_origin(inner) is list:
        return {"type": "array", "items": schema(get_args(inner)[0])}
    if issubclass(inner, Enum):
        return {"enum": [member.value for member in inner]}
    names = {str: "string", int: "integer", float: "number", bool: "boolean"}
    plain = {"type": names[inner]}
    return plain if inner is annotation else {"anyOf": [plain, _ENCRYPTED]}


_ENCRYPTED = {  # how the engine writes a secret into a stack file
    "type": "object",
    "properties": {"secure": {"type": "string", "description": "Written by `pulumi config set --secret`."}},
    "required": ["secure"],
    "additionalProperties": False,
}


def _object_schema(wanted: Any) -> dict[str, Any]:
    hints = key_hints(wanted)
    descriptions = key_docstrings(wanted)
    written = {
        "type": "object",
        "description": inspect.cleandoc(wanted.__doc__ or ""),
        "properties": {key: {**schema(hint), "description": descriptions[key]} for key, hint in hints.items()},
        "required": sorted(wanted.__required_keys__),
        "additionalProperties": False,
    }
    shorthands: list[Any] = [True, False] if _shorthands(wanted) == [_SWITCH] else _shorthands(wanted)
    return {"anyOf": [{"enum": shorthands}, written]} if shorthands else written


def key_docstrings(wanted: Any) -> dict[str, str]:
    """The docstring below each key of a TypedDict and of its bases, read from the source: Python doesn't keep them."""
    [definition] = ast.parse(textwrap.dedent(inspect.getsource(wanted))).body
    written = cast(ast.ClassDef, definition)
    module = vars(sys.modules[wanted.__module__])
    found: dict[str, str] = {}
    for base in written.bases:  # by name, because a TypedDict's class remembers none of them before Python 3.12
        if isinstance(base, ast.Name) and is_typeddict(module.get(base.id)):
            found |= key_docstrings(module[base.id])
    for statement, following in itertools.pairwise(written.body):
        match statement, following:
            case ast.AnnAssign(target=ast.Name(id=key)), ast.Expr(value=ast.Constant(value=str(text))):
                found[key] = inspect.cleandoc(text)
            case _:
                pass
    return found
