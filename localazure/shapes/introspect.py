"""Writes `shapes.json`: ARM's shapes of resource types, read in the installed pulumi-azure-native package.

The SDK's classes give names, types, required inputs and enums; a property that a resource answers but doesn't take is read-only.
What they don't give (wrappers, spellings, secrets) is in `tables.toml`, which says what each table is. Others read the file, by
`written.py`. An object that several types have stands in it once, under its name, and with a number behind it where objects of
one name differ.
"""

import collections.abc
import importlib
import inspect
import json
import re
import sys
import tomllib
import types
import typing
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import pulumi
from pulumi import _types as sdk_types

from azure_gpu.formats.azure_types import AzureType
from localazure.shapes.written import FLAGS

PACKAGE = "pulumi_azure_native"

Json = dict[str, Any]


class _Wrapper(NamedTuple):
    """An object below the top level that has a `properties` of its own."""

    beside: frozenset[str]  # what lies beside it
    required: bool


_ROWS: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("tables.toml").read_text(encoding="utf-8"))


def _sets(table: str) -> dict[str, frozenset[str]]:
    return {name: frozenset(row) for name, row in _ROWS[table].items()}


def _pairs(table: str) -> frozenset[tuple[str, str]]:
    """Object and the SDK's name."""
    return frozenset((name, each) for name, row in _ROWS[table].items() for each in row)


_BESIDE_PROPERTIES = frozenset(_ROWS["beside_properties"])
_IN_PROPERTIES = _sets("in_properties")
_ALSO_BESIDE = _sets("also_beside")
_OF_NETWORK = _Wrapper(frozenset(_ROWS["beside_of_network_objects"]), required=False)
_WRAPPERS = {
    **{f"network:{name}": _OF_NETWORK for name in _ROWS["network_objects"].split()},
    **{name: _Wrapper(beside, required=False) for name, beside in _sets("wrappers").items()},
    **{name: _Wrapper(beside, required=True) for name, beside in _sets("required_wrappers").items()},
}
_RENAMED: Mapping[tuple[str, str], str] = {
    (name, theirs): arms for name, row in _ROWS["renamed"].items() for theirs, arms in row.items()
}
_CAPITALISED = _sets("capitalised")
_IN_QUERY = _pairs("in_query")
_HYPHENATED = frozenset(_ROWS["hyphenated"])
_REQUIRED = _pairs("required")
_TAKEN = _pairs("taken")
_OF_OTHER_VERSIONS: Mapping[str, Mapping[str, bool]] = _ROWS["of_other_versions"]
_SECRETS = _pairs("secrets")
_OPEN_OBJECTS = frozenset(_ROWS["open_objects"])
_FLAT_INPUTS = frozenset(_ROWS["flat_inputs"])
_FLAT_OUTPUTS = frozenset(_ROWS["flat_outputs"])


_SCALARS: dict[object, str] = {str: "string", bool: "boolean", int: "integer", float: "number", Any: "any"}
# Outputs that Pulumi adds to what ARM answers.
_OF_PULUMI = frozenset({"azureApiVersion", "urn"})


class _Property(NamedTuple):
    """One of an object, as it is written. `flags`: the letters of what holds of it (`written.FLAGS`)."""

    name: str
    shape: Any
    sdk_name: str
    flags: str = ""

    def written(self) -> Any:
        if self.sdk_name != self.name:
            return [self.shape, self.flags, self.sdk_name]
        return [self.shape, self.flags] if self.flags else self.shape


def _letters(**holds: bool) -> str:
    return "".join(letter for letter, name in FLAGS.items() if holds.get(name))


