"""A stack's resources as one ARM template for the subscription, for validation only.

The resources are recorded without an engine. Each resource group has a nested deployment with its resources. Values that only
Azure knows are an expression (a new identity's principal) or a placeholder of their form (a client's id in a variable, a secret).
Resources that aren't of Resource Manager are left out, and listed.
"""

import re
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from azure_gpu.formats import arm_bodies, arm_ids, azure_types
from azure_gpu.formats.arm_ids import RESOURCE_GROUP_TYPE, SUBSCRIPTION_TYPE, ArmId
from azure_gpu.formats.azure_types import ALL, BY_TOKEN, AzureType
from azure_gpu.formats.stack_file import SECRET
from azure_gpu_operations.graph import stand_ins
from azure_gpu_operations.graph.recorded import Recorded, Resource, texts

DEPLOYMENTS = "2025-04-01"
_SCHEMAS = "https://schema.management.azure.com/schemas"
_OF_SUBSCRIPTION = f"{_SCHEMAS}/2018-05-01/subscriptionDeploymentTemplate.json#"
_OF_GROUP = f"{_SCHEMAS}/2019-04-01/deploymentTemplate.json#"
_TENANT = "[subscription().tenantId]"
_GUID = str(uuid.UUID(int=0))
_HIDDEN = "c2VjcmV0"  # in place of a secret: Base64, which some of them have to be
_ID = re.compile(r"/recorded/(\d{6})")
_OF_IDENTITY = re.compile(r"(?:principal|client)-of-(\d{6})")
_NUMBER = re.compile(r"\d{6}")  # the last segment of an id, where a program takes the name from it
_LOG_WORKSPACE_KEYS = ("customerId",)


class Sent(NamedTuple):
    """One resource of the template."""

    id: str
    type: str
    body: dict[str, Any]
    resource: Resource


class Template(NamedTuple):
    """`document` is the template; `left_out` lists resources that aren't in it, and why."""

    document: dict[str, Any]
    location: str  # where ARM keeps the record
    sent: tuple[Sent, ...]
    left_out: tuple[str, ...]


def template_of(found: Recorded, subscription: str, deployer: str = "") -> Template:
    """`deployer`: the object id of the deploying identity; "" if unknown: its roles are left out."""
    here = _Ids(found.resources, subscription)
    sent: list[Sent] = []
    left_out: list[str] = []
    for each in found.resources:
        azure_type = BY_TOKEN.get(each.type)
        if each.is_component or each.type.startswith(("pulumi:", "kubernetes:")):
            continue
        reason = _unsendable(each, azure_type, here, subscription, deployer)
        if azure_type is None or reason:
            left_out.append(f"{each.type.rpartition(':')[2]} {each.name}: {reason}")
            continue
        body = arm_bodies.body_of(azure_type, _Known(here, each, deployer).value(each.inputs))
        sent.append(Sent(here.of[each.number], azure_type.arm_type, body, each))
    location = next((str(each.body["location"]) for each in sent if each.body.get("location")), "westeurope")
    objects = sum(each.type.startswith("kubernetes:") for each in found.resources)
    left_out += [f"{objects} objects of Kubernetes"] if objects else []
    return Template(_document(sent, here), location, tuple(sent), tuple(left_out))


