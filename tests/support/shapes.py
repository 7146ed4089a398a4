"""Hypothesis strategies for SDK inputs and ARM bodies, made from a shape: every one is right by that shape."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from formats.azure_types import AzureType
from localazure.plugin.projection import sdk_properties
from localazure.shapes import (
    AnyShape,
    ArrayShape,
    BooleanShape,
    MapShape,
    NumberShape,
    ObjectShape,
    Shape,
    StringShape,
    UnionShape,
    arm_shape,
    sdk_inputs,
)

_WORDS = st.text("abcxyz-09", min_size=1, max_size=6)


def sdk_inputs_of(azure_type: AzureType) -> SearchStrategy[dict[str, Any]]:
    """Inputs as a program may give them, without hidden ones. What ARM requires is always there."""
    taken = sdk_inputs(azure_type)
    path = st.fixed_dictionaries(dict.fromkeys(azure_type.path_parameters, _WORDS))
    body = _object(arm_shape(azure_type), only=taken - set(azure_type.path_parameters))
    return st.tuples(path, body).map(lambda parts: {**parts[1], **parts[0]})


def _object(shape: ObjectShape, only: frozenset[str] | set[str] | None = None) -> SearchStrategy[dict[str, Any]]:
    required: dict[str, SearchStrategy[Any]] = {}
    optional: dict[str, SearchStrategy[Any]] = {}
    for name, each in sdk_properties(shape).items():
        if each.read_only or (only is not None and name not in only):
            continue
        kind = required if each.required else optional
        kind[name] = st.lists(_WORDS, max_size=2, unique=True) if each.key_set else _value(each.shape)
    return st.fixed_dictionaries(required, optional=optional)


def _value(shape: Shape) -> SearchStrategy[Any]:
    match shape:
        case ObjectShape():
            return _object(shape)
        case ArrayShape(items):
            return st.lists(st.deferred(lambda: _value(items)), max_size=2)
        case MapShape(values):
            return st.dictionaries(_WORDS, st.deferred(lambda: _value(values)), max_size=2)
        case UnionShape(discriminator, options):
            return st.one_of([_object(option).map(_named(discriminator, name)) for name, option in options.items()])
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
