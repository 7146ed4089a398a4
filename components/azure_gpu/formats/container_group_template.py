"""The resources of an ARM template, container groups and others, as ARM would see them, without ARM.

A body has SECRET for what comes from a secure parameter; which of its values aren't known is returned beside it. Secrets that
were given or written as defaults aren't evaluated at all."""

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, NamedTuple, cast

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats.arm_template import Scope, TemplateResource, declared, expand
from azure_gpu.formats.arm_template.resources import entries
from azure_gpu.formats.arm_template.syntax import is_expression
from azure_gpu.formats.azure_types import CONTAINER_GROUP
from azure_gpu.formats.document import Document
from azure_gpu.formats.lenient_json import member, walk
from azure_gpu.formats.likely_secrets import is_secret_name
from azure_gpu.formats.stack_file import SECRET

_SECRET_TEXT = f"[{SECRET}"  # as a template spells a text that begins with a bracket
SOMEWHERE = "locationoftheresourcegroup"  # stands for a location that isn't known; survives toLower and replace
# Keys of a template's entry that aren't part of the resource.
_BESIDE = {"dependson", "comments", "condition", "copy", "scope", "metadata", "resources"}
_ASKS_FOR_A_KEY = re.compile(r"\blist\w*\s*\(", re.IGNORECASE)
_SECRET_KEYS = {"password", "securevalue", "storageaccountkey", "workspacekey"}


_NOT_TAKEN = "isn't taken: only container groups are"


class Given(NamedTuple):
    """One container group."""

    body: dict[str, Any]
    path: str  # in the document
    unknown: Mapping[str, str]  # expressions without a value here, by path in the document


def groups_in(document: Document, parameters: Mapping[str, Any], scope: Scope) -> tuple[list[Given], list[Problem]]:
    """`scope.location` None: the groups are where their resource group is, and have no location."""
    ready, given = _without_secrets(document, parameters)
    place = scope if scope.location is not None else scope._replace(location=SOMEWHERE)
    by_path = _entries(cast(dict[str, Any], ready.value))
    expanded = expand(ready, given, place)
    there = {resource.path for resource in expanded.everything()}
    nameless = {path for path, entry in by_path.items() if path not in there and _is_ours(entry)}
    of_names: list[Problem] = []
    if nameless:
        # A resource without a name isn't among those that are evaluated. The stack names a group whose name isn't known here.
        again = expand(_named(ready, nameless), given, place)
        of_names = [_of_name(problem) for problem in expanded.problems if problem not in again.problems]
        expanded = again
    others = {path: entry for path, entry in by_path.items() if not _is_ours(entry) and not _is_deployment(entry)}
    beside = [member(path, key) for path, entry in others.items() for key in entry if key.lower() != "dependson"]
    ours = [resource for resource in expanded.everything() if resource.type.lower() == CONTAINER_GROUP.arm_type.lower()]
    groups = [_group(resource, nameless) for resource in ours]
    # Problems of other resources don't matter here, but their dependencies do: a circle is a problem of all.
    problems = [problem for problem in (*of_names, *expanded.problems) if not _is_beside(problem, beside)]
    left = {resource.path: resource.type for resource in expanded.everything() if resource not in ours}
    left |= {path: str(entry.get("type")) for path, entry in others.items()}
    problems += [_not_taken(document, path, kind) for path, kind in left.items()]
    if not ours and not any(problem.severity is Severity.ERROR for problem in problems):
        problems.append(refused("group_file.no_group_in_template", document.at("")))
    return groups, problems


def others_in(document: Document, parameters: Mapping[str, Any], scope: Scope) -> tuple[list[Given], list[Problem]]:
    """Every resource that isn't a container group, with its type in the body. The problems are those of the whole template."""
    ready, given = _without_secrets(document, parameters)
    place = scope if scope.location is not None else scope._replace(location=SOMEWHERE)
    expanded = expand(ready, given, place)
    found = [
        each for each in expanded.everything() if each.type.lower() != CONTAINER_GROUP.arm_type.lower() and not each.existing
    ]
    there = {each.path for each in expanded.everything()}
    nameless = {path: entry for path, entry in _entries(cast(dict[str, Any], ready.value)).items() if path not in there}
    unnamed = [
        Given(
            {key: value for key, value in entry.items() if key.lower() not in {*_BESIDE, "name"}}, path, _expressions(entry, path)
        )
        for path, entry in nameless.items()
        if "type" in entry and not _is_ours(entry) and not _is_deployment(entry) and "condition" not in entry
    ]
    return [*(_group(each, set()) for each in found), *unnamed], expanded.problems


