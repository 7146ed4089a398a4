"""Generates the package schema, from which the SDKs of all languages are generated, from the TypedDicts of the arguments.

See https://www.pulumi.com/docs/iac/extending-pulumi/schema/:

- a TypedDict is an object type, a choice is an enum type, a shorthand of an object is a `oneOf`;
- a component or an ARM id is a `oneOf` of the resource and a string;
- a value that isn't an input is `plain`, as it must be known; a value that the state must not show is `secret`. SDKs make the
  whole property secret, so a map by name, whose keys must be known, isn't marked: the component marks its values.

Defaults are only in the descriptions, so that no language has a separate one.
"""

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import metadata
from typing import Any, Literal, Union, cast, get_args, get_origin, is_typeddict

import pulumi

from azure_gpu.host.names import PACKAGE, camel, of_keys, respelt_in_quotes, token
from azure_gpu.shared.validation import (
    SWITCH,
    Choice,
    alternatives,
    choice_of,
    choices,
    components_of,
    form,
    is_map,
    key_docstrings,
    key_hints,
    kind_name,
    may_be_secret,
    shorthands,
    takes_outputs,
)
from azure_gpu.stack.component_reference import Component, attributes, found, paragraphs

Spec = dict[str, Any]
# All types of a package share one namespace: the prefix of their names, by the package of the library.
_WHOSE = {
    "aks": "Cluster",
    "batch": "Batch",
    "container_apps": "Job",
    "container_instances": "ContainerGroup",
    "edge": "Edge",
    "ml.endpoint": "Endpoint",
    "ml.workspace": "Workspace",
    "vm": "Vm",
}
# Names that would be misleading or ambiguous.
_NAMES = {
    "azure_gpu.aks.cluster.PoolOfCluster": "ClusterPool",
    "azure_gpu.vm.args.Evicted": "VmEviction",
}
_SCALARS: Mapping[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_ANY = "pulumi.json#/Any"
_SECRET_OUTPUTS = {("GpuCluster", "kubeconfig")}
# Each SDK has the version of the schema. Go's generator omits types of plain values in maps and lists without this option (pkg
# v3.259.0, codegen/go/gen.go, populateDetailsForTypes).
_LANGUAGES: Mapping[str, Spec] = {
    **{each: {"respectSchemaVersion": True} for each in ("csharp", "java", "nodejs", "python")},
    "go": {"respectSchemaVersion": True, "generateExtraInputTypes": True},
}
_PLAINNESS = re.compile(r"^(Plain|Wired): (\w)")


def package() -> Spec:
    """Generates the schema of the whole package."""
    components = found()
    written = _Types(components)
    resources = {token(each.name): written.resource(each) for each in components}
    about = metadata("azure-gpu")
    spec = {
        "name": PACKAGE,
        "displayName": about["Name"],
        "version": about["Version"],
        "description": about["Summary"],
        "keywords": ["azure", "gpu", "batch", "kubernetes", "machine-learning", "category/cloud", "kind/component"],
        "license": about["License-Expression"],
        "language": dict(_LANGUAGES),
        "types": dict(sorted(written.types.items())),
        "resources": resources,
    }
    return _described(spec, of_keys(spec))


def _described(spec: Any, names: frozenset[str]) -> Any:
    """Converts the keys in a schema's descriptions to its names."""
    if isinstance(spec, list):
        return [_described(each, names) for each in cast(list[Any], spec)]
    if not isinstance(spec, dict):
        return spec
    return {
        key: respelt_in_quotes(each, names) if key == "description" and isinstance(each, str) else _described(each, names)
        for key, each in cast(Spec, spec).items()
    }


def text() -> str:
    """Returns the text of schema.json."""
    return json.dumps(package(), indent=0, ensure_ascii=False) + "\n"


class _Types:
    """The named types of the package, each generated on first use."""

    def __init__(self, components: list[Component]) -> None:
        self.types: dict[str, Spec] = {}
        self._named: dict[str, Any] = {token(each.name): each.of for each in components}
        self._components = {each.name for each in components}

    def resource(self, component: Component) -> Spec:
        args_type = component.of.args_type
        outputs = {
            camel(each.name): self._output(component, each.name, each.annotation, each.meaning)
            for each in attributes(component.of)
            if each.is_output
        }
        optional = {camel(each.name) for each in attributes(component.of) if "None" in each.annotation.split(" | ")}
        return {
            "description": "\n\n".join(paragraphs(component)),
            "isComponent": True,
            "properties": outputs,
            "required": [key for key in outputs if key not in optional],
            "inputProperties": self._properties(args_type, of_component=True),
            "requiredInputs": _required(args_type),
        }

    def _output(self, component: Component, name: str, annotation: str, meaning: str) -> Spec:
        spec = self._type(eval(annotation, vars(component.module)), as_output=True)  # noqa: S307  source of the library
        secret = {"secret": True} if (component.name, name) in _SECRET_OUTPUTS else {}
        return {**spec, "description": meaning, **secret}

    def _properties(self, args_type: Any, *, as_output: bool = False, of_component: bool = False) -> dict[str, Spec]:
        meanings = key_docstrings(args_type)
        return {
            camel(key): {
                **self._type(hint, as_output=as_output),
                "description": _PLAINNESS.sub(lambda found: found[2].upper(), " ".join(meanings[key].split())),
                **({"secret": True} if not as_output and _is_secret(hint) and not (of_component and is_map(hint)) else {}),
            }
            for key, hint in key_hints(args_type).items()
        }

    def _type(self, annotation: Any, *, as_output: bool = False) -> Spec:
        """Returns the type of an annotation; plain at any depth, except inputs."""
        plain = {} if as_output or takes_outputs(annotation) else {"plain": True}
        forms = list(self._forms(annotation, as_output=as_output))
        if len(forms) == 1:
            return {**forms[0], **plain}
        return {"oneOf": [{**each, **plain} for each in forms], **plain}

    def _forms(self, annotation: Any, *, as_output: bool) -> Iterator[Spec]:
        kind = _of_output(annotation) if as_output else form(annotation)
        for each in components_of(annotation):
            name = kind_name(each)
            yield {"$ref": f"#/resources/{token(name)}" if name in self._components else _ANY}
        if is_typeddict(kind):
            short = shorthands(kind)
            if short == [SWITCH]:
                yield {"type": "boolean"}
            elif short:
                yield {"$ref": self._word(short[0])}
            for word in _words(annotation) - {*short}:
                yield {"$ref": self._word(word)}
            yield {"$ref": self._object(kind, as_output=as_output)}
        elif kind is Any:
            yield {"$ref": _ANY}
        elif (choice := choice_of(kind)) is not None:
            yield {"$ref": self._choice(choice, choices(kind))}
        elif get_origin(kind) is not None and is_map(kind):
            yield {"type": "object", "additionalProperties": self._type(get_args(kind)[1], as_output=as_output)}
        elif get_origin(kind) is not None:
            yield {"type": "array", "items": self._type(get_args(kind)[0], as_output=as_output)}
        elif kind in _SCALARS:
            yield {"type": _SCALARS[kind]}

    def _object(self, kind: Any, *, as_output: bool) -> str:
        name = self._claim(_type_name(kind), kind)
        if name not in self.types:
            self.types[name] = {}  # it may be recursive
            self.types[name] = {
                "type": "object",
                "description": " ".join(inspect.cleandoc(kind.__doc__ or "").split()),
                "properties": self._properties(kind, as_output=as_output),
                "required": _required(kind),
            }
        return f"#/types/{name}"

    def _choice(self, choice: Choice, texts: list[str]) -> str:
        labels = dict(choice.labels)
        return self._members(choice.name, choice, choice.meaning, {text: labels.get(text, _label(text)) for text in texts})

    def _word(self, word: str) -> str:
        """Returns the enum type of a shorthand word."""
        return self._members(
            _pascal(word), word, f"The shorthand for an object with all defaults: {word}.", {word: _pascal(word)}
        )

    def _members(self, name: str, holder: object, meaning: str, names: Mapping[str, str]) -> str:
        name = self._claim(name, holder)
        members = [{"name": label, "value": value} for value, label in names.items()]
        self.types[name] = {"type": "string", "description": meaning, "enum": members}
        return f"#/types/{name}"

    def _claim(self, name: str, kind: object) -> str:
        """Returns the token of a type's name, which no other type may have."""
        holder = self._named.setdefault(token(name), kind)
        if holder != kind:
            raise ValueError(f"{holder} and {kind} would both be {token(name)}: name one of them in _NAMES")
        return token(name)


def _type_name(kind: type) -> str:
    """Returns the name of a type with its prefix."""
    if (given := _NAMES.get(f"{kind.__module__}.{kind.__name__}")) is not None:
        return given
    name = re.sub("(Args|Settings)$", "", kind.__name__)
    module = kind.__module__.removeprefix("azure_gpu.")
    whose = next((prefix for package, prefix in _WHOSE.items() if f"{module}.".startswith(f"{package}.")), "")
    return name if name.startswith(whose) else whose + name.removeprefix("Ml")


def _of_output(annotation: Any) -> Any:
    """Returns the type of an output: `T` of `pulumi.Output[T]`, of `T | None` and of both."""
    [kind] = [each for each in alternatives(annotation) if each is not type(None)]
    return _of_output(get_args(kind)[0]) if get_origin(kind) is pulumi.Output else kind


def _words(annotation: Any) -> set[str]:
    """Returns literals that are alternatives to an object."""
    if get_origin(annotation) not in (Union, type(int | str)):
        return set()
    return {word for each in get_args(annotation) if get_origin(each) is Literal for word in get_args(each)}


def _is_secret(annotation: Any) -> bool:
    """Whether a string, or each value of a map, is secret."""
    return may_be_secret(annotation) or (is_map(annotation) and may_be_secret(get_args(form(annotation))[1]))


def _required(args_type: Any) -> list[str]:
    return [camel(key) for key in key_hints(args_type) if key in args_type.__required_keys__]


def _label(text: str) -> str:
    """Returns the name of a choice's text in other languages: `SideBySide` for side-by-side."""
    return _pascal("_".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[0-9]+", text)))


def _pascal(name: str) -> str:
    return "".join(word[:1].upper() + word[1:].lower() for word in name.split("_"))
