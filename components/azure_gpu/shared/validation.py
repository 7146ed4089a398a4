"""Validates values against type annotations, and generates JSON Schemas from them.

An annotation is a TypedDict, `Mapping[str, …]`, `Sequence[…]`, a choice, `str`, `int`, `float`, `bool`, `Any`, a
component, `pulumi.Input[…]` or `OpenInput[…]` of one of them, a union of them, or `Annotated[…]` with an object whose
method `check` takes a value and its path and returns problems. A choice is a `Literal` with a `Choice`. `check` returns the value
without its invalid parts, and one problem for each of these.

An output is valid where the annotation is an input. Everywhere else the value must be known when the program runs.
A value that is annotated `pulumi.Input[…]` may be a secret, so no problem shows it, or an object, a map or a list around it. A
value that is annotated `OpenInput[…]` is kept in plain text and may be shown.
"""

import ast
import difflib
import functools
import inspect
import itertools
import sys
import textwrap
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import pulumi

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused

T = TypeVar("T")
OUTPUT = (pulumi.Output, Awaitable)
"""What is known only while resources are created."""
_OPEN = "kept in plain text"
OpenInput = Annotated[pulumi.Input[T], _OPEN]
"""An input that isn't secret: a tag, a name, an image. A stack file has it in plain text."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What schemas show of a choice: `Annotated[Literal["Free", "Standard"], Choice("ClusterTier", "The tier of …")]`."""

    name: str
    """Of the type in other languages."""
    meaning: str
    labels: tuple[tuple[str, str], ...] = ()
    """Texts with their names in other languages, where those don't follow from the texts."""


_WORDS: dict[type, str] = {str: "a string", int: "an integer", float: "a number", bool: "true or false"}


@dataclass(slots=True)
class Checked:
    """A value without its invalid parts, with the problems of these."""

    value: Any
    problems: list[Problem] = field(default_factory=list[Problem])
    usable: bool = True  # False where the whole value has a wrong type, or a required key is missing


def check(value: object, annotation: Any, path: str) -> Checked:
    """Validates `value` against `annotation`. `path`: the user's path of the value."""
    checked = _check(value, annotation, path)
    own = [problem for each in _own_checks(annotation) for problem in each.check(value, path)]
    if own:
        return Checked(None, [*checked.problems, *own], usable=False)
    return checked


def _own_checks(annotation: Any) -> list[Any]:
    """Returns the custom checks of an annotation: objects with a method `check`."""
    return [each for each in get_args(annotation)[1:] if hasattr(each, "check")] if get_origin(annotation) is Annotated else []


def _check(value: object, annotation: Any, path: str) -> Checked:
    if isinstance(value, OUTPUT):
        return Checked(value) if takes_outputs(annotation) else _unknown_value(path, annotation)
    kind = form(annotation)
    shown = None if _may_hold_secrets(annotation) else value
    if isinstance(value, pulumi.Resource):
        return Checked(value) if isinstance(value, components_of(annotation)) else _wrong_resource(path, value, annotation)
    if kind is Any:
        return Checked(value)
    if is_typeddict(kind):
        return _check_object(value, shown, kind, path)
    if get_origin(kind) in _MAPS:
        return _check_map(value, shown, get_args(kind)[1], path)
    if get_origin(kind) in _LISTS:
        return _check_list(value, shown, get_args(kind)[0], path)
    if allowed := choices(kind):
        return _check_choice(value, shown, allowed, path)
    if issubclass(kind, pulumi.Resource):
        return _wrong_type(path, shown, value, f"a {kind_name(kind)}")
    if _is_a(value, kind):
        return Checked(value)
    expected = " or ".join([f"a {kind_name(each)}" for each in components_of(annotation)] + [_WORDS[kind]])
    return _wrong_type(path, shown, value, expected)


_MAPS, _LISTS = (dict, Mapping), (list, Sequence)


Object = TypeVar("Object", bound=Mapping[str, object])


def written(given: Object | bool | str) -> Object:
    """Casts an object that may be a shorthand, such as `true`, to its type: `check` has expanded it already."""
    return cast(Any, given)


def is_map(annotation: Any) -> bool:
    """Whether the annotation is a map with user-defined keys."""
    return get_origin(form(annotation)) in _MAPS


