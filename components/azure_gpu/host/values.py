"""Converts the arguments that the engine sends to values of a program in Python.

The engine sends protobuf structs with marks for secrets, outputs, unknown values and resources
(https://pulumi-developer-docs.readthedocs.io/latest/docs/references/types-and-values.html). Unknown and secret values become a
`pulumi.Output`, even where an input isn't allowed, so that the component reports the problem. An output that is known, not secret
and without dependencies is an ordinary value: it is the same in a preview and in an update.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, is_typeddict

import pulumi
from google.protobuf.struct_pb2 import Struct, Value
from pulumi.resource import DependencyResource
from pulumi.runtime import rpc

from azure_gpu.catalog.problems import Problem
from azure_gpu.host.names import by_wire_name
from azure_gpu.shared.validation import below, form, key_hints, may_be_secret, takes_outputs

T = TypeVar("T")
# How the engine marks a special value: sdk/go/common/resource/sig of pulumi/pulumi.
_SIGNATURE, _SECRET, _OUTPUT, _RESOURCE = (
    "4dabf18193072939515e22adb298388d",
    "1b47061264138c4ac30d75fd1eb44270",
    "d0e6a833031e9bbcd3f4e8bde6ca49a4",
    "5cf8f73096256a8f31e491e813e4eb8e",
)


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument as the engine sends it."""

    value: Value
    dependencies: frozenset[str] = frozenset()
    """URNs of its dependencies, from languages that don't mark them in the value."""


@dataclass(frozen=True, slots=True)
class _Inherited:
    """Properties that a value inherits from the values around it."""

    urns: frozenset[str] = frozenset()
    secret: bool = False
    known: bool = True
    marked: bool = False  # the value itself is marked as an output, not the whole argument

    @property
    def is_output(self) -> bool:
        return bool(self.urns) or self.secret or not self.known


@dataclass(slots=True)
class Reader:
    """Reads the arguments of one component."""

    path: str
    """The component's path, such as `BatchPool("train")`."""
    resource: Callable[[Struct, str], pulumi.Resource | Problem]
    """Resolves a resource reference at a path."""
    problems: list[Problem] = field(default_factory=list[Problem])
    """Problems of values that can't be passed to a component."""

    def arguments(self, given: Mapping[str, Argument], args_type: Any) -> dict[str, Any]:
        """Reads the arguments. `args_type`: their TypedDict."""
        names, hints, found = by_wire_name(key_hints(args_type)), key_hints(args_type), dict[str, Any]()
        for name, each in given.items():
            key = names.get(name, name)
            hint = hints.get(key, Any)
            inherited = _Inherited(each.dependencies) if not _has_dependencies(each.value) else _Inherited()
            value = self._read(each.value, hint, f"{self.path}.{key}", inherited)
            if value is not None:
                found[key] = _without_mark_of_sdk(each.value, hint, value)
        return found

    def _read(self, value: Value, annotation: Any, path: str, inherited: _Inherited) -> Any:
        match value.WhichOneof("kind"):
            case "struct_value":
                return self._read_struct(value.struct_value, annotation, path, inherited)
            case "list_value":
                if inherited.is_output and self._whole(annotation, inherited):
                    return _flat(self._read(value, annotation, path, _Inherited()), inherited)
                each = below(annotation, 0)
                return [self._read(item, each, f"{path}[{at}]", inherited) for at, item in enumerate(value.list_value.values)]
            case "number_value":
                number = value.number_value
                return self._leaf(int(number) if number.is_integer() else number, annotation, inherited)
            case "string_value" if value.string_value == rpc.UNKNOWN:
                return _output(None, replace(inherited, known=False))
            case "string_value":
                return self._leaf(value.string_value, annotation, inherited)
            case "bool_value":
                return self._leaf(value.bool_value, annotation, inherited)
            case _:
                return None

    def _read_struct(self, struct: Struct, annotation: Any, path: str, inherited: _Inherited) -> Any:
        mark = struct.fields[_SIGNATURE].string_value if _SIGNATURE in struct.fields else ""
        if not mark:
            return self._read_object(struct, annotation, path, inherited)
        if mark == _SECRET:
            return self._read(struct.fields["value"], annotation, path, replace(inherited, secret=True, marked=True))
        if mark == _OUTPUT:
            urns = {each.string_value for each in struct.fields["dependencies"].list_value.values}
            inner = _Inherited(inherited.urns | urns, inherited.secret or struct.fields["secret"].bool_value, marked=True)
            if "value" not in struct.fields:
                return _output(None, replace(inner, known=False))
            return self._read(struct.fields["value"], annotation, path, inner)
        if mark == _RESOURCE:
            found = self.resource(struct, path)
            if isinstance(found, Problem):
                self.problems.append(found)
                return None
            return found
        return rpc.deserialize_property(struct)  # an asset or an archive, which no argument allows

    def _read_object(self, struct: Struct, annotation: Any, path: str, inherited: _Inherited) -> Any:
        if inherited.is_output and self._whole(annotation, inherited):
            return _flat(self._read_object(struct, annotation, path, _Inherited()), inherited)
        kind = form(annotation)
        names = by_wire_name(key_hints(kind)) if is_typeddict(kind) else {}
        found: dict[str, Any] = {}
        for name, value in struct.fields.items():
            key = names.get(name, name)
            read = self._read(value, below(kind, key), f"{path}.{key}", inherited)
            if read is not None or not is_typeddict(kind):  # null of a key means that it isn't set
                found[key] = read
        return found

    def _whole(self, annotation: Any, inherited: _Inherited) -> bool:
        """Whether an object or a list as a whole becomes an output."""
        return takes_outputs(annotation) or (inherited.marked and bool(inherited.urns))

    def _leaf(self, value: Any, annotation: Any, inherited: _Inherited) -> Any:
        if not inherited.is_output or not (takes_outputs(annotation) or inherited.marked):
            return value
        return _output(value, inherited)


def _has_dependencies(value: Value) -> bool:
    """Whether the value contains an output or a resource, which have their dependencies themselves."""
    match value.WhichOneof("kind"):
        case "struct_value":
            fields = value.struct_value.fields
            if _SIGNATURE in fields:
                return fields[_SIGNATURE].string_value in (_OUTPUT, _RESOURCE) or _has_dependencies(fields["value"])
            return any(_has_dependencies(each) for each in fields.values())
        case "list_value":
            return any(_has_dependencies(each) for each in value.list_value.values)
        case _:
            return False


def _without_mark_of_sdk(value: Value, annotation: Any, read: Any) -> Any:
    """Unwraps a string argument that the SDK has marked as secret because of the schema, so that the component can validate it;
    the component keeps it secret."""
    fields = value.struct_value.fields
    if _SIGNATURE not in fields or not may_be_secret(annotation) or fields["dependencies"].list_value.values:
        return read
    text = fields["value"].string_value if "value" in fields else ""
    return text if text and text != rpc.UNKNOWN else read


def _output(value: T, inherited: _Inherited) -> pulumi.Output[T]:
    resources: set[pulumi.Resource] = {DependencyResource(urn) for urn in sorted(inherited.urns)}
    return pulumi.Output(_done(resources), _done(value), _done(inherited.known), _done(inherited.secret))


def _flat(held: Any, inherited: _Inherited) -> pulumi.Output[Any]:
    """Returns the output of an object or a list that may contain outputs."""
    return pulumi.Output.all(_output(None, inherited), pulumi.Output.from_input(held)).apply(lambda both: both[1])


def _done(value: T) -> "asyncio.Future[T]":
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    future.set_result(value)
    return future