class _Ids:
    """The ids of a stack's resources, by the numbers that stand for them."""

    def __init__(self, resources: Iterable[Resource], subscription: str) -> None:
        self.of: dict[int, str] = {}
        self.types: dict[int, AzureType] = {}
        self.by_urn: dict[str, str] = {}
        self.identities: dict[str, str] = {}  # those that exist already, by name
        waiting = [(each, BY_TOKEN[each.type]) for each in resources if each.type in BY_TOKEN]
        while waiting:  # an id may lie below another one
            left = [pair for pair in waiting if not self._add(*pair, subscription)]
            if len(left) == len(waiting):
                break
            waiting = left
        for each in resources:
            for text in texts(each.inputs):
                parsed = arm_ids.parse(text)
                if parsed is not None and parsed.is_type(azure_types.USER_ASSIGNED_IDENTITY.arm_type):
                    self.identities[parsed.name] = parsed.text

    def _add(self, resource: Resource, azure_type: AzureType, subscription: str) -> bool:
        names: dict[str, object] = {azure_type.name_parameter: _own_name(resource, azure_type), **resource.inputs}
        for parameter in azure_type.path_parameters:
            text = str(names.get(parameter, ""))
            numbers = {int(number) for number in _ID.findall(text)}
            numbers |= {int(text)} if _NUMBER.fullmatch(text) else set()
            if not numbers <= self.of.keys():
                return False
            names[parameter] = self.written(text)
        if not all(names.get(parameter) for parameter in azure_type.path_parameters):  # taken from an id that Azure tells
            above = self._parent(resource, azure_type)
            if above is None:
                return False
            of_parent = next(each for each in ALL if above.is_type(each.arm_type))
            names |= {"resourceGroupName": above.resource_group, of_parent.name_parameter: above.name}
        id_ = azure_type.id_of(subscription, names)
        self.of[resource.number], self.types[resource.number], self.by_urn[resource.urn] = id_, azure_type, id_
        return True

    def _parent(self, resource: Resource, azure_type: AzureType) -> ArmId | None:
        """The parent of a resource, among the resources in its inputs."""
        ids = [arm_ids.parse(self.by_urn.get(urn, "")) for urn in resource.uses]
        kind = azure_type.arm_type.rpartition("/")[0]
        return next((each for each in ids if each is not None and each.is_type(kind)), None)

    def written(self, text: str) -> str:
        """A text with the ids in place of what stands for them."""
        if _NUMBER.fullmatch(text) and int(text) in self.of:
            return self.of[int(text)].rpartition("/")[2]
        return _ID.sub(lambda found: self.of.get(int(found[1]), found[0]), text)


def _own_name(resource: Resource, azure_type: AzureType) -> str:
    """The name of a resource whose name the provider generates."""
    if azure_type == azure_types.ROLE_ASSIGNMENT:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, resource.urn))
    return f"{resource.name}{uuid.uuid5(uuid.NAMESPACE_URL, resource.urn).hex[:8]}"


class _Known:
    """The inputs of one resource with what can be known in place of what stands for it."""

    def __init__(self, here: _Ids, resource: Resource, deployer: str) -> None:
        self._here = here
        self._deployer = deployer
        self._is_role = resource.type == azure_types.ROLE_ASSIGNMENT.token
        self._is_template = resource.type == azure_types.DEPLOYMENT.token

    def value(self, value: Any, key: str = "", above: str = "") -> Any:
        if isinstance(value, Mapping):
            return {str(self._text(name, "")): self.value(each, name, key) for name, each in value.items()}
        if isinstance(value, list):
            return [self.value(each, key, above) for each in value]
        return self._text(value, key, above) if isinstance(value, str) else value

    def _text(self, text: str, key: str, above: str = "") -> str:
        if text == SECRET:
            return _HIDDEN
        if key == "tenantId" and arm_ids.parse(text) is None:
            return _TENANT
        if key == "principalId" and self._is_role:
            return principal(text, self._here, self._deployer)
        if key in _LOG_WORKSPACE_KEYS or (key == "workspaceId" and above == "logAnalytics"):
            return _GUID
        known = _OF_IDENTITY.sub(_GUID, self._here.written(text))
        # A text in brackets is an expression, but within a template of the stack's own.
        return f"[{known}" if known.startswith("[") and known.endswith("]") and not self._is_template else known


def principal(text: str, here: "_Ids", deployer: str) -> str:
    """The principal of a role: an id, or an expression that Azure evaluates; "" if unknown."""
    made = _OF_IDENTITY.fullmatch(text)
    if made is not None:
        id_, azure_type = here.of.get(int(made[1]), ""), here.types.get(int(made[1]))
        if not id_ or azure_type is None:
            return ""
        if azure_type == azure_types.USER_ASSIGNED_IDENTITY:
            return f"[reference('{id_}', '{arm_bodies.api_version(azure_type)}').principalId]"
        return f"[reference('{id_}', '{arm_bodies.api_version(azure_type)}', 'Full').identity.principalId]"
    cluster = stand_ins.cluster_of(text)
    if cluster:
        of_cluster = azure_types.MANAGED_CLUSTER
        id_ = next(
            (id_ for number, id_ in here.of.items() if here.types[number] == of_cluster and id_.endswith(f"/{cluster}")), ""
        )
        version = arm_bodies.api_version(of_cluster)
        return f"[reference('{id_}', '{version}').identityProfile.kubeletidentity.objectId]" if id_ else ""
    if text == stand_ins.DEPLOYER:
        return deployer
    for name, id_ in here.identities.items():
        if text == stand_ins.principal_of(name):
            return f"[reference('{id_}', '{arm_bodies.api_version(azure_types.USER_ASSIGNED_IDENTITY)}').principalId]"
    return text if re.fullmatch(r"[0-9a-fA-F-]{36}", text) else ""


