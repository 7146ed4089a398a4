"""A role that is somebody else's assignment isn't declared, and one that may be the stack's own always is."""

from typing import Any

import pulumi
import pytest

from azure_gpu.catalog import roles
from azure_gpu.formats import arm_ids
from azure_gpu.foundation.foundation import Foundation
from azure_gpu.shared import arm_reads, assigned_already
from azure_gpu.shared.look_up import OF_STACK, AskedBy
from azure_gpu.shared.role_of_identity import name_of
from azure_gpu.shared.wired import Wired
from tests.components.recording import KEYS, SUBSCRIPTION, Recorded, declare
from tests.components.settings_of import STACK_ARGS

COMPANY = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/company/providers"
REGISTRY = f"{COMPANY}/Microsoft.ContainerRegistry/registries/images"
IDENTITY = f"{COMPANY}/Microsoft.ManagedIdentity/userAssignedIdentities/runner"
WHO = "principal-of-runner"
THEIRS = "0b8e4c1a-0000-4000-8000-000000000001"
OUTPUTS, RESOURCES = "pulumi:pulumi:readStackOutputs", "pulumi:pulumi:readStackResourceOutputs"


def assignment(name: str = THEIRS, role: str = roles.ACR_PULL, **properties: str) -> dict[str, Any]:
    return {"name": name, "properties": {"roleDefinitionId": roles.definition_id(SUBSCRIPTION, role).upper(), **properties}}


def state_with(*names: str) -> dict[str, Any]:
    found = {each: {"type": "azure-native:authorization:RoleAssignment", "outputs": {"name": each}} for each in names}
    return {OUTPUTS: {"outputs": {"resource_group": "g"}}, RESOURCES: {"outputs": found}}


NEW: dict[str, Any] = {OUTPUTS: {"outputs": {}}}  # a stack that has never been up; the engine fails to list its resources


def is_theirs(
    monkeypatch: pytest.MonkeyPatch,
    listed: list[dict[str, Any]] | Exception,
    state: dict[str, Any],
    asked_by: AskedBy = OF_STACK,
    *,
    of_stack_file: bool = True,
) -> bool:
    def get(path: str, api_version: str, asks: object, query: dict[str, str]) -> dict[str, Any]:
        assert (path, api_version) == (f"{REGISTRY}/providers/Microsoft.Authorization/roleAssignments", "2022-04-01")
        assert query == {"$filter": f"atScope() and assignedTo('{WHO}')"}
        if isinstance(listed, Exception):
            raise listed
        return {"value": listed}

    monkeypatch.setattr(arm_reads, "get", get)
    scope = arm_ids.parse(REGISTRY)
    assert scope is not None
    found: list[bool] = []

    def build() -> None:
        found.append(
            assigned_already.outside_of_stack(roles.ACR_PULL, scope, WHO, asked_by, SUBSCRIPTION, of_stack_file=of_stack_file)
        )

    declare(build, lookups=state)
    return found[0]


def test_another_s_assignment_is_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_theirs(monkeypatch, [assignment()], NEW)
    assert is_theirs(monkeypatch, [assignment()], state_with("another"))


@pytest.mark.parametrize(
    "listed",
    [
        [],
        [assignment(role=roles.READER)],
        [assignment(condition="@Resource[x] StringEquals 'y'")],
        arm_reads.UnreadableError("no"),
    ],
    ids=["none", "another role", "under a condition", "not readable"],
)
def test_what_isn_t_there_is_declared(monkeypatch: pytest.MonkeyPatch, listed: Any) -> None:
    assert not is_theirs(monkeypatch, listed, NEW)


def test_what_may_be_the_stack_s_own_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    own: list[str] = []
    declare(lambda: own.append(name_of(roles.ACR_PULL, REGISTRY, WHO)))
    assert not is_theirs(monkeypatch, [assignment(), assignment(own[0])], NEW), "it has the name that this stack gives"
    assert not is_theirs(monkeypatch, [assignment()], state_with(THEIRS)), "the state has it, under the provider's name"
    assert not is_theirs(monkeypatch, [assignment()], {}), "the state can't be read"
    assert not is_theirs(monkeypatch, [assignment()], NEW, of_stack_file=False), "a program may have no outputs"
    elsewhere = AskedBy(as_configured=False)
    assert not is_theirs(monkeypatch, [assignment()], NEW, elsewhere), "another login than the configuration's"


