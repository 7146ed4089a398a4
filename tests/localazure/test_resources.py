"""Resources through their lives: created, read, changed, listed, deleted with what lies below."""

import pytest

from tests.localazure.conftest import GROUPS, new_group
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure

SUBSCRIPTION_ID = f"/subscriptions/{SUBSCRIPTION}"
IDENTITIES = "providers/Microsoft.ManagedIdentity/userAssignedIdentities"
VERSION = "2023-01-31"
BODY = {"location": "West Europe", "tags": {"team": "vision"}}


def test_one_resource_is_readable_under_several_api_versions(azure: EmbeddedAzure, group: str) -> None:
    path = f"{group}/{IDENTITIES}/trainer"
    azure.put(path, BODY, VERSION)
    assert azure.get(path, "2018-11-30").json() == azure.get(path, "2024-11-30").json()


def test_paths_are_compared_without_case_and_answered_as_first_stored(azure: EmbeddedAzure, group: str) -> None:
    stored = azure.put(f"{group.replace('resourceGroups', 'resourcegroups')}//{IDENTITIES}/Trainer", BODY, VERSION).json()["id"]
    assert stored == f"{group}/{IDENTITIES}/Trainer"
    odd = f"{group}/{IDENTITIES}/TRAINER".upper().replace("/PROVIDERS/", "//providers///")
    assert azure.get(odd, VERSION).json()["id"] == stored
    assert azure.put(odd, BODY, VERSION).json()["id"] == stored
    assert azure.delete(odd, VERSION).status_code == 200
    assert azure.get(stored, VERSION).status_code == 404


def test_patch_changes_what_it_names_and_replaces_all_tags(azure: EmbeddedAzure, group: str) -> None:
    azure.patch(group, {"tags": {"a": "1", "b": "2"}}, GROUPS)
    answer = azure.patch(group, {"tags": {"b": "3"}}, GROUPS)
    assert answer.status_code == 200
    assert answer.json()["tags"] == {"b": "3"}
    assert answer.json()["location"] == "westeurope"


def test_a_null_counts_as_not_given(azure: EmbeddedAzure, group: str) -> None:
    answer = azure.put(f"{group}/{IDENTITIES}/trainer", {"location": "westeurope", "tags": None}, VERSION)
    assert answer.status_code == 201
    assert "tags" not in answer.json()


def test_head_says_whether_something_is_there(azure: EmbeddedAzure, group: str) -> None:
    for path, status, version in ((group, 204, GROUPS), (f"{group}x", 404, GROUPS), (f"{group}/{IDENTITIES}/no", 404, VERSION)):
        answer = azure.client.head(path, params={"api-version": version})
        assert (answer.status_code, answer.content) == (status, b"")


def test_deleting_a_group_takes_everything_with_it(azure: EmbeddedAzure, group: str) -> None:
    other = new_group(azure)
    created = azure.put(f"{group}/{IDENTITIES}/trainer", BODY, VERSION).json()
    assignment = f"{created['id']}/providers/Microsoft.Authorization/roleAssignments/0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3"
    reader = f"{SUBSCRIPTION_ID}/providers/Microsoft.Authorization/roleDefinitions/acdd72a7-3385-48ef-bd42-f606fba81ae7"
    properties = {"principalId": created["properties"]["principalId"], "roleDefinitionId": reader}
    assert azure.put(assignment, {"properties": properties}, "2022-04-01").status_code == 201
    azure.put(f"{other}/{IDENTITIES}/trainer", BODY, VERSION)

    answer = azure.delete(group, GROUPS)
    assert answer.status_code == 202
    assert answer.headers["retry-after"] == "1"
    assert azure.finished(answer)["status"] == "Succeeded"
    assert azure.client.get(answer.headers["location"]).status_code == 200

    assert azure.get(group, GROUPS).status_code == 404
    assert new_group_again(azure, group)["properties"]["provisioningState"] == "Succeeded"
    assert azure.get(f"{group}/{IDENTITIES}", VERSION).json()["value"] == []
    assert azure.get(created["id"], VERSION).status_code == 404
    assert azure.get(assignment, "2022-04-01").status_code == 404
    assert azure.get(f"{other}/{IDENTITIES}/trainer", VERSION).status_code == 200


def new_group_again(azure: EmbeddedAzure, group: str) -> dict[str, dict[str, str]]:
    return azure.put(group, {"location": "westeurope"}, GROUPS).json()


def test_lists_hold_what_lies_below_their_scope(azure: EmbeddedAzure, group: str) -> None:
    other = new_group(azure)
    for scope in (group, other):
        azure.put(f"{scope}/{IDENTITIES}/trainer", BODY, VERSION)
    assert [each["id"] for each in azure.get(f"{group}/{IDENTITIES}", VERSION).json()["value"]] == [
        f"{group}/{IDENTITIES}/trainer"
    ]
    everywhere = {each["id"] for each in azure.get(f"{SUBSCRIPTION_ID}/{IDENTITIES}", VERSION).json()["value"]}
    assert {f"{group}/{IDENTITIES}/trainer", f"{other}/{IDENTITIES}/trainer"} <= everywhere


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("", True),
        ("resourceType eq 'microsoft.managedidentity/USERASSIGNEDIDENTITIES'", True),
        ("resourceType eq 'Microsoft.Storage/storageAccounts'", False),
        ("tagName eq 'Team' and tagValue eq 'vision'", True),
        ("tagName eq 'team' and tagValue eq 'Vision'", False),
        ("tagName eq 'owner'", False),
        ("name eq 'trainer' and location eq 'westeurope'", True),
        ("resourceGroup eq 'another'", False),
    ],
)
def test_resources_are_filtered(azure: EmbeddedAzure, group: str, condition: str, found: bool) -> None:
    azure.put(f"{group}/{IDENTITIES}/trainer", BODY, VERSION)
    query = {"$filter": condition} if condition else {}
    value = azure.get(f"{group}/resources", GROUPS, **query).json()["value"]
    assert [each["name"] for each in value] == (["trainer"] if found else [])


def test_the_list_that_az_sends_finds_the_groups_resources(azure: EmbeddedAzure, group: str) -> None:
    azure.put(f"{group}/{IDENTITIES}/trainer", BODY, VERSION)
    query = {"$filter": f"resourceGroup eq '{group[-15:]}'", "$expand": "createdTime,changedTime,provisioningState"}
    (found,) = azure.get(f"{SUBSCRIPTION_ID}/resources", "2024-11-01", **query).json()["value"]
    assert {"createdTime", "changedTime", "provisioningState"} <= set(found)
    assert "properties" not in found


def test_groups_are_listed_by_tag(azure: EmbeddedAzure) -> None:
    tagged = new_group(azure, tags={"owner": "nobody-else"})
    query = {"$filter": "tagName eq 'owner' and tagValue eq 'nobody-else'"}
    assert [each["id"] for each in azure.get(f"{SUBSCRIPTION_ID}/resourcegroups", GROUPS, **query).json()["value"]] == [tagged]


def test_providers_say_which_types_and_versions_there_are(azure: EmbeddedAzure) -> None:
    answer = azure.get(f"{SUBSCRIPTION_ID}/providers/microsoft.managedidentity", "2022-09-01").json()
    (identities,) = [each for each in answer["resourceTypes"] if each["resourceType"] == "userAssignedIdentities"]
    assert VERSION in identities["apiVersions"]
    assert "westeurope" in identities["locations"]
    missing = azure.get(f"{SUBSCRIPTION_ID}/providers/Microsoft.Foo", "2022-09-01")
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "InvalidResourceNamespace")
