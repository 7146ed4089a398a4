"""Reads container groups of Azure Container Instances: the YAML of `az container create --file` and `az container export`, and
ARM templates.

Each group is ARM's body, in ARM's own spelling, and every problem has file, line and path. Secrets are located and never copied:
SECRET stands in their place."""

import re
from collections import ChainMap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats import lenient_json, located_yaml, placeholders
from azure_gpu.formats.arm_template import Scope
from azure_gpu.formats.azure_types import CONTAINER_GROUP
from azure_gpu.formats.container_group_template import groups_in
from azure_gpu.formats.document import Document
from azure_gpu.formats.likely_secrets import holds_secret, is_secret_name
from azure_gpu.formats.shaped import of_rows, validate
from azure_gpu.formats.stack_file import SECRET

NOWHERE = Scope()
NO_GROUP = "not a container group"
# Every property of the API versions from 2018-06-01 to 2024-05-01-preview. Source: Microsoft's API descriptions, as generated in
# Azure/bicep-types-az for each of these versions.
GROUP = of_rows(Path(__file__).with_name("container_group_shape.tsv").read_text(encoding="utf-8"), "group")
_OTHER_FILES = (
    ("services", "a file of Docker Compose", "describe its services as containers of a group"),
    ("kind", "a manifest of Kubernetes", "describe its pod as a container group"),
    ("osType", "what `az container show` prints", "take what `az container export` writes: it has `properties`"),
    ("parameters", "a parameter file", "name the template, and this file as its parameters"),
    ("containers", "a list of containers without a group around it", "put it under `properties`, as `az container export` does"),
)
_BICEP = re.compile(r"^(?:@\w+\(|targetScope\s*=|(?:param|var|resource|module)\s+\w+\s+['\w=])", re.MULTILINE)


class GroupInFile(NamedTuple):
    """One group. Paths inside of it are those of its body, such as `properties.osType`."""

    name: str  # "" where the file has none
    body: dict[str, Any]
    document: Document  # without its values, as secrets are among them; its lines know the body's spelling
    path: str  # of the body in the document; "" is all of it
    secrets: tuple[str, ...]  # paths inside of the body

    def line_of(self, path: str) -> int:
        """The line of what is at a path of the body."""
        return self.document.line_of(self._whole(path))

    def at(self, path: str) -> str:
        """The same as the path of a problem: `file:line: path`."""
        return self.document.at(self._whole(path))

    def _whole(self, path: str) -> str:
        return f"{self.path}.{path}" if self.path and path else self.path or path


def read(
    text: str, file: str, parameters: Mapping[str, Any] | None = None, scope: Scope = NOWHERE
) -> tuple[list[GroupInFile], list[Problem]]:
    """The groups in the text. `file` is how the user named it; its ending doesn't matter. Other resources of a template are named
    in warnings."""
    if _BICEP.search(text):
        return [], [refused("group_file.bicep", file)]
    is_json = text.removeprefix("\ufeff").lstrip().startswith(("{", "//", "/*"))
    document, problems = (lenient_json if is_json else located_yaml).read(text, file)
    if document is None:
        return [], problems
    value: Any = document.value
    if not isinstance(value, dict):
        return [], [*problems, _no_group(document, NO_GROUP)]
    value = cast(dict[str, Any], value)
    if _is_template(value):
        groups, found = _of_template(document, parameters or {}, scope)
    else:
        groups, found = _of_group(document, value)
        found += [refused("group_file.parameters_of_a_group", document.file)] if parameters else []
    return groups, sorted(map(_safe, [*problems, *found]), key=_line)


def _safe(problem: Problem) -> Problem:
    """Without an expression that may hold a secret."""
    return problem._replace(value=None) if isinstance(problem.value, str) and holds_secret(problem.value) else problem


def _line(problem: Problem) -> int:
    """Of `file:line: path`; 0 where there is none."""
    match = re.search(r":(\d+)(?::|$)", problem.path)
    return int(match[1]) if match else 0


def _is_template(value: dict[str, Any]) -> bool:
    return "deploymentTemplate" in str(value.get("$schema")) or ("resources" in value and "properties" not in value)


def _of_template(document: Document, parameters: Mapping[str, Any], scope: Scope) -> tuple[list[GroupInFile], list[Problem]]:
    found, problems = groups_in(document, parameters, scope)
    reported = {problem.path for problem in problems}
    groups: list[GroupInFile] = []
    for given in found:
        group, wrong = _group(document, given.body, given.path, given.unknown)
        groups.append(group)
        problems += [problem for problem in wrong if problem.path not in reported]
    expressions = [expression for given in found for expression in given.unknown.values()]
    return groups, [seen for problem in problems if (seen := _weighed(problem, document, expressions)) is not None]


def _weighed(problem: Problem, document: Document, expressions: list[str]) -> Problem | None:
    """A problem of a variable or a parameter's default that isn't known without the target of the deployment: it
    matters where a group needs it, may matter where a group's value isn't known, and doesn't otherwise."""
    where = problem.path.removeprefix(f"{document.file}:").partition(": ")[2]
    section, _, rest = where.partition(".")
    if problem.code is not Code.UNKNOWN or problem.severity is Severity.WARNING or section not in ("variables", "parameters"):
        return problem
    name = rest.partition(".")[0].lower()
    if any(f"'{name}'" in expression.lower() for expression in expressions):
        return problem
    return problem._replace(severity=Severity.WARNING) if expressions else None


