"""Compares the parameters that a template declares with the values that are given, and reads parameter files.

Missing, unknown and disallowed values and wrong types are reported together. A problem never contains the value of a secure
parameter."""

import difflib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats.arm_template.frame import Made
from azure_gpu.formats.arm_template.values import RefusedError, UnresolvedError, Value, is_int, is_list, is_object, kind_of, same
from azure_gpu.formats.document import Document
from azure_gpu.formats.lenient_json import member

MAX_PARAMETERS = 256  # Microsoft Learn, azure-resource-manager/templates/best-practices
SECURE = ("securestring", "secureobject")
TYPES: Mapping[str, Callable[[object], bool]] = {
    "string": lambda value: isinstance(value, str),
    "securestring": lambda value: isinstance(value, str),
    "int": is_int,
    "bool": lambda value: isinstance(value, bool),
    "object": is_object,
    "secureobject": is_object,
    "array": is_list,
}
_WORDS = {"string": "a text", "securestring": "a text", "int": "a whole number",
          "bool": "true or false", "array": "a list"}  # fmt: skip
_KEYS = ("type", "defaultvalue", "allowedvalues", "minvalue", "maxvalue", "minlength", "maxlength", "metadata", "nullable",
         "$ref", "items", "properties", "additionalproperties", "discriminator", "sealed", "prefixitems")  # fmt: skip


class Declared(NamedTuple):
    """One parameter as its template declares it."""

    name: str
    type: str  # lower case; "" where it is unknown or missing
    secure: bool
    has_default: bool
    raw: dict[str, Value]
    path: str


def declared(template: Mapping[str, Value], base: str = "") -> dict[str, Declared]:
    """By name as written. What isn't an object isn't there; `problems_of` names it."""
    given = template.get("parameters")
    path = member(base, "parameters")
    if not is_object(given):
        return {}
    return {name: _declared(name, raw, member(path, name)) for name, raw in given.items() if is_object(raw)}


def _declared(name: str, raw: dict[str, Value], path: str) -> Declared:
    kind = str(raw.get("type", "")).lower()
    known = kind if kind in TYPES else ""
    return Declared(name, known, kind in SECURE, "defaultValue" in raw or raw.get("nullable") is True, raw, path)


def declaration_problems(template: Mapping[str, Value], base: str, document: Document) -> list[Problem]:
    """What is wrong with the declarations themselves."""
    given, path = template.get("parameters"), member(base, "parameters")
    if given is None:
        return []
    if not is_object(given):
        return [Problem(document.at(path), "the parameters are not an object")]
    problems: list[Problem] = []
    if len(given) > MAX_PARAMETERS:
        problems.append(Problem(document.at(path), "the template declares too many parameters", len(given), str(MAX_PARAMETERS)))
    for name, raw in given.items():
        where = member(path, name)
        if not is_object(raw):
            problems.append(Problem(document.at(where), f"the parameter '{name}' is not declared by an object with a type"))
            continue
        if str(raw.get("type", "")).lower() not in TYPES:
            allowed = "string, securestring, int, bool, object, secureObject, array"
            if "$ref" in raw:
                problems.append(
                    Problem(
                        document.at(where),
                        f"the parameter '{name}' is of a type of the template's own, which is not supported here",
                    )
                )
            else:
                problems.append(
                    Problem(
                        document.at(member(where, "type")), f"the parameter '{name}' has no known type", raw.get("type"), allowed
                    )
                )
        unknown = [key for key in raw if key.lower() not in _KEYS]
        problems += [Problem(document.at(member(where, key)), f"a parameter has no '{key}'") for key in unknown]
    return problems


def given_problems(
    parameters: Mapping[str, Declared], given: Mapping[str, Value], document: Document, path: str
) -> list[Problem]:
    """Parameters that are missing, and values for none. `path` is where the parameters are declared."""
    names = {name.lower(): name for name in parameters}
    sent = {name.lower() for name in given}
    problems = [
        Problem(
            document.at(each.path),
            f"the value for the template parameter '{each.name}' is not provided",
            fix=f"give {each.name}, or write a defaultValue" if not each.secure else f"give {each.name}",
        )
        for each in parameters.values()
        if not each.has_default and each.name.lower() not in sent
    ]
    for name in given:
        if name.lower() not in names:
            near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.75)
            problems.append(
                Problem(
                    document.at(path),
                    f"a value is given for '{name}', which isn't a parameter of the template",
                    allowed=", ".join(parameters) or "none",
                    fix=f"is {names[near[0]]} meant?" if near else "leave it out",
                )
            )
    return problems


