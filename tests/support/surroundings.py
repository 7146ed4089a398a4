"""What a stack finds in Azure: the resources that its settings name by their ids, put on an embedded Azure before it comes up."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId, parse
from azure_gpu.formats.azure_types import AzureType
from localazure.referenced import GROUPS_VERSION, Expected, around, body_of, identity_of
from localazure.shapes import default_api_version
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure

_STORAGE = "2024-01-01"
_ELSEWHERE = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/elsewhere/providers"
_TYPES = {each.arm_type.lower(): each for each in azure_types.ALL}
# What of an answer of Azure its owner decided: by the type's look-up, the properties that a PUT sends.
_DECIDED: dict[AzureType, tuple[str, ...]] = {
    azure_types.MANAGED_CLUSTER: ("kubernetesVersion", "aadProfile", "disableLocalAccounts", "apiServerAccessProfile"),
    azure_types.MANAGED_ENVIRONMENT: ("workloadProfiles",),
}


@contextmanager
def there(azure: EmbeddedAzure, says: dict[str, Any], answers: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What a stack says, with everything there that it names, as the answers of look-ups show it. It goes afterwards, with its
    resource groups.

    The directory of the embedded Azure has identities and the login that brings stacks up. So users and groups are identities, a
    service principal is that login, and keys are those of the accounts.
    """
    made: dict[str, ArmId] = {}

    def put(named: Expected) -> None:
        for each in around(named.id):
            if each.key not in made:
                _put(azure, each, named, answers)
                made[each.key] = each

    try:
        for named in _named_in(says):
            put(named)
        text = json.dumps(says)
        for login in _listed(says, ("service_principals",)):
            text = text.replace(login, azure.principal_id)
        for person in _listed(says, ("users", "groups")):
            identity = identity_of(person)
            put(Expected(identity, "", says["location"]))
            principal = azure.get(identity.text, default_api_version(azure_types.USER_ASSIGNED_IDENTITY)).json()
            text = text.replace(person, principal["properties"]["principalId"])
        found = json.loads(text)
        for share in _shares_in(found):
            account = parse(f"{_ELSEWHERE}/Microsoft.Storage/storageAccounts/{share['account']}")
            assert account is not None
            put(Expected(account, "", says["location"]))
            azure.made(f"{account.text}/fileServices/default/shares/{share['share']}", {}, _STORAGE)
            share["key"] = azure.post(f"{account.text}/listKeys", _STORAGE).json()["keys"][0]["value"]
        yield found
    finally:
        for each in made.values():
            if each.is_type(azure_types.RESOURCE_GROUP.arm_type):
                assert azure.finished(azure.delete(each.text, GROUPS_VERSION))["status"] == "Succeeded"


def _listed(value: Any, keys: tuple[str, ...]) -> list[str]:
    """The texts of lists at these keys, at any depth."""
    if not isinstance(value, dict):
        return []
    return [text for key, each in value.items() for text in (each if key in keys else _listed(each, keys))]


def _shares_in(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from [each] if key == "azure_file" else _shares_in(each)


def _named_in(says: Mapping[str, Any]) -> Iterator[Expected]:
    for section, value in says.items():
        for text, location in _ids(value, says["location"]):
            if (parsed := parse(text)) is not None:
                yield Expected(parsed, section, location)


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


def _put(azure: EmbeddedAzure, each: ArmId, named: Expected, answers: Mapping[str, Any]) -> None:
    azure_type = _TYPES.get(each.type.lower())
    package, _, name = azure_type.token.rpartition(":") if azure_type is not None else ("", "", "")
    answer = answers.get(f"{package}:get{name}", {})
    decided = {key: answer[key] for key in _DECIDED.get(azure_type, ()) if key in answer} if azure_type is not None else {}
    requested = body_of(each, named, decided)
    if requested is not None:
        azure.made(each.text, *requested)
