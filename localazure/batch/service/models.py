"""The shapes of the data plane's bodies, read from the models of the installed azure-batch package, and their validation.

What only older API versions have is in a small table beside them. Models are read when they are first asked for.
"""

import datetime
import functools
import importlib
import sys
import types
import typing
from enum import Enum
from typing import Any

from localazure.arm.store import Body
from localazure.batch.errors import BatchError
from localazure.shapes.check import BodyProblem, body_problems
from localazure.shapes.model import (
    AnyShape,
    ArrayShape,
    BooleanShape,
    MapShape,
    NumberShape,
    ObjectShape,
    Property,
    Shape,
    StringShape,
)

PACKAGE = "azure.batch.models"
_ALL = f"{PACKAGE}._models"  # those of bodies that the client puts together itself aren't exported
_SCALARS: dict[object, Shape] = {
    str: StringShape(),
    bool: BooleanShape(),
    int: NumberShape(integer=True),
    float: NumberShape(integer=False),
    datetime.datetime: StringShape(),
    datetime.timedelta: StringShape(),
    bytes: StringShape(),
    Any: AnyShape(),
}
# Properties of API version 2024-02-01.19.0, which azure-batch 14.2 and 15.0.0b1 send, that 2025-06-01 has no more.
_TEXT, _ANYTHING = StringShape(), ArrayShape(AnyShape())
_OF_POOLS: dict[str, Shape] = {"certificateReferences": _ANYTHING, "targetNodeCommunicationMode": _TEXT}
_LATER: dict[str, Shape] = {**_OF_POOLS, "resourceTags": MapShape(_TEXT)}
_OLDER: dict[str, dict[str, Shape]] = {
    "BatchTaskCreateOptions": {"authenticationTokenSettings": AnyShape()},
    "BatchJobManagerTask": {"authenticationTokenSettings": AnyShape()},
    "DataDisk": {"storageAccountType": _TEXT},
    "BatchPoolCreateOptions": {**_LATER, "applicationLicenses": ArrayShape(_TEXT)},
    "BatchPoolUpdateOptions": _LATER,
    "BatchPoolReplaceOptions": _OF_POOLS,
    "BatchPool": {**_LATER, "currentNodeCommunicationMode": _TEXT, "applicationLicenses": ArrayShape(_TEXT)},
}


@functools.cache
def shape(model: str) -> ObjectShape:
    """The shape of a model, by its name in azure-batch 15.1."""
    cls = getattr(importlib.import_module(_ALL), model)
    hints = _hints(cls)
    properties: dict[str, Property] = {}
    for attribute, field in _fields(cls):
        name = getattr(field, "_rest_name_input", None) or attribute
        inner, optional = _unwrapped(hints[attribute])
        read_only = getattr(field, "_visibility", None) == ["read"]
        properties[name] = Property(
            name, _shape(inner), sdk_name=attribute, required=not optional and not read_only, read_only=read_only
        )
    for name, older in _OLDER.get(model, {}).items():
        properties[name] = Property(name, older, sdk_name=name)
    return ObjectShape(model, properties)


def checked(model: str, body: Any) -> Body:
    """A request's body in the model's own spelling. BatchError 400 for the first that is wrong with it.

    What the service sets is passed over, as is what is null; numbers may be given as text, as the Azure CLI does.
    """
    if body is None:
        raise BatchError("InvalidRequestBody", values={"PropertyName": "", "Reason": "the request body is null"})
    known = shape(model)
    plain = _settled(known, body)
    # One level deeper, since the check passes over an ARM body's own `id`, and an id is what the data plane requests.
    wrapper = ObjectShape(model, {_BODY: Property(_BODY, known, sdk_name=_BODY)})
    for problem in body_problems(wrapper, {_BODY: plain}, creating=True):
        raise _refusal(problem)
    return plain


def spelled(model: str, value: Any) -> Any:
    """A value from elsewhere with this model's spelling of names and enums; what the model doesn't know is left out."""
    return respelled(shape(model), value)


