"""Functions of where a template is deployed: resourceGroup, subscription, resourceId, … Source: Microsoft Learn,
azure-resource-manager/templates/template-functions-resource, -scope and -deployment.
"""

from azure_gpu.formats.arm_template.arguments import Arguments
from azure_gpu.formats.arm_template.scope import Scope
from azure_gpu.formats.arm_template.values import PartlyKnown, RefusedError, Value

GROUP = "the resource group"
SUBSCRIPTION = "the subscription"
TENANT = "the tenant"


def path_of(types: str, names: list[str]) -> str:
    """Types and names alternately: `Microsoft.Network/virtualNetworks/lan/subnets/one`. RefusedError if their numbers differ."""
    namespace, *steps = types.strip("/").split("/")
    if not steps or len(steps) != len(names):
        raise RefusedError(
            f"the type '{types}' takes {len(steps)} name{'' if len(steps) == 1 else 's'} and {len(names)} "
            f"{'is' if len(names) == 1 else 'are'} given"
        )
    return "/".join([namespace, *(f"{step}/{name}" for step, name in zip(steps, names, strict=True))])


def _object(known: dict[str, Value | None], unknown: dict[str, str]) -> PartlyKnown | dict[str, Value]:
    missing = {name.lower(): unknown[name] for name, value in known.items() if value is None and name in unknown}
    there = {name: value for name, value in known.items() if name.lower() not in missing}
    return PartlyKnown(there, missing) if missing else there


def resource_group(scope: Scope, _: Arguments) -> Value:
    known: dict[str, Value] = {
        "id": scope.group_id,
        "name": scope.resource_group,
        "type": "Microsoft.Resources/resourceGroups",
        "location": scope.location,
        "tags": dict(scope.tags or {}),
        "properties": {"provisioningState": "Succeeded"},
    }
    id_of = f"the id of {GROUP}" if scope.resource_group else GROUP
    return _object(known, {"id": id_of, "name": GROUP, "location": f"the location of {GROUP}"})


def subscription(scope: Scope, _: Arguments) -> Value:
    known = {
        "id": None if scope.subscription_id is None else f"/subscriptions/{scope.subscription_id}",
        "subscriptionId": scope.subscription_id,
        "tenantId": scope.tenant_id,
        "displayName": None if scope.subscription_id is None else scope.subscription_id,
    }
    return _object(known, {"id": SUBSCRIPTION, "subscriptionId": SUBSCRIPTION, "tenantId": TENANT, "displayName": SUBSCRIPTION})


def tenant(scope: Scope, _: Arguments) -> Value:
    return _object({"tenantId": scope.tenant_id}, {"tenantId": TENANT})


def deployment(scope: Scope, _: Arguments) -> Value:
    known: dict[str, Value] = {"name": scope.deployment, "properties": None}
    return _object(known, {"name": "the deployment's name", "properties": "what this deployment was sent"})


def environment(scope: Scope, _: Arguments) -> Value:
    if scope.environment is None:
        raise RefusedError("the Azure cloud that is deployed to is not known here", unknown=True)
    return dict(scope.environment)


def resource_id(scope: Scope, given: Arguments) -> str:
    texts = given.texts()
    at = next((index for index, text in enumerate(texts) if "/" in text), len(texts))
    if at > 2 or at == len(texts):
        raise given.refused("it takes [subscription,] [resource group,] a type with a slash in it, and names")
    group = texts[at - 1] if at else scope.resource_group
    owner = texts[0] if at == 2 else scope.subscription_id
    path = path_of(texts[at], texts[at + 1 :])
    if owner is None:
        raise RefusedError(f"{SUBSCRIPTION} is not known here", unknown=True)
    if group is None and scope.of_subscription:
        return f"/subscriptions/{owner}/providers/{path}"
    if group is None:
        raise RefusedError(f"{GROUP} is not known here", unknown=True)
    return f"/subscriptions/{owner}/resourceGroups/{group}/providers/{path}"


def subscription_resource_id(scope: Scope, given: Arguments) -> str:
    texts = given.texts()
    at = 0 if "/" in texts[0] else 1
    owner = texts[0] if at else scope.subscription_id
    path = path_of(texts[at], texts[at + 1 :])
    if owner is None:
        raise RefusedError(f"{SUBSCRIPTION} is not known here", unknown=True)
    return f"/subscriptions/{owner}/providers/{path}"


def tenant_resource_id(_: Scope, given: Arguments) -> str:
    texts = given.texts()
    return f"/providers/{path_of(texts[0], texts[1:])}"


def extension_resource_id(_: Scope, given: Arguments) -> str:
    texts = given.texts()
    return f"{texts[0].rstrip('/')}/providers/{path_of(texts[1], texts[2:])}"
