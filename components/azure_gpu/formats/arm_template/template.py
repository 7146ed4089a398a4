"""Evaluates a whole ARM template: `expand` evaluates it, `finish` what waited for a running deployment.

Nothing is raised, whatever the document contains: mistakes are problems of the result."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats.arm_template import dependencies, parameters
from azure_gpu.formats.arm_template.evaluation import Reading, is_loops
from azure_gpu.formats.arm_template.frame import Frame, Made, Names, Runtime, Scope, ScopeOf, Shared
from azure_gpu.formats.arm_template.model import Expanded, Nested, TemplateResource, read_outputs
from azure_gpu.formats.arm_template.resources import Collector, read_resource
from azure_gpu.formats.arm_template.values import Meter, Value, is_list, is_object, kind_of
from azure_gpu.formats.document import Document
from azure_gpu.formats.lenient_json import member

MAX_VARIABLES = 256  # Microsoft Learn, azure-resource-manager/templates/best-practices
MAX_NESTED = 6  # deployments in each other
_KEYS = ("$schema", "languageversion", "contentversion", "apiprofile", "definitions", "parameters", "variables", "functions",
         "resources", "outputs", "metadata", "imports", "extensions", "references")  # fmt: skip
_SUBSCRIPTION = "a subscription"
_OTHER_SCOPES = {
    "subscriptiondeploymenttemplate.json": _SUBSCRIPTION,
    "managementgroupdeploymenttemplate.json": "a management group",
    "tenantdeploymenttemplate.json": "a tenant",
}


def expand(
    document: Document, given: Mapping[str, Any], scope: Scope, *, base: str = "", scope_of: ScopeOf | None = None
) -> Expanded:
    """The template at `base` of the document, evaluated. `given` are the values of its parameters by name.

    `scope_of` tells of the resource groups that nested deployments go to; without it only their names are known.
    """
    shared = Shared(document, scope_of=scope_of)
    template: Value = document.value
    for step in base.split(".") if base else ():
        template = template.get(step) if is_object(template) else None
    return _expanded(template, given, scope, base, shared, None, 0)


class Finished(NamedTuple):
    """A resource's body when the running deployment has answered; `waiting` while it hasn't answered all."""

    body: dict[str, Value]
    waiting: bool
    problems: list[Problem]
    nested: Nested | None


def finish(resource: TemplateResource, runtime: Runtime) -> Finished:
    """The body of a resource with what `reference` and `list…` answer."""
    frame, entry = resource.frame, resource.source
    if frame is None or entry is None:
        return Finished(resource.body, bool(resource.unresolved), [], resource.nested)
    running = _running(frame, runtime)
    head = {key: str(resource.body[key]) for key in ("type", "apiVersion", "name")}
    again = read_resource(dict(entry), resource.path, running, head)
    return Finished(again.resource.body, again.waiting, running.shared.problems, again.resource.nested)


def finish_outputs(expanded: Expanded, runtime: Runtime) -> Expanded:
    """The same template with its outputs evaluated; `problems` are only those of the outputs."""
    if expanded.frame is None:
        return expanded
    running = _running(expanded.frame, runtime)
    raw, place = expanded.raw_outputs
    return expanded._replace(outputs=read_outputs(raw, place, running), problems=running.shared.problems)


def expand_nested(resource: TemplateResource, nested: Nested, scope: Scope, depth: int = 1) -> Expanded:
    """The template of a nested deployment, in the frame of its own parameters or of the template around it."""
    if resource.frame is None:
        raise ValueError("a nested deployment comes from a template that was expanded")
    frame = resource.frame
    shared = replace(frame.shared, problems=[], runtime=None)
    return _expanded(nested.template, nested.parameters, scope, nested.path, shared, None if nested.inner else frame, depth)


def _running(frame: Frame, runtime: Runtime) -> Frame:
    """The frame with a runtime, and with a separate list of problems."""
    return replace(frame, shared=replace(frame.shared, problems=[], runtime=runtime, meter=Meter()))


def _expanded(
    template: Value, given: Mapping[str, Any], scope: Scope, base: str, shared: Shared, outer: Frame | None, depth: int
) -> Expanded:
    if not is_object(template):
        shared.refuse(base, f"a template is an object; this is {kind_of(template)}")
        return Expanded((), {}, shared.problems, {}, frozenset(), {})
    _check_outline(template, base, shared, scope)
    declared = parameters.declared(template, base)
    if outer is None:
        parameters.check_declarations(template, base, shared)
        parameters.check_given(declared, given, member(base, "parameters"), shared)
        frame = _frame(template, base, declared, given, scope, shared)
    else:
        place = outer.scope._replace(resource_group=scope.resource_group, of_subscription=scope.of_subscription)
        frame = replace(outer, shared=shared, scope=place)
    made, _ = frame.parameters.values(), frame.variables.values()
    collector = Collector(frame)
    collector.collect(template.get("resources"), member(base, "resources"))
    index = dependencies.Index(collector.found)
    finder = replace(frame, find=index.one)
    resources = [
        each._replace(frame=replace(each.frame, find=index.one) if each.frame else None)
        for each in dependencies.resolved(collector.found, index, shared)
    ]
    expanded = tuple(_with_nested(each, scope, shared, depth) for each in resources)
    return Expanded(
        resources=expanded,
        outputs=read_outputs(template.get("outputs"), member(base, "outputs"), finder),
        problems=shared.problems,
        parameters={name: value for name, (value, _) in made.items()} if outer is None else {},
        secure_parameters=frozenset(each.name for each in declared.values() if each.secure),
        parameter_types={each.name: str(each.raw.get("type", "")) for each in declared.values()},
        frame=finder,
        raw_outputs=(template.get("outputs"), member(base, "outputs")),
    )


def _with_nested(resource: TemplateResource, scope: Scope, shared: Shared, depth: int) -> TemplateResource:
    """A nested deployment with its own resources, where its parameters are known already."""
    nested = resource.nested
    if nested is None:
        return resource
    if depth >= MAX_NESTED:
        shared.refuse(resource.path, f"deployments are nested more than {MAX_NESTED} deep")
        return resource
    if nested.inner and _waits(resource, nested):
        return resource
    expanded = expand_nested(resource, nested, _scope_of(nested, scope, shared)._replace(deployment=resource.name), depth + 1)
    shared.problems += [problem for problem in expanded.problems if problem not in shared.problems]
    return resource._replace(expanded=expanded)


def _scope_of(nested: Nested, scope: Scope, shared: Shared) -> Scope:
    """Where a nested deployment goes."""
    group = nested.resource_group
    if group is None or group == scope.resource_group:
        return scope
    if shared.scope_of is not None:
        return shared.scope_of(group)
    return scope._replace(resource_group=group, location=None, tags=None, of_subscription=False)


def _waits(resource: TemplateResource, nested: Nested) -> bool:
    """Whether a parameter of a nested deployment is known only when others have been deployed."""
    properties = (resource.source or {}).get("properties")
    raw = properties.get("parameters") if is_object(properties) else None
    return is_object(raw) and any(name not in nested.parameters for name in raw)


def _check_outline(template: dict[str, Value], base: str, shared: Shared, scope: Scope) -> None:
    refuse, schema, resources = shared.refuse, template.get("$schema"), template.get("resources")
    if not isinstance(schema, str):
        refuse(base, "the template has no $schema", "write the address of deploymentTemplate.json")
    else:
        other = _OTHER_SCOPES.get(schema.rstrip("#").rsplit("/", 1)[-1].lower())
        if other is not None and not (scope.of_subscription and other == _SUBSCRIPTION):
            refuse(member(base, "$schema"), f"a template that is deployed to {other} is not supported here")
    if not isinstance(template.get("contentVersion"), str):
        refuse(base, "the template has no contentVersion", 'write "contentVersion": "1.0.0.0"')
    if "resources" not in template:
        refuse(base, "the template has no resources", 'write "resources": []')
    elif not is_list(resources) and not is_object(resources):
        refuse(member(base, "resources"), f"the resources are {kind_of(resources)}, not a list")
    elif is_object(resources) and not str(template.get("languageVersion", "")).startswith("2."):
        fix = 'write a list, or "languageVersion": "2.0" where the resources have symbolic names'
        refuse(member(base, "resources"), "the resources are an object, not a list", fix)
    for key in template:
        if key.lower() not in _KEYS:
            refuse(member(base, key), f"a template has no '{key}'")
    for key in ("apiProfile", "imports", "extensions"):
        if template.get(key):
            refuse(member(base, key), f"{key} is not supported here")


def _frame(
    template: dict[str, Value],
    base: str,
    declared: Mapping[str, parameters.Declared],
    given: Mapping[str, Any],
    scope: Scope,
    shared: Shared,
) -> Frame:
    """The frame of a template's own parameters and variables."""
    names, variables = Names("parameter"), Names("variable")
    of_defaults = Frame(shared, scope, names, Names("variable"), frozenset())
    for name, each in declared.items():
        names.add(name, partial(parameters.value_of, each, given, of_defaults))
    frame = Frame(shared, scope, names, variables, _own_functions(template))
    _add_variables(template.get("variables"), member(base, "variables"), frame)
    return frame