def below(annotation: Any, step: str | int) -> Any:
    """Returns the annotation of a key or an entry; `Any` where there is none."""
    kind = form(annotation)
    if kind is Any:
        return annotation
    if is_typeddict(kind):
        return key_hints(kind).get(str(step), Any)
    arguments = get_args(kind)
    return arguments[-1] if get_origin(kind) in (*_MAPS, *_LISTS) and arguments else Any


def choice_of(annotation: Any) -> Choice | None:
    """Returns what schemas show of a choice; None for any other annotation."""
    return next((each for each in getattr(annotation, "__metadata__", ()) if isinstance(each, Choice)), None)


def choices(kind: Any) -> list[str]:
    """Returns the texts of a choice; none for any other annotation."""
    return list(get_args(get_args(kind)[0])) if choice_of(kind) is not None else []


def form(annotation: Any) -> Any:
    """Returns the main form of an annotation, as in a stack file: `T` of `pulumi.Input[T]`, the object of `Object | bool`, the
    choice, the string of `Component | str`."""
    kinds = [each for each in alternatives(annotation) if not _is_output_type(each) and get_origin(each) is not Literal]
    plain = [each for each in kinds if not _is_class(each, pulumi.Resource)]
    return next((each for each in plain if each is Any or not _is_scalar(each)), (plain or kinds)[0])


def may_be_secret(annotation: Any) -> bool:
    """Whether the annotation is a `pulumi.Input`, whose value may be a secret."""
    return annotation is not Any and takes_outputs(annotation) and not _is_open(annotation)


def alternatives(annotation: Any) -> list[Any]:
    """Returns the members of a union, at any depth; for anything else, itself."""
    if get_origin(annotation) is Annotated and choice_of(annotation) is None:
        return alternatives(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [kind for each in get_args(annotation) for kind in alternatives(each)]
    return [annotation]


def _is_open(annotation: Any) -> bool:
    if get_origin(annotation) is Annotated:
        return _OPEN in get_args(annotation)[1:]
    return get_origin(annotation) in (Union, UnionType) and any(_is_open(each) for each in get_args(annotation))


def _is_output_type(annotation: Any) -> bool:
    named = getattr(annotation, "__forward_arg__", "")  # as `pulumi.Input` holds it, which is evaluated only in a TypedDict
    return named.startswith("Output[") or get_origin(annotation) in (pulumi.Output, Awaitable)


def _is_class(annotation: Any, of: type) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, of)


def _is_scalar(annotation: Any) -> bool:
    return annotation in _WORDS


@functools.cache
def takes_outputs(annotation: Any) -> bool:
    """Whether the annotation allows outputs."""
    return any(each is Any or _is_output_type(each) for each in alternatives(annotation))


@functools.cache
def components_of(annotation: Any) -> tuple[type, ...]:
    """Returns the components that an annotation allows."""
    return tuple(each for each in alternatives(annotation) if _is_class(each, pulumi.Resource))


def kind_name(component: type) -> str:
    """Returns the public name of a component; a base class has it in `KIND`."""
    return getattr(component, "KIND", component.__name__)


def _unknown_value(path: str, annotation: Any) -> Checked:
    kind = form(annotation)
    is_component = _is_class(kind, pulumi.Resource)
    problem = refused(
        "value.output",
        path,
        allowed=_components(annotation) if is_component else _description(kind),
        fix="pass the component itself" if is_component else "pass the value itself, such as one of the stack's configuration",
    )
    return Checked(None, [problem], usable=False)


def _components(annotation: Any) -> str:
    return " or ".join(f"a {kind_name(each)}" for each in components_of(annotation))


def _wrong_resource(path: str, value: pulumi.Resource, annotation: Any) -> Checked:
    words = [_components(annotation)] if components_of(annotation) else []
    if takes_outputs(annotation) or not words:
        words.append(_description(form(annotation)))
    fix = "pass its id" if takes_outputs(annotation) else ""
    problem = Problem(path=path, message=f"a {type(value).__name__} isn't accepted here", allowed=" or ".join(words), fix=fix)
    return Checked(None, [problem], usable=False)


def _description(kind: Any) -> str:
    if is_typeddict(kind):
        return f"an object with {', '.join(key_hints(kind))}"
    if get_origin(kind) in _MAPS:
        return "an object"
    if get_origin(kind) in _LISTS:
        return "a list"
    return ", ".join(choices(kind)) or _WORDS.get(kind, "any value")


