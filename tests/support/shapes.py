"""Hypothesis strategies for SDK inputs and ARM bodies, made from a shape: every one is right by that shape."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from azure_gpu.formats.azure_types import AzureType
from localazure.plugin.projection import sdk_properties
from localazure.shapes import (
    AnyShape,
    ArrayShape,
    BooleanShape,
    MapShape,
    NumberShape,
    ObjectShape,
    Property,
    Shape,
    StringShape,
    UnionShape,
    arm_shape,
    sdk_inputs,
)

_MOST_OPTIONAL = 6
_WORDS = st.text("abcxyz-09", min_size=1, max_size=6)


def sdk_inputs_of(azure_type: AzureType) -> SearchStrategy[dict[str, Any]]:
    """Inputs as a program may give them, without hidden ones. What ARM requires is always there."""
    taken = sdk_inputs(azure_type)
    path = st.fixed_dictionaries(dict.fromkeys(azure_type.path_parameters, _WORDS))
    body = _object(arm_shape(azure_type), only=taken - set(azure_type.path_parameters))
    return st.tuples(path, body).map(lambda parts: {**parts[1], **parts[0]})


def _object(shape: ObjectShape, only: frozenset[str] | set[str] | None = None, depth: int = 0) -> SearchStrategy[dict[str, Any]]:
    """What is required, and a few of the rest: fewer the deeper it lies, since networks hold networks that hold networks."""
    taken = {name: each for name, each in sdk_properties(shape).items() if not each.read_only and (only is None or name in only)}
    required = [name for name, each in taken.items() if each.required]
    optional = [name for name in taken if name not in required]
    most = max(_MOST_OPTIONAL - 2 * depth, 0)

    def drawn(chosen: list[str]) -> SearchStrategy[dict[str, Any]]:
        return st.fixed_dictionaries({name: _property(taken[name], depth) for name in [*required, *chosen]})

    if not optional or not most:
        return st.deferred(lambda: drawn([]))
    return st.lists(st.sampled_from(optional), max_size=most, unique=True).flatmap(drawn)


def _property(each: Property, depth: int) -> SearchStrategy[Any]:
    return st.lists(_WORDS, max_size=2, unique=True) if each.key_set else _value(each.shape, depth + 1)


def _value(shape: Shape, depth: int) -> SearchStrategy[Any]:
    match shape:
        case ObjectShape():
            return _object(shape, depth=depth)
        case ArrayShape(items):
            return st.lists(st.deferred(lambda: _value(items, depth)), max_size=2)
        case MapShape(values):
            return st.dictionaries(_WORDS, st.deferred(lambda: _value(values, depth)), max_size=2)
        case UnionShape(discriminator, options):
            return st.one_of([_object(option, depth=depth).map(_named(discriminator, name)) for name, option in options.items()])
        case StringShape(allowed, is_open):
            return (
                st.one_of(st.sampled_from(allowed), _WORDS)
                if allowed and is_open
                else st.sampled_from(allowed)
                if allowed
                else _WORDS
            )
        case NumberShape(integer):
            whole = st.integers(0, 1000)
            return whole if integer else st.one_of(whole, st.floats(0.25, 64, width=16))
        case BooleanShape():
            return st.booleans()
        case AnyShape():
            return st.dictionaries(_WORDS, _WORDS, max_size=2)


def _named(discriminator: str, name: str) -> Any:
    return lambda value: {**value, discriminator: name}