class Writing:
    """Collects types for the file."""

    def __init__(self) -> None:
        self._types: Json = {}
        self._objects: Json = {}
        self._keys: dict[str, str] = {}  # what an object looks like -> its key

    def add(self, azure_type: AzureType) -> None:
        """The body of a type as ARM takes and answers it at the default API version."""
        resource, args = _classes(azure_type)
        name = azure_type.token.removeprefix("azure-native:")
        version = _default_api_version(azure_type, resource)
        self._types[azure_type.token] = {
            "version": version,
            "versions": sorted({version, *_api_versions(azure_type, resource)}),
            "inputs": sorted(_inputs(name, args)),
            "body": self._object(name, args, resource, in_path=frozenset(azure_type.path_parameters)),
        }

    def text(self) -> str:
        """The file: one line for each type and object, in the order of their names."""
        sections = {"types": self._types, "objects": self._objects}
        return "{" + ",".join(f"\n{json.dumps(name)}: {{{_lines(section)}\n}}" for name, section in sections.items()) + "\n}"

    def _key(self, name: str, properties: list[_Property]) -> str:
        written: Json = {"properties": {each.name: each.written() for each in properties}}
        if name in _OPEN_OBJECTS:
            written["more"] = "any"
        looks = json.dumps([name, written])
        if looks not in self._keys:
            same_name = sum(1 for key in self._objects if key.partition("~")[0] == name)
            self._keys[looks] = f"{name}~{same_name + 1}" if same_name else name
            self._objects[self._keys[looks]] = written
        return self._keys[looks]

    def _object(
        self,
        name: str,
        taken: type | None,
        answered: type | None,
        in_path: frozenset[str] = frozenset(),
        above: frozenset[str] = frozenset(),
    ) -> str:
        """The key of one object: `taken` is the SDK's input class, `answered` its output class (or the resource itself).

        Either may be missing.

        Inputs `in_path` make up the URL; a resource may answer them (`scope` of a role assignment), a body never holds them.
        `above` names the objects that this one lies in.
        """
        inputs = _inputs(name, taken) if taken else {}
        outputs = _output_types(answered) if answered else {}
        if name in _FLAT_INPUTS:
            outputs |= _output_types(outputs.pop("properties"))
        required = _required(taken) if taken else frozenset[str]()
        top_level = answered is not None and issubclass(answered, pulumi.CustomResource)
        module = name.split(":")[0]
        fixed = _discriminator(taken or answered) or ("", "")
        properties: list[_Property] = []
        for sdk_name in [*inputs, *(key for key in outputs if key not in inputs)]:
            secret = (name, sdk_name) in _SECRETS
            # The SDK merges the inputs of all API versions of a nested object; its outputs are those of this version.
            of_another_version = taken and answered and not top_level and sdk_name not in outputs and not secret
            only_in_path = sdk_name in in_path and sdk_name not in outputs
            in_query = (name, sdk_name) in _IN_QUERY
            if sdk_name in _OF_PULUMI or only_in_path or in_query or of_another_version:
                continue
            input_type, output_type = inputs.get(sdk_name), outputs.get(sdk_name)
            shape, key_set = self._shape(module, input_type, output_type, above | {name})
            shape = {"one of": [fixed[1]]} if sdk_name == fixed[0] else shape
            flags = _letters(
                required=sdk_name in required - in_path or (name, sdk_name) in _REQUIRED,
                sdk_required=sdk_name in required - in_path,
                read_only=sdk_name in in_path or (sdk_name not in inputs and (name, sdk_name) not in _TAKEN),
                secret=secret,
                key_set=key_set,
            )
            properties.append(_Property(_arm_name(name, sdk_name), shape, sdk_name, flags))
        for more, shown in _OF_OTHER_VERSIONS.get(name, {}).items():
            properties.append(_Property(more, "boolean", more, _letters(secret=not shown)))
        if top_level and not any(each.sdk_name == "properties" for each in properties):
            beside = _BESIDE_PROPERTIES | _ALSO_BESIDE.get(name, frozenset())
            beside -= _IN_PROPERTIES.get(name, frozenset())
            inside_required = any("r" in each.flags and each.sdk_name not in beside for each in properties)
            inside_required = inside_required or (name, "properties") in _REQUIRED
            properties = self._wrapped(name, properties, _Wrapper(beside, inside_required))
        elif name in _WRAPPERS:
            properties = self._wrapped(name, properties, _WRAPPERS[name])
        if top_level and not any(each.name == "id" for each in properties):
            properties.append(_Property("id", "string", "id", _letters(read_only=True)))
        return self._key(name, properties)

    def _wrapped(self, name: str, properties: list[_Property], wrapper: _Wrapper) -> list[_Property]:
        beside = [each for each in properties if each.sdk_name in wrapper.beside]
        inside = [each for each in properties if each.sdk_name not in wrapper.beside]
        shape = self._key(f"{name}.properties", inside)
        only_answered = bool(inside) and all("o" in each.flags for each in inside)
        flags = _letters(required=wrapper.required, read_only=only_answered, answered_whole=name in _FLAT_INPUTS)
        return [*beside, _Property("properties", shape, "", flags)]

    def _shape(self, module: str, taken: Any, answered: Any, above: frozenset[str]) -> tuple[Any, bool]:
        """One value from its input and output types (None: not taken, not answered), and whether it is a set of keys."""
        choices = _choices(taken if taken is not None else answered)
        enums = [choice for choice in choices if inspect.isclass(choice) and issubclass(choice, Enum)]
        if enums:
            allowed = [str(member.value) for enum in enums for member in enum]
            return {"often" if str in choices else "one of": allowed}, False
        if len(choices) > 1:
            return self._union(module, choices, above), False
        (choice,) = choices
        if choice in _SCALARS:
            return _SCALARS[choice], False
        origin, arguments = typing.get_origin(choice), typing.get_args(choice)
        if origin is collections.abc.Sequence and typing.get_origin(answered) is collections.abc.Mapping:
            return {"map": self._shape(module, None, typing.get_args(answered)[1], above)[0]}, True
        if origin in (collections.abc.Sequence, collections.abc.Mapping):
            inner = self._shape(module, arguments[-1] if taken is not None else None, _inner(answered), above)[0]
            return {"list" if origin is collections.abc.Sequence else "map": inner}, False
        name = f"{module}:{re.sub('(Args|Response)$', '', choice.__name__)}"
        if name in above:
            return "within itself", False  # an error holds errors of its own kind, however deep
        return self._object(name, choice if taken is not None else None, answered, above=above), False

    def _union(self, module: str, choices: list[Any], above: frozenset[str]) -> Json:
        """One of several objects. Each tells in the documentation of one property which value of it means this object.

        Where a resource's property is such a union, the SDK says that it answers anything; the classes of answers are there.
        """
        outputs = vars(importlib.import_module(f"{PACKAGE}.{module}.outputs"))
        discriminator = ""
        options: dict[str, str] = {}
        for choice in choices:
            name = re.sub("(Args|Response)$", "", choice.__name__)
            found = _discriminator(choice)
            if found is None:
                raise LookupError(f"{choice.__name__} is one of several objects and doesn't say how to tell it apart")
            discriminator, value = found
            taken = choice if choice.__name__.endswith("Args") else None
            options[value] = self._object(f"{module}:{name}", taken, outputs.get(f"{name}Response"), above=above)
        return {"by": discriminator, "options": options}


