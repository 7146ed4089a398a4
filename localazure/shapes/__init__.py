"""ARM's shapes of the declared resource types: what a body may hold, and how Pulumi's SDK spells it.

Written from pulumi-azure-native and a small table beside it; tests hold it against Microsoft's types.
A container's memory is spelled `memoryInGB` there; clients that spell it `memoryInGb` are understood by
`respell`, as any name in another letter case is.
"""

from localazure.shapes.check import BodyProblem, body_problems
from localazure.shapes.convert import (
    from_arm,
    respelled,
    to_arm,
    walked,
    without_other_versions,
    without_read_only,
    without_secrets,
)
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
    UnionShape,
)
from localazure.shapes.written import api_versions, arm_shape, default_api_version, sdk_inputs

__all__ = [
    "AnyShape",
    "ArrayShape",
    "BodyProblem",
    "BooleanShape",
    "MapShape",
    "NumberShape",
    "ObjectShape",
    "Property",
    "Shape",
    "StringShape",
    "UnionShape",
    "api_versions",
    "arm_shape",
    "body_problems",
    "default_api_version",
    "from_arm",
    "respelled",
    "sdk_inputs",
    "to_arm",
    "walked",
    "without_other_versions",
    "without_read_only",
    "without_secrets",
]
