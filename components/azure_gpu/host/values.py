"""What the engine sends for a component's arguments, as a program in Python would give it.

In: protobuf structs with the engine's marks for secrets, outputs, unknown values and resources
(https://pulumi-developer-docs.readthedocs.io/latest/docs/references/types-and-values.html), and the annotation of the arguments.
Out: values under the names of Python. Where an input is taken, what is known later or secret is a `pulumi.Output`; anywhere else
it is one, too, so that the component refuses it in its own words. An output that is known, open and of no resource is a value
like any other: it is the same in a preview and in an update.
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
class Given:
    """One argument as the engine sends it."""

    value: Value
    dependencies: frozenset[str] = frozenset()
    """URNs of what it depends on, by languages that don't say it of the values in it."""


@dataclass(frozen=True, slots=True)
class _Around:
    """What holds of a value by what it is in."""

    urns: frozenset[str] = frozenset()
    secret: bool = False
    known: bool = True
    marked: bool = False  # that it is an output is said of the value itself, not of the whole argument

    @property
    def is_output(self) -> bool:
        return bool(self.urns) or self.secret or not self.known


@dataclass(slots=True)
class Reader:
    """Reads the arguments of one component."""

    path: str
    """Where they are, such as `BatchPool("train")`."""
    resource: Callable[[Struct, str], pulumi.Resource | Problem]
    """The resource that a reference means, by where it is given."""
    problems: list[Problem] = field(default_factory=list[Problem])
    """What can't be given to a component at all."""

    def arguments(self, given: Mapping[str, Given], wanted: Any) -> dict[str, Any]:
        """`wanted`: the TypedDict of the component's arguments."""
        names, hints, found = by_wire_name(key_hints(wanted)), key_hints(wanted), dict[str, Any]()
        for name, each in given.items():
            key = names.get(name, name)
            hint = hints.get(key, Any)
            around = _Around(each.dependencies) if not _says_what_it_depends_on(each.value) else _Around()
            value = self._read(each.value, hint, f"{self.path}.{key}", around)
            if value is not None:
                found[key] = _without_sdks_mark(each.value, hint, value)
        return found

    def _read(self, value: Value, annotation: Any, path: str, around: _Around) -> Any:
        match value.WhichOneof("kind"):
            case "struct_value":
                return self._read_struct(value.struct_value, annotation, path, around)
            case "list_value":
                if around.is_output and self._whole(annotation, around):
                    return _flat(self._read(value, annotation, path, _Around()), around)
                each = below(annotation, 0)
                return [self._read(item, each, f"{path}[{at}]", around) for at, item in enumerate(value.list_value.values)]
            case "number_value":
                number = value.number_value
                return self._leaf(int(number) if number.is_integer() else number, annotation, around)
            case "string_value" if value.string_value == rpc.UNKNOWN:
                return _output(None, replace(around, known=False))
            case "string_value":
                return self._leaf(value.string_value, annotation, around)
            case "bool_value":
                return self._leaf(value.bool_value, annotation, around)
            case _:
                return None

    def _read_struct(self, struct: Struct, annotation: Any, path: str, around: _Around) -> Any:
        mark = struct.fields[_SIGNATURE].string_value if _SIGNATURE in struct.fields else ""
        if not mark:
            return self._read_object(struct, annotation, path, around)
        if mark == _SECRET:
            return self._read(struct.fields["value"], annotation, path, replace(around, secret=True, marked=True))
        if mark == _OUTPUT:
            urns = {each.string_value for each in struct.fields["dependencies"].list_value.values}
            inner = _Around(around.urns | urns, around.secret or struct.fields["secret"].bool_value, marked=True)
            if "value" not in struct.fields:
                return _output(None, replace(inner, known=False))
            return self._read(struct.fields["value"], annotation, path, inner)
        if mark == _RESOURCE:
            found = self.resource(struct, path)
            if isinstance(found, Problem):
                self.problems.append(found)
                return None
            return found
        return rpc.deserialize_property(struct)  # a file or an archive, which no argument takes

    def _read_object(self, struct: Struct, annotation: Any, path: str, around: _Around) -> Any:
        if around.is_output and self._whole(annotation, around):
            return _flat(self._read_object(struct, annotation, path, _Around()), around)
        kind = form(annotation)
        names = by_wire_name(key_hints(kind)) if is_typeddict(kind) else {}
        found: dict[str, Any] = {}
        for name, value in struct.fields.items():
            key = names.get(name, name)
            read = self._read(value, below(kind, key), f"{path}.{key}", around)
            if read is not None or not is_typeddict(kind):  # null of a key is as good as none
                found[key] = read
        return found

    def _whole(self, annotation: Any, around: _Around) -> bool:
        """Whether the whole of an object or a list is the output: it is taken as one, or what is in it is known only later."""
        return takes_outputs(annotation) or (around.marked and bool(around.urns))

    def _leaf(self, value: Any, annotation: Any, around: _Around) -> Any:
        if not around.is_output or not (takes_outputs(annotation) or around.marked):
            return value
        return _output(value, around)


def _says_what_it_depends_on(value: Value) -> bool:
    """Whether an output or a resource is in it, which say it by themselves."""
    match value.WhichOneof("kind"):
        case "struct_value":
            fields = value.struct_value.fields
            if _SIGNATURE in fields:
                return fields[_SIGNATURE].string_value in (_OUTPUT, _RESOURCE) or _says_what_it_depends_on(fields["value"])
            return any(_says_what_it_depends_on(each) for each in fields.values())
        case "list_value":
            return any(_says_what_it_depends_on(each) for each in value.list_value.values)
        case _:
            return False


def _without_sdks_mark(value: Value, annotation: Any, read: Any) -> Any:
    """An argument that the schema calls secret comes as a secret from every SDK, also where the program gives text, which the
    component checks. It keeps the text secret by itself."""
    fields = value.struct_value.fields
    if _SIGNATURE not in fields or not may_be_secret(annotation) or fields["dependencies"].list_value.values:
        return read
    text = fields["value"].string_value if "value" in fields else ""
    return text if text and text != rpc.UNKNOWN else read


def _output(value: T, around: _Around) -> pulumi.Output[T]:
    resources: set[pulumi.Resource] = {DependencyResource(urn) for urn in sorted(around.urns)}
    return pulumi.Output(_done(resources), _done(value), _done(around.known), _done(around.secret))


def _flat(held: Any, around: _Around) -> pulumi.Output[Any]:
    """The output of an object or a list in which there may be others."""
    return pulumi.Output.all(_output(None, around), pulumi.Output.from_input(held)).apply(lambda both: both[1])


def _done(value: T) -> "asyncio.Future[T]":
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    future.set_result(value)
    return future
