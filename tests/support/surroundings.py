"""What a stack finds in Azure: the resources that its settings name by their ids, put on an embedded Azure before it comes up."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId, parse
from azure_gpu.formats.azure_types import AzureType
from localazure.arm.kind import merged
from localazure.kinds.undeclared import PRIVATE_ZONE
from localazure.shapes import default_api_version
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure

NOT_SERVED = "Microsoft.Compute/snapshots"  # the embedded Azure takes the id of one without looking for it
_GROUPS, _STORAGE = "2024-03-01", "2024-01-01"
_TYPES = {each.arm_type.lower(): each for each in (*azure_types.ALL, PRIVATE_ZONE)}
_NODES = {"name": "system", "mode": "System", "count": 1, "vmSize": "Standard_D4s_v5", "type": "VirtualMachineScaleSets"}
_ELSEWHERE = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/elsewhere/providers"
_PEOPLE = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/people/providers/Microsoft.ManagedIdentity/userAssignedIdentities"
_DISK, _GATEWAY = f"{_ELSEWHERE}/Microsoft.Compute/snapshots/disk", f"{_ELSEWHERE}/Microsoft.Network/natGateways/out"
# What the service requires beside a location, by type.
_REQUIRED: dict[AzureType, dict[str, Any]] = {
    azure_types.REGISTRY: {"sku": {"name": "Basic"}},
    azure_types.STORAGE_ACCOUNT: {"kind": "StorageV2", "sku": {"name": "Standard_LRS"}},
    azure_types.VIRTUAL_NETWORK: {"properties": {"addressSpace": {"addressPrefixes": ["172.20.0.0/16"]}}},
    azure_types.SUBNET: {"properties": {"addressPrefix": "172.20.1.0/24"}},
    azure_types.MANAGED_CLUSTER: {
        "identity": {"type": "SystemAssigned"},
        "properties": {"dnsPrefix": "theirs", "agentPoolProfiles": [_NODES]},
    },
    azure_types.GALLERY_IMAGE: {
        "properties": {
            "osType": "Linux",
            "osState": "Generalized",
            "hyperVGeneration": "V2",
            "identifier": {"publisher": "p", "offer": "o", "sku": "s"},
        }
    },
    azure_types.GALLERY_IMAGE_VERSION: {"properties": {"storageProfile": {"osDiskImage": {"source": {"id": _DISK}}}}},
}
# What a subnet has, by the section that names it: a group reaches the internet by its subnet's NAT gateway alone.
_SUBNETS: dict[str, dict[str, Any]] = {
    "container_groups": {
        "delegations": [{"name": "groups", "properties": {"serviceName": "Microsoft.ContainerInstance/containerGroups"}}],
        "natGateway": {"id": _GATEWAY},
    }
}
# What of an answer of Azure its owner decided: by the type's look-up, the properties that a PUT sends.
_DECIDED: dict[AzureType, tuple[str, ...]] = {
    azure_types.MANAGED_CLUSTER: ("kubernetesVersion", "aadProfile", "disableLocalAccounts", "apiServerAccessProfile"),
    azure_types.MANAGED_ENVIRONMENT: ("workloadProfiles",),
}


class Named(NamedTuple):
    """A resource that settings name."""

    id: ArmId
    section: str
    location: str


@contextmanager
def there(azure: EmbeddedAzure, says: dict[str, Any], answers: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What a stack says, with everything there that it names, as the answers of look-ups show it. It goes afterwards, with its
    resource groups.

    The directory of the embedded Azure has identities and the login that brings stacks up. So users and groups are identities, a
    service principal is that login, and keys are those of the accounts.
    """
    made: dict[str, ArmId] = {}

    def put(named: Named) -> None:
        for each in _with_parents(named.id):
            if each.key not in made and not each.is_type(NOT_SERVED):
                _put(azure, each, named, answers)
                made[each.key] = each

    try:
        for named in _named_in(says):
            put(named)
        text = json.dumps(says)
        for login in _listed(says, ("service_principals",)):
            text = text.replace(login, azure.principal_id)
        for person in _listed(says, ("users", "groups")):
            identity = parse(f"{_PEOPLE}/{person}")
            assert identity is not None
            put(Named(identity, "", says["location"]))
            principal = azure.get(identity.text, default_api_version(azure_types.USER_ASSIGNED_IDENTITY)).json()
            text = text.replace(person, principal["properties"]["principalId"])
        found = json.loads(text)
        for share in _shares_in(found):
            account = parse(f"{_ELSEWHERE}/Microsoft.Storage/storageAccounts/{share['account']}")
            assert account is not None
            put(Named(account, "", says["location"]))
            azure.made(f"{account.text}/fileServices/default/shares/{share['share']}", {}, _STORAGE)
            share["key"] = azure.post(f"{account.text}/listKeys", _STORAGE).json()["keys"][0]["value"]
        yield found
    finally:
        for each in made.values():
            if each.is_type(azure_types.RESOURCE_GROUP.arm_type):
                assert azure.finished(azure.delete(each.text, _GROUPS))["status"] == "Succeeded"


def _listed(value: Any, keys: tuple[str, ...]) -> list[str]:
    """The texts of lists at these keys, at any depth."""
    if not isinstance(value, dict):
        return []
    return [text for key, each in value.items() for text in (each if key in keys else _listed(each, keys))]


def _shares_in(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from [each] if key == "azure_file" else _shares_in(each)


def _named_in(says: Mapping[str, Any]) -> Iterator[Named]:
    for section, value in says.items():
        for text, location in _ids(value, says["location"]):
            if (parsed := parse(text)) is not None:
                yield Named(parsed, section, location)


def _ids(value: Any, location: str) -> Iterator[tuple[str, str]]:
    """Every text that is an id, with the region of what names it."""
    if isinstance(value, dict):
        for each in value.values():
            yield from _ids(each, value.get("location", location))
    elif isinstance(value, list):
        for each in value:
            yield from _ids(each, location)
    elif isinstance(value, str) and value.startswith("/subscriptions/"):
        yield value, location


def _with_parents(of: ArmId) -> list[ArmId]:
    """A resource group, what lies in it, and so on, up to the resource itself."""
    parent = None if of.is_type(azure_types.RESOURCE_GROUP.arm_type) else parse(of.scope)
    return [*(_with_parents(parent) if parent else ()), of]


def _put(azure: EmbeddedAzure, each: ArmId, named: Named, answers: Mapping[str, Any]) -> None:
    azure_type = _TYPES[each.type.lower()]
    placed = {} if azure_type is azure_types.SUBNET else {"location": "global" if azure_type is PRIVATE_ZONE else named.location}
    body = merged(placed, _REQUIRED.get(azure_type, {}))
    package, _, name = azure_type.token.rpartition(":")
    answer = answers.get(f"{package}:get{name}", {})
    body = merged(body, {"properties": {name: answer[name] for name in _DECIDED.get(azure_type, ()) if name in answer}})
    if azure_type is azure_types.SUBNET:
        body = merged(body, {"properties": _SUBNETS.get(named.section, {})})
    azure.made(each.text, body, _GROUPS if azure_type is azure_types.RESOURCE_GROUP else default_api_version(azure_type))