def on_the_company_s(monkeypatch: pytest.MonkeyPatch, mode: str, *listed: dict[str, Any], assign_roles: bool = True) -> Recorded:
    def get(path: str, api_version: str, *_: object) -> dict[str, Any]:
        if path == REGISTRY and api_version == "2025-04-01":
            return {"properties": {"roleAssignmentMode": mode}}
        return {"value": list(listed)}

    monkeypatch.setattr(arm_reads, "get", get)
    answers = {
        **KEYS,
        **NEW,
        "azure-native:managedidentity:getUserAssignedIdentity": {"id": IDENTITY, "principalId": WHO, "clientId": "c"},
        "azure-native:containerregistry:getRegistry": {"id": REGISTRY, "loginServer": "images.azurecr.io"},
    }
    args: Any = {
        "stack": STACK_ARGS,
        "identity": {"existing": IDENTITY},
        "registry": {"existing": REGISTRY},
        "assign_roles": assign_roles,
    }
    return declare(lambda: Foundation("foundation", Wired(args)), lookups=answers)


def test_a_foundation_leaves_another_s_role_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = on_the_company_s(monkeypatch, "LegacyRegistryPermissions", assignment())
    assert recorded.roles == []
    assert "the identity already has the role AcrPull on images, assigned outside of this stack" in recorded.log
    assert [role.role for role in on_the_company_s(monkeypatch, "LegacyRegistryPermissions").roles] == ["AcrPull"]


def test_who_has_the_data_of_an_account_already_keeps_it_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    me = "aaaaaaaa-2222-3333-4444-555555555555"
    given = [assignment(role=roles.STORAGE_BLOB_DATA_CONTRIBUTOR)]

    def declared() -> Recorded:
        monkeypatch.setattr(arm_reads, "get", lambda *_: {"value": given})
        args: Any = {"stack": STACK_ARGS, "storage": {"create": True, "data_access": {"users": [me]}}}
        return declare(lambda: Foundation("foundation", Wired(args)), lookups=NEW)

    assert declared().roles == []
    given.clear()
    assert [role[:3] for role in declared().roles] == [(me, "Storage Blob Data Contributor", "foundation-storage")]


def test_a_registry_with_conditions_for_repositories_gets_the_role_that_it_honours(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = on_the_company_s(monkeypatch, roles.ABAC, assignment())
    assert [role.role for role in recorded.roles] == ["Container Registry Repository Reader"]
    told = on_the_company_s(monkeypatch, roles.ABAC, assign_roles=False).log
    assert any("--role 'Container Registry Repository Reader'" in line for line in told)


def test_a_token_goes_to_the_cloud_of_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def answer(request: Any, _: float) -> bytes:
        asked.append((request.full_url, request.headers.get("Authorization", "")))
        return b'{"resourceManager": "https://arm.local/"}'

    monkeypatch.setattr(arm_reads, "_sent_once", answer)
    answers = {"azure-native:authorization:getClientToken": {"token": "one"}}
    for variables in ({}, {"ARM_METADATA_HOSTNAME": "meta.local"}, {"ARM_ENVIRONMENT": "china"}):
        for key in ("ARM_METADATA_HOSTNAME", "ARM_ENVIRONMENT"):
            monkeypatch.setenv(key, variables.get(key, ""))

        def build() -> None:
            try:
                arm_reads.get("/a b", "1", pulumi.InvokeOptions(), {"$filter": "x eq 'y'"})
            except arm_reads.UnreadableError as error:
                asked.append((str(error), ""))

        declare(build, lookups=answers)
    assert asked == [
        ("https://management.azure.com/a%20b?%24filter=x%20eq%20%27y%27&api-version=1", "Bearer one"),
        ("https://meta.local/metadata/endpoints?api-version=2022-09-01", ""),
        ("https://arm.local/a%20b?%24filter=x%20eq%20%27y%27&api-version=1", "Bearer one"),
        ("the Resource Manager endpoint of the cloud china isn't known", ""),
    ]


def test_nothing_is_asked_without_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arm_reads, "_sent_once", lambda *_: pytest.fail("Azure was asked"))

    def build() -> None:
        with pytest.raises(arm_reads.UnreadableError, match="not logged in"):
            arm_reads.get("/a", "1", pulumi.InvokeOptions())

    declare(build)
    declare(build, lookups={"azure-native:authorization:getClientToken": {"id": "one"}})