def _unsendable(resource: Resource, azure_type: AzureType | None, here: _Ids, subscription: str, deployer: str) -> str:
    """Why a resource isn't in the template; "" where it is."""
    if azure_type is None:
        return "not of Resource Manager" if not resource.type.startswith("azure-native:") else "of a type that isn't known here"
    id_ = here.of.get(resource.number)
    if id_ is None:
        return "its id is known only after other resources exist"
    parsed = arm_ids.parse(id_)
    if parsed is None:
        return "outside a subscription"
    if parsed.subscription.lower() != subscription.lower():
        return f"in another subscription, {parsed.subscription}"
    role = azure_type == azure_types.ROLE_ASSIGNMENT
    if role and not principal(str(resource.inputs.get("principalId", "")), here, deployer):
        return "its principal is known only after creation"
    return ""


def _document(sent: Iterable[Sent], here: _Ids) -> dict[str, Any]:
    top: list[dict[str, Any]] = []
    by_group: dict[str, list[dict[str, Any]]] = {}
    sent = list(sent)
    groups = {each.body_name for each in map(_Placed, sent) if each.is_group}
    by_id = {each.id.lower(): each.id for each in sent}
    for each in map(_Placed, sent):
        entry = each.entry(_waits(each.sent, here, by_id))
        if each.is_group or not each.id.resource_group:
            top.append(entry)
        else:
            by_group.setdefault(each.id.resource_group, []).append(entry)
    for group, resources in by_group.items():
        top.append(_nested(group, resources, group in groups))
    return {"$schema": _OF_SUBSCRIPTION, "contentVersion": "1.0.0.0", "resources": top}


class _Placed:
    """A resource and where its entry goes."""

    def __init__(self, sent: Sent) -> None:
        self.sent = sent
        parsed = arm_ids.parse(sent.id)
        if parsed is None:
            raise ValueError(f"{sent.id} isn't an ARM id")
        self.id: ArmId = parsed
        self.is_group = parsed.is_type(RESOURCE_GROUP_TYPE)
        self.body_name = parsed.name if self.is_group else ""

    def entry(self, waits: list[str]) -> dict[str, Any]:
        azure_type = BY_TOKEN[self.sent.resource.type]
        base, _, below = self.id.text.rpartition("/providers/")
        names = below.split("/")[2::2] if not self.is_group else [self.id.name]
        above = arm_ids.parse(base) if base else None
        extends = above is not None and not (above.is_type(RESOURCE_GROUP_TYPE) or above.is_type(SUBSCRIPTION_TYPE))
        return {
            "type": self.sent.type,
            "apiVersion": arm_bodies.api_version(azure_type),
            "name": "/".join(names),
            **({"scope": base} if extends else {}),
            **self.sent.body,
            **({"dependsOn": waits} if waits and not self.is_group else {}),
        }


def _waits(sent: Sent, here: _Ids, by_id: Mapping[str, str]) -> list[str]:
    """The resources of the same group that must exist first: those in its inputs, and its parents."""
    parsed = arm_ids.parse(sent.id)
    if parsed is None:
        return []
    ids = {here.by_urn[urn] for urn in sent.resource.uses if urn in here.by_urn}
    ids |= {by_id[id_] for id_ in by_id if sent.id.lower().startswith(f"{id_}/")}
    found = {id_: arm_ids.parse(id_) for id_ in ids if id_.lower() in by_id and id_ != sent.id}
    return sorted(
        id_
        for id_, each in found.items()
        if each is not None and not each.is_type(RESOURCE_GROUP_TYPE) and each.resource_group == parsed.resource_group
    )


def _nested(group: str, resources: list[dict[str, Any]], is_made: bool) -> dict[str, Any]:
    return {
        "type": azure_types.DEPLOYMENT.arm_type,
        "apiVersion": DEPLOYMENTS,
        "name": f"in-{group}"[:64],
        "resourceGroup": group,
        # By its type: a budget of the subscription may have the same name.
        **({"dependsOn": [f"[resourceId('{RESOURCE_GROUP_TYPE}', '{group}')]"]} if is_made else {}),
        "properties": {
            "mode": "Incremental",
            "expressionEvaluationOptions": {"scope": "inner"},
            "template": {"$schema": _OF_GROUP, "contentVersion": "1.0.0.0", "resources": resources},
        },
    }
