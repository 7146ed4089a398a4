"""ARM's shape of a resource type, read in the installed pulumi-azure-native package.

The SDK's classes give names, types, required inputs and enums; a property that a resource answers but doesn't take is read-only.
What they don't give (wrappers, spellings, secrets) is in `tables.toml`. Other modules read `shapes.json`, by
`written.py`, which is written from here.
"""

import collections.abc
import importlib
import inspect
import re
import sys
import types
import typing
from enum import Enum
from typing import Any

import pulumi
from pulumi import _types as sdk_types

from azure_gpu.formats.azure_types import AzureType
from localazure.shapes import tables
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

PACKAGE = "pulumi_azure_native"

_SCALARS: dict[object, Shape] = {
    str: StringShape(),
    bool: BooleanShape(),
    int: NumberShape(integer=True),
    float: NumberShape(integer=False),
    Any: AnyShape(),
}
# Outputs that Pulumi adds to what ARM answers.
_OF_PULUMI = frozenset({"azureApiVersion", "urn"})


def arm_shape(azure_type: AzureType) -> ObjectShape:
    """The body of `azure_type` as ARM takes and answers it at the default API version."""
    resource, args = _classes(azure_type)
    name = azure_type.token.removeprefix("azure-native:")
    return _object(name, args, resource, in_path=frozenset(azure_type.path_parameters))


def default_api_version(azure_type: AzureType) -> str:
    """The API version that the SDK's class is generated from; its documentation names it."""
    resource, _ = _classes(azure_type)
    for overload in typing.get_overloads(resource.__init__):
        found = re.search(r"Uses Azure REST API version (\S+?)\.(?:\s|$)", overload.__doc__ or "")
        if found:
            return found[1]
    raise LookupError(f"{azure_type.token}: the installed {PACKAGE} doesn't name the API version that it uses")


def api_versions(azure_type: AzureType) -> frozenset[str]:
    """Every API version that the package knows for the type: those of its aliases, and the default."""
    resource, _ = _classes(azure_type)
    module, name = azure_type.token.split(":")[1:]
    alias = re.compile(rf"azure-native:{module}/v(\d{{4}})(\d\d)(\d\d)(\w*):{name}")
    constants = resource._internal_init.__code__.co_consts
    found = (alias.fullmatch(constant) for constant in constants if isinstance(constant, str))
    dates = {"-".join(part for part in match.groups() if part) for match in found if match}
    return frozenset(dates | {default_api_version(azure_type)})


def sdk_inputs(azure_type: AzureType) -> frozenset[str]:
    """The inputs that the SDK's class takes, by wire name."""
    return frozenset(sdk_types.input_type_types(_classes(azure_type)[1]))


def _classes(azure_type: AzureType) -> tuple[type, type]:
    """The resource's class and that of its arguments, which is named otherwise where a nested object has taken its name."""
    module, name = azure_type.token.split(":")[1:]
    resource = getattr(importlib.import_module(f"{PACKAGE}.{module}"), name)
    beside = vars(sys.modules[resource.__module__])
    return resource, beside.get(f"{name}InitArgs") or beside[f"{name}Args"]