def _lines(section: Mapping[str, Any]) -> str:
    return ",".join(f"\n{json.dumps(key)}: {json.dumps(section[key], separators=(',', ':'))}" for key in sorted(section))


def _default_api_version(azure_type: AzureType, resource: type) -> str:
    """The API version that the SDK's class is generated from; its documentation names it."""
    for overload in typing.get_overloads(resource.__init__):
        found = re.search(r"Uses Azure REST API version (\S+?)\.(?:\s|$)", overload.__doc__ or "")
        if found:
            return found[1]
    raise LookupError(f"{azure_type.token}: the installed {PACKAGE} doesn't name the API version that it uses")


def _api_versions(azure_type: AzureType, resource: Any) -> set[str]:
    """Every API version that the package knows for the type by its aliases."""
    module, name = azure_type.token.split(":")[1:]
    alias = re.compile(rf"azure-native:{module}/v(\d{{4}})(\d\d)(\d\d)(\w*):{name}")
    constants = resource._internal_init.__code__.co_consts
    found = (alias.fullmatch(constant) for constant in constants if isinstance(constant, str))
    return {"-".join(part for part in match.groups() if part) for match in found if match}


def _classes(azure_type: AzureType) -> tuple[type, type]:
    """The resource's class and that of its arguments, which is named otherwise where a nested object has taken its name."""
    module, name = azure_type.token.split(":")[1:]
    resource = getattr(importlib.import_module(f"{PACKAGE}.{module}"), name)
    beside = vars(sys.modules[resource.__module__])
    return resource, beside.get(f"{name}InitArgs") or beside[f"{name}Args"]


def _inputs(name: str, taken: type) -> Json:
    """The types of what is taken, by wire name; lying flat where it is answered so."""
    inputs = dict(sdk_types.input_type_types(taken))
    if name in _FLAT_OUTPUTS:
        inputs |= sdk_types.input_type_types(_choices(inputs.pop("properties"))[0])
    return inputs


def _arm_name(name: str, sdk_name: str) -> str:
    if name in _HYPHENATED:
        return re.sub("[A-Z]", lambda letter: f"-{letter[0].lower()}", sdk_name)
    if name in _CAPITALISED and sdk_name not in _BESIDE_PROPERTIES | _CAPITALISED[name]:
        return _RENAMED.get((name, sdk_name), sdk_name[0].upper() + sdk_name[1:])
    return _RENAMED.get((name, sdk_name), sdk_name)


def _required(taken: type) -> frozenset[str]:
    parameters = inspect.signature(taken.__init__).parameters
    names = sdk_types.input_type_py_to_pulumi_names(taken)
    return frozenset(wire for python, wire in names.items() if parameters[python].default is inspect.Parameter.empty)


def _output_types(answered: type) -> dict[str, Any]:
    if sdk_types.is_output_type(answered):
        return dict(sdk_types.output_type_types(answered))
    return dict(sdk_types.resource_types(answered))


def _inner(answered: Any) -> Any:
    arguments = typing.get_args(answered)
    return arguments[-1] if arguments else None


def _choices(annotation: Any) -> list[Any]:
    """The plain types in an annotation: without None, awaitables and outputs, which Pulumi allows for every input."""
    if typing.get_origin(annotation) not in (typing.Union, types.UnionType):
        return [annotation]
    wrappers = (collections.abc.Awaitable, pulumi.Output)
    return [each for each in typing.get_args(annotation) if each is not type(None) and typing.get_origin(each) not in wrappers]


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
