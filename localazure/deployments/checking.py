"""Checks whether a deployment would succeed: evaluates its template, and validates each resource as its service would now.

The ArmError has every problem. A resource that depends on others of the template is validated only by its form, because what it
needs doesn't exist yet.
"""

from collections.abc import Iterator, Sequence

from azure_gpu.formats.arm_ids import RESOURCE_GROUP_TYPE
from azure_gpu.formats.arm_template import Expanded, Scope, ScopeOf, TemplateResource, expand
from localazure.arm.caller import Caller
from localazure.arm.errors import ArmError
from localazure.arm.in_process import InProcessArm
from localazure.arm.store import Body
from localazure.deployments import refusals
from localazure.deployments.request import TEMPLATE, DeploymentRequest
from localazure.deployments.view import TYPE
from localazure.weather.policies import DISALLOWED

_GROUP = f"{RESOURCE_GROUP_TYPE.lower()}/"  # how the key of a resource group begins


def evaluated(requested: DeploymentRequest, scope: Scope, scope_of: ScopeOf) -> Expanded:
    """The template with its expressions evaluated. ArmError InvalidTemplate with all problems."""
    expanded = expand(requested.document, requested.parameters, scope, base=TEMPLATE, scope_of=scope_of)
    if expanded.problems:
        raise refusals.invalid_template(expanded.problems)
    return expanded


def check(expanded: Expanded, name: str, arm: InProcessArm, caller: Caller) -> None:
    """ArmError InvalidTemplateDeployment with what the services would refuse."""
    errors = [error for resource, waits in in_order(expanded) for error in _errors(resource, waits, arm, caller)]
    if errors:
        raise refusals.not_valid(name, errors)


def in_order(expanded: Expanded, waits: bool = False) -> Iterator[tuple[TemplateResource, bool]]:
    """Each resource, those of nested deployments in the place of these, and whether it waits for others of the template: for more
    than its resource group, which is supposed to be there."""
    for each in expanded.resources:
        waiting = waits or any(not key.startswith(_GROUP) for key in each.depends_on)
        if each.expanded is None:
            yield each, waiting
        else:
            yield from in_order(each.expanded, waiting)


def sent(body: Body) -> Body:
    """What is sent for a resource: its body without what its path says."""
    return {name: value for name, value in body.items() if name not in ("type", "apiVersion", "name")}


def _errors(resource: TemplateResource, waits: bool, arm: InProcessArm, caller: Caller) -> Sequence[ArmError]:
    if resource.type.lower() == TYPE.lower():
        return ()  # a nested deployment that waits for others
    version, body = str(resource.body["apiVersion"]), sent(resource.body)
    try:
        if resource.unresolved or waits:
            arm.outline(resource.id, version, body, known=not resource.unresolved)
        else:
            arm.prepared(resource.id, version, body, caller)
    except ArmError as error:
        if error.code != DISALLOWED:  # its details tell which property
            error.target = resource.id
        return (error,)
    return ()
