"""The name of a role assignment: the same whenever the same stack makes it, and one that is there stays under its own."""

import uuid
from collections.abc import Callable

import pulumi
import pytest

from azure_gpu.catalog import roles
from azure_gpu.shared import role_of_identity
from tests.components.recording import ROLE_ASSIGNMENT, UNKNOWN, declare

SCOPE = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/s"
WHO = "99999999-8888-7777-6666-555555555555"


def assigned(role: str = roles.ACR_PULL, scope: pulumi.Input[str] = SCOPE, who: pulumi.Input[str] = WHO) -> Callable[[], None]:
    def build() -> None:
        role_of_identity.assign(
            "one", role=role, scope=scope, principal_id=who, subscription_id="", opts=pulumi.ResourceOptions(protect=True)
        )

    return build


def name_of(build: Callable[[], None]) -> str:
    return declare(build).one(ROLE_ASSIGNMENT).inputs["roleAssignmentName"]


def test_a_name_is_a_guid_of_who_role_scope_and_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    name = name_of(assigned())
    assert str(uuid.UUID(name)) == name
    assert name_of(assigned()) == name_of(assigned(scope=SCOPE.upper(), who=WHO.upper())) == name
    others = [assigned(role=roles.READER), assigned(scope=f"{SCOPE}2"), assigned(who=WHO.replace("9", "8"))]
    monkeypatch.setattr(pulumi, "get_stack", lambda: "another")
    assert len({name, name_of(assigned()), *map(name_of, others)}) == 5


def test_a_name_follows_from_what_only_creating_tells() -> None:
    def late() -> None:
        assigned(who=pulumi.Output.from_input(WHO))()

    assert name_of(late) == name_of(assigned())


def test_one_that_is_there_keeps_its_name_and_another_stands_beside_it_first() -> None:
    one = declare(assigned()).one(ROLE_ASSIGNMENT)
    assert one.ignore_changes == ["roleAssignmentName"]
    assert not one.delete_before_replace
    assert one.protect, "options are merged"
    assert one.inputs["roleAssignmentName"] != UNKNOWN