def _object(
    name: str,
    taken: type | None,
    answered: type | None,
    in_path: frozenset[str] = frozenset(),
    above: frozenset[str] = frozenset(),
) -> ObjectShape:
    """One object: `taken` is the SDK's input class, `answered` its output class (or the resource itself); either may be missing.

    Inputs `in_path` make up the URL; a resource may answer them (`scope` of a role assignment), a body never holds them.
    `above` names the objects that this one lies in.
    """
    inputs = sdk_types.input_type_types(taken) if taken else {}
    outputs = _output_types(answered) if answered else {}
    if name in tables.FLAT_INPUTS:
        outputs |= _output_types(outputs.pop("properties"))
    if name in tables.FLAT_OUTPUTS:
        inputs |= sdk_types.input_type_types(_choices(inputs.pop("properties"))[0])
    required = _required(taken) if taken else frozenset[str]()
    top_level = answered is not None and issubclass(answered, pulumi.CustomResource)
    module = name.split(":")[0]
    fixed = _discriminator(taken or answered) or ("", "")
    properties: list[Property] = []
    for sdk_name in [*inputs, *(key for key in outputs if key not in inputs)]:
        secret = (name, sdk_name) in tables.SECRETS
        # The SDK merges the inputs of all API versions of a nested object; its outputs are those of this version.
        of_another_version = taken and answered and not top_level and sdk_name not in outputs and not secret
        only_in_path = sdk_name in in_path and sdk_name not in outputs
        in_query = (name, sdk_name) in tables.IN_QUERY
        if sdk_name in _OF_PULUMI or only_in_path or in_query or of_another_version:
            continue
        input_type, output_type = inputs.get(sdk_name), outputs.get(sdk_name)
        shape, key_set = _shape(module, input_type, output_type, above | {name})
        shape = StringShape((fixed[1],), open=False) if sdk_name == fixed[0] else shape
        properties.append(
            Property(
                name=_arm_name(name, sdk_name),
                shape=shape,
                sdk_name=sdk_name,
                required=sdk_name in required - in_path or (name, sdk_name) in tables.REQUIRED,
                sdk_required=sdk_name in required - in_path,
                read_only=sdk_name in in_path or (sdk_name not in inputs and (name, sdk_name) not in tables.TAKEN),
                secret=secret,
                key_set=key_set,
            )
        )
    for more, shown in tables.OF_OTHER_VERSIONS.get(name, {}).items():
        properties.append(Property(more, BooleanShape(), more, secret=not shown))
    if top_level and not any(each.sdk_name == "properties" for each in properties):
        beside = tables.BESIDE_PROPERTIES | tables.ALSO_BESIDE.get(name, frozenset())
        beside -= tables.IN_PROPERTIES.get(name, frozenset())
        inside_required = any(each.required and each.sdk_name not in beside for each in properties)
        inside_required = inside_required or (name, "properties") in tables.REQUIRED
        properties = _wrapped(name, properties, tables.Wrapper(beside, inside_required))
    elif name in tables.WRAPPERS:
        properties = _wrapped(name, properties, tables.WRAPPERS[name])
    if top_level and not any(each.name == "id" for each in properties):
        properties.append(Property("id", StringShape(), "id", read_only=True))
    additional = AnyShape() if name in tables.OPEN_OBJECTS else None
    return ObjectShape(name, {each.name: each for each in properties}, additional)


def _arm_name(name: str, sdk_name: str) -> str:
    if name in tables.HYPHENATED:
        return re.sub("[A-Z]", lambda letter: f"-{letter[0].lower()}", sdk_name)
    if name in tables.CAPITALISED and sdk_name not in tables.BESIDE_PROPERTIES | tables.CAPITALISED[name]:
        return tables.RENAMED.get((name, sdk_name), sdk_name[0].upper() + sdk_name[1:])
    return tables.RENAMED.get((name, sdk_name), sdk_name)


def _wrapped(name: str, properties: list[Property], wrapper: tables.Wrapper) -> list[Property]:
    beside = [each for each in properties if each.sdk_name in wrapper.beside]
    inside = [each for each in properties if each.sdk_name not in wrapper.beside]
    shape = ObjectShape(f"{name}.properties", {each.name: each for each in inside})
    only_answered = bool(inside) and all(each.read_only for each in inside)
    whole = name in tables.FLAT_INPUTS
    return [*beside, Property("properties", shape, "", required=wrapper.required, read_only=only_answered, answered_whole=whole)]


def _required(taken: type) -> frozenset[str]:
    parameters = inspect.signature(taken.__init__).parameters
    names = sdk_types.input_type_py_to_pulumi_names(taken)
    return frozenset(wire for python, wire in names.items() if parameters[python].default is inspect.Parameter.empty)


