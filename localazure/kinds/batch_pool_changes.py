"""The properties of a pool that can change: its scale, its start task, its packages and a few descriptive ones.

ArmError 400 PropertyCannotBeUpdated for the first property that can't. Which can: Microsoft Learn, REST reference of
Microsoft.Batch 2024-07-01, "Pool - Update", with its examples. That everything else is refused was told of networkConfiguration
and deploymentConfiguration (`batch_refusals`). The service is known to refuse some bodies that differ in nothing: a part of the
weather. Else letter case of names and ids makes no difference here.
"""

from collections.abc import Mapping
from typing import Any

from azure_gpu.formats import azure_types
from localazure import shapes
from localazure.arm.store import Body
from localazure.kinds.batch_refusals import cannot_be_updated
from localazure.shapes import ArrayShape, ObjectShape, Shape, StringShape
from localazure.shapes.convert import Walk

UPDATABLE = frozenset(
    {
        "scaleSettings",
        "startTask",
        "applicationPackages",
        "metadata",
        "certificates",
        "targetNodeCommunicationMode",
    }
)
_READ_WITHOUT_CASE = frozenset({"vmSize", "deploymentConfiguration", "networkConfiguration", "mountConfiguration"})


def check(before: Body, after: Body) -> None:
    """Both are the pool's `properties`, with the service's defaults. A secret that `after` leaves out is taken as unchanged."""
    for name in sorted((before.keys() | after.keys()) - UPDATABLE):
        if not _same(name, before.get(name), after.get(name)):
            raise cannot_be_updated(f"properties.{name}")


def refuse_whole(properties: Body) -> None:
    """ArmError where a PUT names what it can't change, whatever its value. Which of the two it names is assumed."""
    for name in ("networkConfiguration", "deploymentConfiguration"):
        if name in properties:
            raise cannot_be_updated(f"properties.{name}")


def kept(before: Body, after: Body) -> Body:
    """What can't change, as it is stored: with its secrets and in its first spelling."""
    return {name: value for name, value in before.items() if name not in UPDATABLE and name in after}


def _same(name: str, before: Any, after: Any) -> bool:
    shape = _shape_of(name)
    if name in _READ_WITHOUT_CASE:
        before, after = _folded(shape, before), _folded(shape, after)
    return before == _with_secrets(shape, before, after)


def _with_secrets(shape: Shape, before: Any, after: Any) -> Any:
    """`after` with the secrets that it leaves out as they are in `before`."""
    match shape, before, after:
        case ObjectShape(), dict(), dict():
            known = {name: each for name, each in shape.properties.items() if name in before and name in after}
            inner = {name: _with_secrets(each.shape, before[name], after[name]) for name, each in known.items()}
            secret = {name: before[name] for name, each in shape.properties.items() if each.secret and name in before}
            return {**secret, **after, **inner}
        case ArrayShape(), list(), list() if len(before) == len(after):
            return [_with_secrets(shape.items, one, other) for one, other in zip(before, after, strict=True)]
        case _:
            return after


def _shape_of(name: str) -> Shape:
    properties = shapes.arm_shape(azure_types.BATCH_POOL).properties["properties"].shape
    if not isinstance(properties, ObjectShape):
        raise TypeError("the SDK's class of a pool has no properties")
    return properties.properties[name].shape


def _folded(shape: Shape, value: Any) -> Any:
    """`value` with its names and ids in lower case; secrets, and what has no form of its own, stay as they are."""
    return shapes.walked(shape, value, _folded_object, lambda each, text: text.lower() if isinstance(each, StringShape) else text)


def _folded_object(shape: ObjectShape, value: Mapping[str, Any], on: Walk) -> Body:
    known = shape.properties
    return {name: each if known[name].secret else on(known[name].shape, each) for name, each in value.items()}