@functools.cache
def key_hints(expected: Any) -> dict[str, Any]:
    """Returns the annotations of a TypedDict's keys."""
    names = {"Output": pulumi.Output, "T": T}  # names that `pulumi.Input` holds as text
    hints = get_type_hints(expected, localns=names, include_extras=True)
    return {key: _of_key(hint) for key, hint in hints.items()}


def _of_key(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) in (NotRequired, Required) else annotation


@functools.cache
def _may_hold_secrets(annotation: Any) -> bool:
    """Whether the value, or one inside of it, may be a secret."""
    if may_be_secret(annotation):
        return True
    kind = form(annotation)
    if kind is Any:
        return not _is_open(annotation)
    if is_typeddict(kind):
        return any(_may_hold_secrets(hint) for hint in key_hints(kind).values())
    return not choices(kind) and any(_may_hold_secrets(argument) for argument in get_args(kind))


def _is_a(value: object, expected: type) -> bool:
    if isinstance(value, bool):
        return expected is bool
    if expected in (int, float):
        return isinstance(value, int if expected is int else int | float) and _is_in_range(value)
    return isinstance(value, expected) and not (isinstance(value, str) and not value.isascii() and _has_lone_surrogate(value))


def _has_lone_surrogate(text: str) -> bool:
    r"""Whether the text has half of a surrogate pair, as in `"\ud800"`, which can't be encoded."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def _is_in_range(value: float) -> bool:
    """Whether a number is finite: not NaN or infinite, and not above the largest float."""
    return abs(value) <= sys.float_info.max


def _wrong_type(path: str, shown: object, value: object, expected: str) -> Checked:
    if isinstance(value, str) and _has_lone_surrogate(value):
        shown = None
    message = "value is missing" if value is None else f"expected {expected}, got {_kind(value)}"
    fix = f'write it in quotes: "{shown}"' if expected == _WORDS[str] and isinstance(shown, int | float) else f"write {expected}"
    return Checked(None, [Problem(path=path, message=message, value=shown, allowed=expected, fix=fix)], usable=False)


def _kind(value: object) -> str:
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float) and not _is_in_range(value):
        return "a number out of range"
    if isinstance(value, str) and _has_lone_surrogate(value):
        return "a string with half of a surrogate pair"
    return _WORDS.get(type(value), type(value).__name__)


def _written_out(value: object, expected: Any) -> object:
    """Expands the two shorthands: `create` to `{create: true}`, where `create` is the first key and no other is required; `true`
    to `{enabled: true}`, where `enabled` is."""
    [shorthand] = shorthands(expected) or [None]
    if shorthand == SWITCH:
        return {shorthand: value} if isinstance(value, bool) else value
    return {shorthand: True} if shorthand is not None and value == shorthand else value


SWITCH = "enabled"


def shorthands(expected: Any) -> list[str]:
    """Returns the key of an object's shorthand, such as `create` or `enabled`; empty for most objects."""
    return [] if expected.__required_keys__ else [key for key, hint in list(key_hints(expected).items())[:1] if hint is bool]


def _check_object(value: object, shown: object, expected: Any, path: str) -> Checked:
    hints = key_hints(expected)
    if not isinstance(value, Mapping):
        value = _written_out(value, expected)
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
        elif key in expected.__required_keys__:
            allowed = f"{_components(hints[key])}, or its ARM id" if components_of(hints[key]) else ""
            problems.append(Problem(_below(path, key), "required, but not set", allowed=allowed, fix=f"add {key}"))
    return Checked(kept, problems, usable=expected.__required_keys__ <= kept.keys())


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key or '""'  # a key may be empty


def _unknown_key(path: str, key: str, known: list[str]) -> Problem:
    close = difflib.get_close_matches(key, known, n=1)
    fix = f"did you mean {close[0]}?" if close else "remove it"
    return Problem(path=path, message="unknown key", value=key, allowed=", ".join(known), fix=fix)


def _check_map(value: object, shown: object, expected: Any, path: str) -> Checked:
    if not isinstance(value, Mapping):
        return _wrong_type(path, shown, value, "an object")
    if any(_has_lone_surrogate(str(key)) for key in cast(Mapping[object, object], value)):
        problem = Problem(path=path, message="a key has half of a surrogate pair", fix="write the character itself")
        return Checked(None, [problem], usable=False)
    entries = {str(key): check(entry, expected, f"{path}.{key}") for key, entry in cast(Mapping[object, object], value).items()}
    kept = {key: entry.value for key, entry in entries.items() if entry.usable}
    return Checked(kept, [problem for entry in entries.values() for problem in entry.problems])


