"""Compares the parameters that a template declares with the values that are given, and reads parameter files.

Missing, unknown and disallowed values and wrong types are reported together. A problem never contains the value of a secure
parameter."""

import difflib
from collections.abc import Mapping
from typing import Any, NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats.arm_template.evaluation import Reading
from azure_gpu.formats.arm_template.frame import Frame, Made, Shared
from azure_gpu.formats.arm_template.values import (
    KINDS,
    RefusedError,
    UnresolvedError,
    Value,
    is_int,
    is_list,
    is_object,
    kind_of,
    same,
)
from azure_gpu.formats.document import Document
from azure_gpu.formats.lenient_json import member

MAX_PARAMETERS = 256  # Microsoft Learn, azure-resource-manager/templates/best-practices
SECURE = ("securestring", "secureobject")
_TYPES = ("string", "securestring", "int", "bool", "object", "secureobject", "array")
TYPES = {name: KINDS[name.removeprefix("secure")] for name in _TYPES}
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
    """By name as written. What isn't an object isn't there; `check_declarations` reports it."""
    given = template.get("parameters")
    path = member(base, "parameters")
    if not is_object(given):
        return {}
    return {name: _declared(name, raw, member(path, name)) for name, raw in given.items() if is_object(raw)}


def _declared(name: str, raw: dict[str, Value], path: str) -> Declared:
    kind = str(raw.get("type", "")).lower()
    known = kind if kind in TYPES else ""
    return Declared(name, known, kind in SECURE, "defaultValue" in raw or raw.get("nullable") is True, raw, path)


def check_declarations(template: Mapping[str, Value], base: str, shared: Shared) -> None:
    """What is wrong with the declarations themselves."""
    given, path, refuse = template.get("parameters"), member(base, "parameters"), shared.refuse
    if given is not None and not is_object(given):
        refuse(path, "the parameters are not an object")
        return
    for name, raw in given.items() if given else ():
        where = member(path, name)
        if not is_object(raw):
            refuse(where, f"the parameter '{name}' is not declared by an object with a type")
            continue
        if str(raw.get("type", "")).lower() not in TYPES:
            if "$ref" in raw:
                refuse(where, f"the parameter '{name}' is of a type of the template's own, which is not supported here")
            else:
                allowed = "string, securestring, int, bool, object, secureObject, array"
                refuse(member(where, "type"), f"the parameter '{name}' has no known type", value=raw.get("type"), allowed=allowed)
        for key in raw:
            if key.lower() not in _KEYS:
                refuse(member(where, key), f"a parameter has no '{key}'")
    if given and len(given) > MAX_PARAMETERS:
        refuse(path, "the template declares too many parameters", value=len(given), allowed=str(MAX_PARAMETERS))


def check_given(parameters: Mapping[str, Declared], given: Mapping[str, Value], path: str, shared: Shared) -> None:
    """Parameters that are missing, and values for none. `path` is where the parameters are declared."""
    names = {name.lower(): name for name in parameters}
    sent = {name.lower() for name in given}
    for each in parameters.values():
        if not each.has_default and each.name.lower() not in sent:
            fix = f"give {each.name}" if each.secure else f"give {each.name}, or write a defaultValue"
            shared.refuse(each.path, f"the value for the template parameter '{each.name}' is not provided", fix)
    for name in given:
        if name.lower() not in names:
            near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.75)
            fix = f"is {names[near[0]]} meant?" if near else "leave it out"
            message = f"a value is given for '{name}', which isn't a parameter of the template"
            shared.refuse(path, message, fix, allowed=", ".join(parameters) or "none")


def value_of(parameter: Declared, given: Mapping[str, Value], frame: Frame) -> Made:
    """The given value, else the default, evaluated in `frame`. UnresolvedError where there is none or it isn't allowed.

    `null` counts as not given where there is a default: azure-ai-ml (1.35.2) sends it for what it has no value for.
    """
    key = next((name for name in given if name.lower() == parameter.name.lower()), None)
    secret = parameter.secure
    if key is not None and not (given[key] is None and "defaultValue" in parameter.raw):
        value = given[key]
    elif "defaultValue" in parameter.raw:
        reading = Reading(frame, default=True)
        value, from_secret = reading.made(parameter.raw["defaultValue"], member(parameter.path, "defaultValue"))
        secret = secret or from_secret
    elif parameter.raw.get("nullable") is True:
        return None, secret
    else:
        raise UnresolvedError
    wrong = _wrong(parameter, value)
    if wrong is not None:
        frame.shared.report(parameter.path, wrong)
        raise UnresolvedError
    return value, secret


def _wrong(parameter: Declared, value: Value) -> RefusedError | None:
    """Why a value may not be had."""
    what = f"the value of the parameter '{parameter.name}'"
    if not parameter.type:
        return None  # its declaration is reported
    if value is None and parameter.raw.get("nullable") is True:
        return None
    holds, words = TYPES[parameter.type]
    if not holds(value):
        return RefusedError(f"{what} is {kind_of(value)}, not {words}")
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