def value_of(
    parameter: Declared,
    given: Mapping[str, Value],
    default: Callable[[Value, str], Made],
    refuse: Callable[[str, RefusedError], None],
) -> Made:
    """The given value, else the evaluated default. UnresolvedError where there is none or it isn't allowed.

    `null` counts as not given where there is a default: azure-ai-ml (1.35.2) sends it for what it has no value for.
    """
    key = next((name for name in given if name.lower() == parameter.name.lower()), None)
    secret = parameter.secure
    if key is not None and not (given[key] is None and "defaultValue" in parameter.raw):
        value = given[key]
    elif "defaultValue" in parameter.raw:
        value, from_secret = default(parameter.raw["defaultValue"], member(parameter.path, "defaultValue"))
        secret = secret or from_secret
    elif parameter.raw.get("nullable") is True:
        return None, secret
    else:
        raise UnresolvedError
    wrong = _wrong(parameter, value)
    if wrong is not None:
        refuse(parameter.path, wrong)
        raise UnresolvedError
    return value, secret


def _wrong(parameter: Declared, value: Value) -> RefusedError | None:
    """Why a value may not be had."""
    what = f"the value of the parameter '{parameter.name}'"
    if not parameter.type:
        return None  # its declaration is reported
    if value is None and parameter.raw.get("nullable") is True:
        return None
    if not TYPES[parameter.type](value):
        return RefusedError(f"{what} is {kind_of(value)}, not {_WORDS.get(parameter.type, 'an object')}")
    allowed = parameter.raw.get("allowedValues")
    if is_list(allowed):
        values = value if is_list(value) and not any(same(value, each) for each in allowed) else [value]
        if not all(any(same(one, each) for each in allowed) for one in values):
            shown = "" if parameter.secure or not isinstance(value, str | int) else f" ({str(value)[:40]!r})"
            return RefusedError(f"{what} is not one of the allowed values{shown}", f"allowed are {', '.join(map(str, allowed))}")
    return _beyond(parameter, value, what)


def _beyond(parameter: Declared, value: Value, what: str) -> RefusedError | None:
    """Limits of a number's value and of a text's or list's length."""
    measured, limits = value, ("minValue", "maxValue")
    if isinstance(value, str | list):
        measured, limits = len(value), ("minLength", "maxLength")
    least, most = (parameter.raw.get(limit) for limit in limits)
    shown = what if limits[0] == "minValue" else f"the length of {what}"
    if not is_int(measured):
        return None
    if is_int(least) and measured < least:
        return RefusedError(f"{shown} is less than {limits[0]}, {least}")
    if is_int(most) and measured > most:
        return RefusedError(f"{shown} is more than {limits[1]}, {most}")
    return None


def read_file(document: Document) -> tuple[dict[str, Any], list[Problem]]:
    """The values of a parameter file, `{"parameters": {"x": {"value": …}}}`, or of the inner object."""
    whole = document.value
    if not is_object(whole):
        return {}, [Problem(document.at(""), "a parameter file is an object", fix='write {"parameters": {"name": {"value": …}}}')]
    inner = whole.get("parameters")
    if is_object(inner):
        return read_values(inner, "parameters", document)
    return read_values({key: value for key, value in whole.items() if key not in ("$schema", "contentVersion")}, "", document)


def read_values(given: Mapping[str, Value], path: str, document: Document) -> tuple[dict[str, Any], list[Problem]]:
    """The values of `{"x": {"value": …}}`."""
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for name, entry in given.items():
        where = document.at(member(path, name))
        if is_object(entry) and "value" in entry:
            values[name] = entry["value"]
        elif is_object(entry) and "reference" in entry:
            problems.append(
                Problem(where, f"the parameter '{name}' is a key vault's secret, which is not read here", fix='give {"value": …}')
            )
        else:
            problems.append(Problem(where, f"the parameter '{name}' has no value", fix='write {"value": …}'))
    return values, problems