def _check_list(value: object, shown: object, expected: Any, path: str) -> Checked:
    if not isinstance(value, list | tuple):
        return _wrong_type(path, shown, value, "a list")
    entries = [check(entry, expected, f"{path}[{index}]") for index, entry in enumerate(cast(list[object], value))]
    kept = [entry.value for entry in entries if entry.usable]
    return Checked(kept, [problem for entry in entries for problem in entry.problems])


def _check_choice(value: object, shown: object, allowed: list[str], path: str) -> Checked:
    if value in allowed:
        return Checked(value)
    close = difflib.get_close_matches(str(value), allowed, n=1, cutoff=0.5)
    fix = f"did you mean {close[0]}?" if close else f"write one of {', '.join(allowed)}"
    problem = Problem(path=path, message="invalid value", value=shown, allowed=", ".join(allowed), fix=fix)
    return Checked(None, [problem], usable=False)


OUTPUT_TITLE = "output"  # the title of what only a program can give
_ENCRYPTED = {  # how the engine writes a secret into a stack file
    "type": "object",
    "properties": {"secure": {"type": "string", "description": "Written by `pulumi config set --secret`."}},
    "required": ["secure"],
    "additionalProperties": False,
}


def schema(annotation: Any, *, in_program: bool = False) -> dict[str, Any]:
    """Generates the JSON Schema of an annotation in a stack file; `in_program`: in a program, where components and outputs, which
    JSON doesn't have, are forms with a title. Docstrings of a TypedDict's keys become descriptions."""
    kind = form(annotation)
    if kind is Any:
        return {}
    if is_typeddict(kind):
        return _object_schema(kind, in_program)
    if get_origin(kind) in _MAPS:
        return {"type": "object", "additionalProperties": schema(get_args(kind)[1], in_program=in_program)}
    if get_origin(kind) in _LISTS:
        return {"type": "array", "items": schema(get_args(kind)[0], in_program=in_program)}
    if allowed := choices(kind):
        return {"enum": allowed}
    names = {str: "string", int: "integer", float: "number", bool: "boolean"}
    forms: list[dict[str, Any]] = [{"type": names[kind]}] if kind in names else []
    if in_program:
        forms = [*({"title": kind_name(each)} for each in components_of(annotation)), *forms]
        forms += [{"title": OUTPUT_TITLE}] if takes_outputs(annotation) else []
    elif may_be_secret(annotation):
        forms.append(_ENCRYPTED)
    return forms[0] if len(forms) == 1 else {"anyOf": forms}


def _object_schema(expected: Any, in_program: bool) -> dict[str, Any]:
    hints = key_hints(expected)
    descriptions = key_docstrings(expected)
    written = {
        "type": "object",
        "description": inspect.cleandoc(expected.__doc__ or ""),
        "properties": {
            key: {**schema(hint, in_program=in_program), "description": descriptions[key]} for key, hint in hints.items()
        },
        "required": sorted(expected.__required_keys__),
        "additionalProperties": False,
    }
    short: list[Any] = [True, False] if shorthands(expected) == [SWITCH] else shorthands(expected)
    return {"anyOf": [{"enum": short}, written]} if short else written


@functools.cache
def key_docstrings(expected: Any) -> dict[str, str]:
    """Returns the docstrings below the keys of a TypedDict and of its bases, read from the source, as Python doesn't keep
    them."""
    [definition] = ast.parse(textwrap.dedent(inspect.getsource(expected))).body
    written = cast(ast.ClassDef, definition)
    module = vars(sys.modules[expected.__module__])
    found: dict[str, str] = {}
    for base in written.bases:  # by name, because a TypedDict's class doesn't keep its bases before Python 3.12
        if isinstance(base, ast.Name) and is_typeddict(module.get(base.id)):
            found |= key_docstrings(module[base.id])
    for statement, following in itertools.pairwise(written.body):
        match statement, following:
            case ast.AnnAssign(target=ast.Name(id=key)), ast.Expr(value=ast.Constant(value=str(text))):
                found[key] = inspect.cleandoc(text)
            case _:
                pass
    return found
