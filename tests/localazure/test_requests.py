"""Requests that ARM refuses whatever they are for, where a table has no words for it, and the headers of its answers."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.localazure.conftest import GROUPS
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure

IDENTITIES = "providers/Microsoft.ManagedIdentity/userAssignedIdentities"
IDENTITY_VERSION = "2023-01-31"


def refusal(answer: Any) -> tuple[int, str]:
    assert answer.headers["content-type"].startswith("application/json"), answer.text
    return answer.status_code, answer.json()["error"]["code"]


@pytest.mark.parametrize("method", ["TRACE", "OPTIONS", "PROPFIND"])
def test_an_unknown_method_is_not_allowed(azure: EmbeddedAzure, group: str, method: str) -> None:
    assert azure.client.request(method, group, params={"api-version": GROUPS}).status_code == 405


def test_a_body_that_is_too_deep_is_refused(azure: EmbeddedAzure, group: str) -> None:
    content = b'{"a":' * 200_000
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


def test_too_many_or_too_long_tags_are_refused(azure: EmbeddedAzure, group: str) -> None:
    many = {f"t{number}": "" for number in range(51)}
    assert refusal(azure.patch(group, {"tags": many}, GROUPS)) == (400, "InvalidTags")
    assert refusal(azure.patch(group, {"tags": {"a": "x" * 257}}, GROUPS)) == (400, "InvalidTagValue")
    assert refusal(azure.patch(group, {"tags": {"x" * 513: ""}}, GROUPS)) == (400, "InvalidTagName")