def _of_group(document: Document, value: dict[str, Any]) -> tuple[list[GroupInFile], list[Problem]]:
    by_lower = {key.lower(): one for key, one in value.items()}
    kind = by_lower.get("type")
    if "properties" not in by_lower or (isinstance(kind, str) and kind.lower() != CONTAINER_GROUP.arm_type.lower()):
        for key, what, fix in _OTHER_FILES:
            if key in value and "properties" not in by_lower:
                return [], [_no_group(document, f"this is {what}", fix)]
        message = f"this is a {kind}" if isinstance(kind, str) and len(kind) < 100 else NO_GROUP
        return [], [_no_group(document, message)]
    group, problems = _group(document, value, "", {})
    return [group], problems


def _group(document: Document, value: dict[str, Any], path: str, unknown: Mapping[str, str]) -> tuple[GroupInFile, list[Problem]]:
    held = validate(value, GROUP, document, path, unknown)
    lines = ChainMap(held.lines, cast(dict[str, int], document.lines))  # no copy: a template may have hundreds of groups
    inside = len(path) + 1 if path else 0
    secrets = [secret[inside:] for secret in held.secrets]
    name = held.value.get("name")
    group = GroupInFile(str(name or ""), held.value, Document(document.file, None, lines), path, ())
    properties: dict[str, Any] = held.value.get("properties") or {}
    problems = [*_reminded(value, held.problems, document, path), *_missing(group, properties), *_twice(group, properties)]
    problems += _hide_likely_secrets(group, properties, secrets)
    return group._replace(secrets=tuple(dict.fromkeys(secrets))), problems


def _reminded(value: Any, problems: list[Problem], document: Document, path: str) -> Iterator[Problem]:
    """A placeholder as the whole value of a variable that is a secret by its name: like one at the place of a secret, it is to be
    set, and not a mistake."""
    secret = {
        document.at(where.rpartition(".")[0] + ".value")
        for holder, key, where in lenient_json.walk(value, path)
        if key == "name"
        and isinstance(holder[key], str)
        and is_secret_name(holder[key])
        and placeholders.find(str(holder.get("value"))) == holder.get("value")
    }
    for problem in problems:
        if problem.path in secret:
            problem = refused("group_file.placeholder_for_secret", problem.path)
        yield problem


def _missing(group: GroupInFile, properties: dict[str, Any]) -> Iterator[Problem]:
    if properties.get("containers") == [] and "properties.containers[0]" not in group.document.lines:
        yield refused("group_file.no_container", group.at("properties.containers"))
    if not group.name:
        yield refused("group_file.no_name", group.at(""))


def _twice(group: GroupInFile, properties: dict[str, Any]) -> Iterator[Problem]:
    """What has a name, and has it in common with another of its kind."""
    lists = [("properties.volumes", _items(properties, "volumes"))]
    lists.append(("properties.containers", [*_items(properties, "containers")]))
    lists.append(("properties.initContainers", [*_items(properties, "initContainers")]))
    for path, containers in lists[1:]:
        lists += [
            (f"{path}[{index}].properties.{kind}", _items(container.get("properties", {}), kind))
            for index, container in enumerate(containers)
            for kind in ("environmentVariables", "volumeMounts")
        ]
    for path, ones in lists:
        first: dict[str, int] = {}
        for index, one in enumerate(ones):
            name = one.get("name")
            if name in first:
                line = group.line_of(f"{path}[{first[name]}]")
                yield refused("group_file.name_twice", group.at(f"{path}[{index}].name"), name, line=line)
            elif name is not None:
                first[name] = index


def _hide_likely_secrets(group: GroupInFile, properties: dict[str, Any], secrets: list[str]) -> Iterator[Problem]:
    """What reads like a secret is taken as one: a variable by its name or text, any other text that has a password in it.

    Takes them out of the body, and adds to `secrets`.
    """
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(_items(properties, kind)):
            path = f"properties.{kind}[{index}].properties.environmentVariables"
            for number, variable in enumerate(_items(container.get("properties", {}), "environmentVariables")):
                name, text = variable.get("name", ""), variable.get("value")
                if text and text != SECRET and (is_secret_name(name) or holds_secret(text)):
                    variable["secureValue"] = variable.pop("value")
                    yield _likely(group, f"{path}[{number}].value", f"the variable {name!r} is likely to be a secret")
                if variable.get("value") == SECRET or "secureValue" in variable:
                    variable.pop("value", None)
                    variable["secureValue"] = SECRET
                    secrets.append(f"{path}[{number}].secureValue")
    for holder, key, path in lenient_json.walk(group.body, ""):
        text = holder[key]
        if isinstance(text, str) and text != SECRET and holds_secret(text):
            holder[key] = SECRET
            secrets.append(path)
            yield _likely(group, path, "there is a secret in this text")


def _likely(group: GroupInFile, path: str, what: str) -> Problem:
    return refused("group_file.likely_secret", group.at(path), what=what)


def _items(parent: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return parent.get(name) or []


def _no_group(document: Document, what: str, fix: str = "") -> Problem:
    return refused("group_file.no_group", document.at(""), what=what, fix=fix or None)
