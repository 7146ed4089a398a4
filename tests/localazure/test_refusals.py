"""What ARM refuses, by the status and the code that real ARM answers, as public error reports and ARM's RPC have them."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.localazure.conftest import GROUPS, new_group
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure

SUBSCRIPTION_ID = f"/subscriptions/{SUBSCRIPTION}"
IDENTITIES = "providers/Microsoft.ManagedIdentity/userAssignedIdentities"
IDENTITY_VERSION = "2023-01-31"
ACCOUNTS = "providers/Microsoft.Storage/storageAccounts"
STORAGE_VERSION = "2024-01-01"
ACCOUNT = {"location": "westeurope", "sku": {"name": "Standard_LRS"}, "kind": "StorageV2"}


def refusal(answer: Any) -> tuple[int, str]:
    assert answer.headers["content-type"].startswith("application/json"), answer.text
    return answer.status_code, answer.json()["error"]["code"]


def test_another_subscription_is_not_found(azure: EmbeddedAzure) -> None:
    answer = azure.get("/subscriptions/11111111-1111-1111-1111-111111111111/resourcegroups", GROUPS)
    assert refusal(answer) == (404, "SubscriptionNotFound")


def test_a_missing_api_version_is_named(azure: EmbeddedAzure, group: str) -> None:
    assert refusal(azure.client.get(f"{group}/{IDENTITIES}/x")) == (400, "MissingApiVersionParameter")
    assert refusal(azure.client.get("/subscriptions")) == (400, "MissingApiVersionParameter")


def test_an_unknown_api_version_names_the_supported_ones(azure: EmbeddedAzure, group: str) -> None:
    answer = azure.get(f"{group}/{IDENTITIES}/x", "2001-01-01")
    assert refusal(answer) == (400, "NoRegisteredProviderFound")
    assert "2023-01-31" in answer.json()["error"]["message"]
    assert refusal(azure.get(group, "2001-01-01")) == (400, "InvalidApiVersionParameter")


def test_what_is_not_there_is_not_found_in_arms_words(azure: EmbeddedAzure, group: str) -> None:
    answer = azure.get(f"{group}/{IDENTITIES}/nobody", IDENTITY_VERSION)
    assert refusal(answer) == (404, "ResourceNotFound")
    name = group.rsplit("/", 1)[1]
    start = f"The Resource 'Microsoft.ManagedIdentity/userAssignedIdentities/nobody' under resource group '{name}' was not found."
    assert answer.json()["error"]["message"].startswith(start)


def test_a_missing_group_is_not_found(azure: EmbeddedAzure) -> None:
    path = f"{SUBSCRIPTION_ID}/resourceGroups/nowhere"
    for answer in (
        azure.get(path, GROUPS),
        azure.delete(path, GROUPS),
        azure.put(f"{path}/{IDENTITIES}/x", {"location": "westeurope"}, IDENTITY_VERSION),
        azure.get(f"{path}/{IDENTITIES}/x", IDENTITY_VERSION),
        azure.get(f"{path}/{IDENTITIES}", IDENTITY_VERSION),
        azure.get(f"{path}/resources", GROUPS),
    ):
        assert refusal(answer) == (404, "ResourceGroupNotFound")
    assert azure.client.head(path, params={"api-version": GROUPS}).status_code == 404


def test_an_unknown_type_or_action_or_path_is_not_implemented_by_name(azure: EmbeddedAzure, group: str) -> None:
    asked = {
        "Microsoft.Foo/bars": azure.get(f"{group}/providers/Microsoft.Foo/bars/x", "2024-01-01"),
        "Microsoft.Foo/bars/parts": azure.get(f"{group}/providers/Microsoft.Foo/bars/x/parts/y", "2024-01-01"),
        "exportTemplate": azure.post(f"{group}/exportTemplate", GROUPS),
        "associatedResources": azure.post(f"{group}/{IDENTITIES}/x/associatedResources", IDENTITY_VERSION),
        "/providers/Microsoft.Foo": azure.get("/providers/Microsoft.Foo", "2024-01-01"),
    }
    for name, answer in asked.items():
        assert refusal(answer) == (501, "NotImplemented")
        assert name in answer.json()["error"]["message"]


@pytest.mark.parametrize("method", ["TRACE", "OPTIONS", "PROPFIND"])
def test_an_unknown_method_is_not_allowed(azure: EmbeddedAzure, group: str, method: str) -> None:
    assert azure.client.request(method, group, params={"api-version": GROUPS}).status_code == 405


def test_post_on_a_resource_is_not_allowed(azure: EmbeddedAzure, group: str) -> None:
    assert refusal(azure.post(group, GROUPS)) == (405, "MethodNotAllowed")


@pytest.mark.parametrize(
    "content",
    [
        *(b"{", b"[]", b'"text"', b"\xff\xfe", b'{"a":' * 200_000, b"null"),
        *(b'{"location": NaN}', b'{"location": 1e999}', b'{"tags": {"a": "\\ud800"}}', b'{"tags": {"\\uDFFF": "a"}}'),
    ],
)
def test_a_body_that_is_no_json_object_is_refused(azure: EmbeddedAzure, group: str, content: bytes) -> None:
    answer = azure.client.put(f"{group}/{IDENTITIES}/abc", params={"api-version": IDENTITY_VERSION}, content=content)
    assert refusal(answer) == (400, "InvalidRequestContent")


@pytest.mark.parametrize("character", "?#%")
def test_a_character_with_a_meaning_in_addresses_is_part_of_the_name(azure: EmbeddedAzure, character: str) -> None:
    name = f"rg{character}x"
    answer = azure.get(f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{quote(name)}", GROUPS)
    assert answer.json()["error"]["message"] == f"Resource group '{name}' could not be found."


def test_a_body_over_four_mebibytes_is_refused(azure: EmbeddedAzure, group: str) -> None:
    content = b'{"location":"' + b"x" * (4 * 1024 * 1024) + b'"}'
    answer = azure.client.put(f"{group}/{IDENTITIES}/abc", params={"api-version": IDENTITY_VERSION}, content=content)
    assert refusal(answer) == (413, "RequestEntityTooLarge")


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({**ACCOUNT, "properties": {"allowSharedKeyAccess": "yes"}}, "properties.allowSharedKeyAccess"),
        ({"location": "westeurope", "kind": "StorageV2"}, "sku"),
        ({**ACCOUNT, "tags": {"a": 1}}, "tags.a"),
        ({**ACCOUNT, "location": 7}, "location"),
    ],
)
def test_a_body_of_another_shape_is_refused_with_the_path(
    azure: EmbeddedAzure, group: str, body: dict[str, Any], path: str
) -> None:
    answer = azure.put(f"{group}/{ACCOUNTS}/abcshape", body, STORAGE_VERSION)
    assert refusal(answer) == (400, "InvalidRequestContent")
    assert answer.json()["error"]["details"][0]["target"] == path
    assert azure.get(f"{group}/{ACCOUNTS}/abcshape", STORAGE_VERSION).status_code == 404


def test_every_problem_of_a_body_is_named_at_once(azure: EmbeddedAzure, group: str) -> None:
    body = {**ACCOUNT, "kind": 1, "properties": {"accessTier": 2}}
    answer = azure.put(f"{group}/{ACCOUNTS}/abcshape", body, STORAGE_VERSION)
    assert {each["target"] for each in answer.json()["error"]["details"]} == {"kind", "properties.accessTier"}


@pytest.mark.parametrize("name", ["ab", "a" * 25, "With-Hyphen", "Upper1"])
def test_a_storage_name_outside_its_rule_is_refused(azure: EmbeddedAzure, group: str, name: str) -> None:
    answer = azure.put(f"{group}/{ACCOUNTS}/{name}", ACCOUNT, STORAGE_VERSION)
    assert refusal(answer) == (400, "AccountNameInvalid")
    assert "between 3 and 24 characters in length and use numbers and lower-case letters only" in answer.text


def test_an_identity_and_a_group_with_a_name_outside_the_rule_are_refused(azure: EmbeddedAzure, group: str) -> None:
    body = {"location": "westeurope"}
    assert refusal(azure.put(f"{group}/{IDENTITIES}/a", body, IDENTITY_VERSION)) == (400, "InvalidResourceName")
    answer = azure.put(f"{SUBSCRIPTION_ID}/resourceGroups/ends-in-a-period.", body, GROUPS)
    assert refusal(answer) == (400, "InvalidResourceGroup")


def test_a_region_that_is_not_there_is_refused(azure: EmbeddedAzure, group: str) -> None:
    answer = azure.put(f"{group}/{IDENTITIES}/abc", {"location": "atlantis"}, IDENTITY_VERSION)
    assert refusal(answer) == (400, "LocationNotAvailableForResourceType")
    assert "westeurope" in answer.json()["error"]["message"]
    answer = azure.put(f"{SUBSCRIPTION_ID}/resourceGroups/rg-atlantis", {"location": "atlantis"}, GROUPS)
    assert refusal(answer) == (400, "LocationNotAvailableForResourceGroup")


def test_a_missing_location_is_refused(azure: EmbeddedAzure, group: str) -> None:
    assert refusal(azure.put(f"{group}/{IDENTITIES}/abc", {}, IDENTITY_VERSION)) == (400, "LocationRequired")


def test_another_location_for_what_is_there_is_a_conflict(azure: EmbeddedAzure, group: str) -> None:
    path = f"{group}/{IDENTITIES}/moves"
    assert azure.put(path, {"location": "westeurope"}, IDENTITY_VERSION).status_code == 201
    answer = azure.put(path, {"location": "eastus"}, IDENTITY_VERSION)
    assert refusal(answer) == (409, "InvalidResourceLocation")
    assert refusal(azure.put(group, {"location": "eastus"}, GROUPS)) == (409, "InvalidResourceGroupLocation")


def test_a_storage_name_is_taken_in_all_groups(azure: EmbeddedAzure, group: str) -> None:
    name = f"taken{group[-8:]}"
    azure.made(f"{group}/{ACCOUNTS}/{name}", ACCOUNT, STORAGE_VERSION)
    answer = azure.put(f"{new_group(azure)}/{ACCOUNTS}/{name}", ACCOUNT, STORAGE_VERSION)
    assert refusal(answer) == (409, "StorageAccountAlreadyTaken")
    assert answer.json()["error"]["message"] == f"The storage account named {name} is already taken."


def test_a_scope_below_nothing_is_refused(azure: EmbeddedAzure, group: str) -> None:
    answer = azure.get(f"{group}/{ACCOUNTS}/nobody/providers/Microsoft.Authorization/roleAssignments", "2022-04-01")
    assert answer.status_code == 404


def test_too_many_or_too_long_tags_are_refused(azure: EmbeddedAzure, group: str) -> None:
    many = {f"t{number}": "" for number in range(51)}
    assert refusal(azure.patch(group, {"tags": many}, GROUPS)) == (400, "InvalidTags")
    assert refusal(azure.patch(group, {"tags": {"a": "x" * 257}}, GROUPS)) == (400, "InvalidTagValue")
    assert refusal(azure.patch(group, {"tags": {"x" * 513: ""}}, GROUPS)) == (400, "InvalidTagName")


def test_a_filter_that_is_not_understood_is_refused(azure: EmbeddedAzure) -> None:
    answer = azure.get(f"{SUBSCRIPTION_ID}/resources", GROUPS, **{"$filter": "substringof('a', name)"})
    assert refusal(answer) == (400, "InvalidFilterInQueryString")


def test_each_answer_says_that_it_is_local_and_carries_its_ids(azure: EmbeddedAzure, group: str) -> None:
    with azure.http() as anonymous:
        refused = anonymous.get(group, headers={"x-ms-client-request-id": "mine"})
    answer = azure.client.get(group, params={"api-version": GROUPS}, headers={"x-ms-client-request-id": "mine"})
    for each in (refused, answer):
        assert each.headers["x-local-azure"] == "embedded"
        assert each.headers["x-ms-client-request-id"] == "mine"
        assert each.headers["x-ms-request-id"]
        assert each.headers["x-ms-correlation-request-id"]