def _expressions(entry: Any, path: str) -> dict[str, str]:
    """Every expression of an entry that wasn't evaluated, by path."""
    texts = ((inner, holder[key]) for holder, key, inner in walk(entry, path))
    return {inner: text for inner, text in texts if isinstance(text, str) and is_expression(text)}


def _group(resource: TemplateResource, nameless: set[str]) -> Given:
    asking = {path for path, expression in resource.unresolved.items() if _ASKS_FOR_A_KEY.search(expression)}
    secrets = (*resource.secrets, *asking)
    body = deepcopy({name: value for name, value in resource.body.items() if name.lower() not in _BESIDE})
    for holder, key, path in walk(body, ""):
        if path in secrets:  # where a secure parameter is part of a text
            holder[key] = SECRET
    if body.get("location") == SOMEWHERE:
        del body["location"]
    if resource.path in nameless:
        del body["name"]
    unknown = {f"{resource.path}.{path}": text for path, text in resource.unresolved.items() if path not in secrets}
    return Given(body, resource.path, unknown)


def _without_secrets(document: Document, parameters: Mapping[str, Any]) -> tuple[Document, dict[str, Any]]:
    """The template and its parameters with SECRET for each secure text, and for each expression that only asks for a secret:
    `listKeys` can't be evaluated here. Outputs are left out, since they create nothing."""
    template = cast(dict[str, Any], document.value)
    changed: dict[str, Any] = {**template, "outputs": {}, "resources": deepcopy(template.get("resources"))}
    for holder, key, _ in walk(changed["resources"], ""):
        if isinstance(key, str) and key.lower() in _SECRET_KEYS and isinstance(holder[key], str) and holder[key]:
            holder[key] = _SECRET_TEXT
    given = dict(parameters)
    of_template = declared(template)
    for parameter in of_template.values():
        names = [name for name in given if name.lower() == parameter.name.lower()]
        if parameter.type == "securestring" or (parameter.type == "string" and is_secret_name(parameter.name)):
            safe = {"type": "securestring", "defaultValue": _SECRET_TEXT}
            changed["parameters"] = {**changed["parameters"], parameter.name: safe}
            given = {name: value for name, value in given.items() if name not in names}
        else:
            given |= {name: _typed(given[name], parameter.type) for name in names}
    return document._replace(value=changed), given


def _typed(value: Any, wanted: str) -> Any:
    """Text from a command line as what the parameter wants, where it spells that; else as it is."""
    if not isinstance(value, str) or wanted not in ("int", "bool", "array", "object", "secureobject"):
        return value
    try:
        return json.loads(value.lower() if wanted == "bool" else value)
    except ValueError:
        return value


def _entries(template: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The entries of the template's resources, by path."""
    found = entries(template.get("resources"), "resources")
    return {path: cast(dict[str, Any], entry) for entry, path, _ in found if isinstance(entry, dict)}


def _is_ours(entry: dict[str, Any]) -> bool:
    return str(entry.get("type")).lower() == CONTAINER_GROUP.arm_type.lower()


def _is_deployment(entry: dict[str, Any]) -> bool:
    return str(entry.get("type")).lower() == "microsoft.resources/deployments"


def _named(document: Document, paths: set[str]) -> Document:
    """With names that are text, for the entries at `paths`."""
    value: dict[str, Any] = {**document.value, "resources": deepcopy(document.value["resources"])}
    for number, (path, entry) in enumerate(_entries(value).items()):
        if path in paths:
            entry["name"] = f"[concat('group{number}-', copyIndex())]" if "copy" in entry else f"group{number}"
    return document._replace(value=value)


def _of_name(problem: Problem) -> Problem:
    """What is wrong with a name: less, where it only isn't known here."""
    if problem.code is not Code.UNKNOWN:
        return problem
    return problem._replace(severity=Severity.WARNING, fix="the stack names the group; or give the parameter that its name needs")


def _is_beside(problem: Problem, paths: list[str]) -> bool:
    """Whether it is about the content of other resources, or about a name of theirs that isn't known."""
    where = problem.path.rpartition(": ")[2]
    unknown = problem.code is Code.UNKNOWN and "dependsOn" in where
    return unknown or any(where == path or where.startswith((f"{path}.", f"{path}[")) for path in paths)


def is_not_taken(problem: Problem) -> bool:
    """Whether it tells of a resource that isn't a container group."""
    return problem.message.endswith(_NOT_TAKEN)


def _not_taken(document: Document, path: str, kind: str) -> Problem:
    return Problem(
        path=document.at(path),
        message=f"a {kind} {_NOT_TAKEN}",
        fix="where the group needs it, keep it as it is",
        code=Code.UNKNOWN,
        severity=Severity.WARNING,
    )