def _output_types(answered: type) -> dict[str, Any]:
    if sdk_types.is_output_type(answered):
        return dict(sdk_types.output_type_types(answered))
    return dict(sdk_types.resource_types(answered))


def _shape(module: str, taken: Any, answered: Any, above: frozenset[str]) -> tuple[Shape, bool]:
    """The shape of one value from its input and output types (None: not taken, not answered), and whether it is a set of keys."""
    choices = _choices(taken if taken is not None else answered)
    enums = [choice for choice in choices if inspect.isclass(choice) and issubclass(choice, Enum)]
    if enums:
        allowed = tuple(str(member.value) for enum in enums for member in enum)
        return StringShape(allowed, open=str in choices), False
    if len(choices) > 1:
        return _union(module, choices, above), False
    (choice,) = choices
    if choice in _SCALARS:
        return _SCALARS[choice], False
    origin, arguments = typing.get_origin(choice), typing.get_args(choice)
    if origin is collections.abc.Sequence and typing.get_origin(answered) is collections.abc.Mapping:
        return MapShape(_shape(module, None, typing.get_args(answered)[1], above)[0]), True
    if origin in (collections.abc.Sequence, collections.abc.Mapping):
        inner = _shape(module, arguments[-1] if taken is not None else None, _inner(answered), above)[0]
        return (ArrayShape(inner) if origin is collections.abc.Sequence else MapShape(inner)), False
    name = f"{module}:{re.sub('(Args|Response)$', '', choice.__name__)}"
    if name in above:
        return AnyShape(within_itself=True), False  # an error holds errors of its own kind, however deep
    return _object(name, choice if taken is not None else None, answered, above=above), False


def _inner(answered: Any) -> Any:
    arguments = typing.get_args(answered)
    return arguments[-1] if arguments else None


def _choices(annotation: Any) -> list[Any]:
    """The plain types in an annotation: without None, awaitables and outputs, which Pulumi allows for every input."""
    if typing.get_origin(annotation) not in (typing.Union, types.UnionType):
        return [annotation]
    wrappers = (collections.abc.Awaitable, pulumi.Output)
    return [each for each in typing.get_args(annotation) if each is not type(None) and typing.get_origin(each) not in wrappers]


def _union(module: str, choices: list[Any], above: frozenset[str]) -> UnionShape:
    """One of several objects. Each tells in the documentation of one property which value of it means this object.

    Where a resource's property is such a union, the SDK says that it answers anything; the classes of what it answers are there.
    """
    outputs = vars(importlib.import_module(f"{PACKAGE}.{module}.outputs"))
    discriminator = ""
    options: dict[str, ObjectShape] = {}
    for choice in choices:
        name = re.sub("(Args|Response)$", "", choice.__name__)
        found = _discriminator(choice)
        if found is None:
            raise LookupError(f"{choice.__name__} is one of several objects and doesn't say how to tell it apart")
        discriminator, value = found
        taken = choice if choice.__name__.endswith("Args") else None
        options[value] = _object(f"{module}:{name}", taken, outputs.get(f"{name}Response"), above=above)
    return UnionShape(discriminator, options)


def _discriminator(choice: type | None) -> tuple[str, str] | None:
    """The property of a class that tells it apart from others, by its wire name, and its value there; None where it has none."""
    names = sdk_types.input_type_py_to_pulumi_names(choice) if choice and sdk_types.is_input_type(choice) else {}
    for name, member in vars(choice).items() if choice else ():
        found = re.search(r"Expected value is '(\w+)'", member.__doc__ or "") if isinstance(member, property) else None
        if found:
            return names.get(name, _wire(name)), found[1]
    return None


def _wire(python_name: str) -> str:
    first, *rest = python_name.split("_")
    return first + "".join(word.capitalize() for word in rest)