def _add_variables(raw: Value, place: str, frame: Frame) -> None:
    """How each variable is made; `copy` at the top makes several."""
    if raw is not None and not is_object(raw):
        frame.shared.refuse(place, "the variables are not an object")
        return
    if raw and len(raw) > MAX_VARIABLES:
        frame.shared.refuse(place, f"the template has more than {MAX_VARIABLES} variables")
        return
    for name, value in raw.items() if raw else ():
        where = member(place, name)
        if name.lower() == "copy" and is_loops(value):
            for index, loop in enumerate(value):
                frame.variables.add(str(loop["name"]), partial(_of_loop, frame, loop, f"{where}[{index}]"))
        else:
            frame.variables.add(name, partial(_of_value, frame, value, where))


def _of_value(frame: Frame, raw: Value, place: str) -> Made:
    return Reading(frame).made(raw, place)


def _of_loop(frame: Frame, loop: dict[str, Value], place: str) -> Made:
    return Reading(frame).loop_made(loop, place)


def _own_functions(template: dict[str, Value]) -> frozenset[str]:
    """Full names of the functions that the template defines."""
    spaces = template.get("functions")
    names: set[str] = set()
    for space in spaces if is_list(spaces) else ():
        members = space.get("members") if is_object(space) else None
        if is_object(space) and is_object(members):
            names |= {f"{space.get('namespace')}.{name}".lower() for name in members}
    return frozenset(names)