def respelled(known: Shape, value: Any, *, keep: bool = False) -> Any:
    """A value in the spelling of a shape. What the shape doesn't know is left out, or kept as it is."""
    match known, value:
        case ObjectShape(), dict():
            ours = {name.lower(): each for name, each in known.properties.items()}
            found = {name: ours.get(name.lower()) for name, each in value.items() if each is not None}
            return {
                own.name if own else name: respelled(own.shape, value[name], keep=keep) if own else value[name]
                for name, own in found.items()
                if own or keep
            }
        case ArrayShape(), list():
            return [respelled(known.items, each, keep=keep) for each in value]
        case StringShape(), str() if known.allowed:
            return _enum(known, value)
        case _:
            return value


_BODY = "body"


def _refusal(problem: BodyProblem) -> BatchError:
    path = problem.path.removeprefix(f"{_BODY}.").removeprefix(_BODY)
    reason = problem.message.replace(f"'{_BODY}.", "'").replace(f"'{_BODY}'", "the request body")
    match problem.kind:
        case "missing":
            return BatchError("MissingRequiredProperty", values={"PropertyName": path})
        case "enum":
            return BatchError("InvalidPropertyValue", values={"PropertyName": path, "Reason": reason})
        case _:
            return BatchError("InvalidRequestBody", values={"PropertyName": path, "Reason": reason})


def _settled(known: Shape, value: Any) -> Any:
    match known, value:
        case ObjectShape(), dict():
            kept = {name: each for name, each in value.items() if each is not None and not _read_only(known, name)}
            return {
                name: _settled(known.properties[name].shape, each) if name in known.properties else each
                for name, each in kept.items()
            }
        case ArrayShape(), list():
            return [_settled(known.items, each) for each in value]
        case MapShape(), dict():
            return {name: _settled(known.values, each) for name, each in value.items()}
        case NumberShape(integer=True), str() if value.isascii() and value.removeprefix("-").isdigit() and len(value) < 19:
            return int(value)
        case NumberShape(integer=True), float() if value.is_integer():
            return int(value)
        case StringShape(), str() if known.allowed:
            return _enum(known, value)
        case _:
            return value


def _enum(known: StringShape, value: str) -> str:
    return next((each for each in known.allowed if each.lower() == value.lower()), value)


def _read_only(known: ObjectShape, name: str) -> bool:
    return name in known.properties and known.properties[name].read_only


def _fields(cls: type) -> list[tuple[str, Any]]:
    found: dict[str, Any] = {}
    for each in reversed(cls.__mro__):
        found |= {name: value for name, value in vars(each).items() if hasattr(value, "_rest_name_input")}
    return list(found.items())


def _hints(cls: type) -> dict[str, Any]:
    hints: dict[str, Any] = {}
    for each in reversed(cls.__mro__):
        if each.__module__.startswith(PACKAGE):
            known = vars(sys.modules[each.__module__]) | {"_models": importlib.import_module(PACKAGE)}
            hints |= {name: _resolved(annotation, known) for name, annotation in each.__annotations__.items()}
    return hints


def _resolved(annotation: Any, known: dict[str, Any]) -> Any:
    return typing.get_type_hints(types.SimpleNamespace(__annotations__={"it": annotation}), known)["it"]


def _unwrapped(hint: Any) -> tuple[Any, bool]:
    """A type without its `None`, and whether it had one."""
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return hint, False
    options = [each for each in typing.get_args(hint) if each is not type(None)]
    enums = [each for each in options if isinstance(each, type) and issubclass(each, Enum)]
    return (enums or options)[0], len(options) < len(typing.get_args(hint))


def _shape(hint: Any) -> Shape:
    hint, _ = _unwrapped(hint)
    if hint in _SCALARS:
        return _SCALARS[hint]
    origin = typing.get_origin(hint)
    if origin is list:
        return ArrayShape(_shape(typing.get_args(hint)[0]))
    if origin is dict:
        return MapShape(_shape(typing.get_args(hint)[1]))
    if issubclass(hint, Enum):
        return StringShape(tuple(str(each.value) for each in hint), open=False)
    return shape(hint.__name__)
