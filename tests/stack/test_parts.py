"""What a company already has, what it may not do, and what nobody may read."""

import json
import uuid
from typing import Any

import pytest

from azure_gpu.catalog import roles
from tests.stack.configurations import with_gpu_group
from tests.stack.conftest import MakeStack
from tests.support.embedded import SUBSCRIPTION, ServedAzure
from tests.support.stack import ProgramStack

pytestmark = pytest.mark.slow  # each brings a stack up more than once

GROUPS = "2024-03-01"
IDENTITIES = "2023-01-31"


def test_existing_parts_are_used_and_neither_changed_nor_deleted_and_a_secret_is_nowhere_in_plain_text(
    azure: ServedAzure, make_stack: MakeStack
) -> None:
    group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-{uuid.uuid4().hex[:8]}"
    identity = f"{group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/theirs"
    assert azure.put(group, {"location": "eastus", "tags": {"owner": "them"}}, GROUPS).status_code == 201
    assert azure.put(identity, {"location": "eastus"}, IDENTITIES).status_code == 201
    before = [azure.get(group, GROUPS).json(), azure.get(identity, IDENTITIES).json()]

    secret = f"hunter2-{uuid.uuid4().hex}"
    config: dict[str, Any] = with_gpu_group(azure, secret_environment={"TOKEN": secret})
    config["foundation"] |= {"resource_group": {"existing": group}, "identity": {"existing": identity}}
    stack = make_stack(azure, config)
    done = stack.up()
    assert done.returncode == 0, done.stdout + done.stderr
    used = azure.get(stack.outputs()["container_groups"]["adder"], "2023-05-01").json()
    assert used["id"].lower().startswith(group.lower() + "/")
    assert [each.lower() for each in used["identity"]["userAssignedIdentities"]] == [identity.lower()]
    _is_nowhere(azure, stack, secret, used, done.stdout + done.stderr)

    assert stack.down().returncode == 0
    assert [azure.get(group, GROUPS).json(), azure.get(identity, IDENTITIES).json()] == before
    left = azure.get(f"{group}/resources", "2024-11-01").json()["value"]
    assert [each["id"].lower() for each in left] == [identity.lower()]


def _is_nowhere(azure: ServedAzure, stack: ProgramStack, secret: str, group: dict[str, Any], said: str) -> None:
    """The container group's secret, and the key of the workspace that keeps its logs."""
    preview = stack.pulumi("preview", "--diff")
    workspace = _workspace(stack.exported())
    setting = azure.get(f"{group['id']}/providers/Microsoft.Insights/diagnosticSettings/logs", "2021-05-01-preview").json()
    assert setting["properties"]["workspaceId"].lower() == workspace.lower(), "its logs go there without the key"
    key = azure.post(f"{workspace}/sharedKeys", "2023-09-01").json()["primarySharedKey"]
    for what, text in {
        "state": json.dumps(stack.exported()),
        "output": said,
        "preview": preview.stdout + preview.stderr,
        "answer": json.dumps(group),
        "server's log": (azure.state / "logs" / "azure.log").read_text(),
    }.items():
        assert secret not in text, f"the secret is in the {what}"
        assert key not in text, f"the workspace's key is in the {what}"
    variables = group["properties"]["containers"][0]["properties"]["environmentVariables"]
    assert variables == [{"name": "TOKEN"}]


def test_two_stacks_share_an_identity_and_a_registry_and_neither_takes_the_other_s_role(
    azure: ServedAzure, make_stack: MakeStack
) -> None:
    group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg-{uuid.uuid4().hex[:8]}"
    identity = f"{group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/theirs"
    registry = f"{group}/providers/Microsoft.ContainerRegistry/registries/acr{uuid.uuid4().hex[:8]}"
    abac = {"location": "eastus", "sku": {"name": "Basic"}, "properties": {"roleAssignmentMode": "AbacRepositoryPermissions"}}
    assert azure.put(group, {"location": "eastus"}, GROUPS).status_code == 201
    assert azure.put(identity, {"location": "eastus"}, IDENTITIES).status_code == 201
    assert azure.put(registry, abac, "2026-09-01-preview").status_code < 300
    role = "azure-native:authorization:RoleAssignment"

    def assigned() -> list[tuple[str, str]]:
        found = azure.get(f"{registry}/providers/Microsoft.Authorization/roleAssignments", "2022-04-01").json()["value"]
        here = [each for each in found if each["properties"]["scope"] == registry]
        return [(each["name"], each["properties"]["roleDefinitionId"][-36:]) for each in here]

    parts = {"identity": {"existing": identity}, "registry": {"existing": registry}}
    config: dict[str, Any] = {"team": "vision", "location": "eastus", "foundation": parts}
    first, second = make_stack(azure, config), make_stack(azure, config)
    for stack in (first, second):
        done = stack.up()
        assert done.returncode == 0, done.stdout + done.stderr
    [(name, given)] = assigned()
    assert given == roles.REPOSITORY_READER, "the registry honours AcrPull no more"
    assert [role in {each["type"] for each in stack.exported()["resources"]} for stack in (first, second)] == [True, False]
    assert second.steps() == []
    # As before names followed from anything: the state has another one, which Azure shows, too.
    _rename(azure, first, registry, name)
    assert first.steps() == [], "the role of one's own is found, and stays declared"
    assert second.down().returncode == 0
    assert len(assigned()) == 1, "what is another stack's stays"
    assert first.down().returncode == 0
    assert assigned() == []


def _rename(azure: ServedAzure, stack: ProgramStack, scope: str, name: str) -> None:
    """Gives the stack's role assignment another name, in Azure and in its state."""
    place, other = f"{scope}/providers/Microsoft.Authorization/roleAssignments", str(uuid.uuid4())
    properties = azure.get(f"{place}/{name}", "2022-04-01").json()["properties"]
    kept = {key: properties[key] for key in ("roleDefinitionId", "principalId", "principalType")}
    assert azure.delete(f"{place}/{name}", "2022-04-01").status_code == 200
    assert azure.put(f"{place}/{other}", {"properties": kept}, "2022-04-01").status_code == 201
    stack.imports(json.loads(json.dumps(stack.exported()).replace(name, other)))


def test_without_the_right_to_assign_roles_the_commands_are_printed(azure: ServedAzure, make_stack: MakeStack) -> None:
    stack = make_stack(azure, with_gpu_group(azure) | {"assign_roles": False})
    done = stack.operations("preview")
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout + done.stderr
    assert "az role assignment create" in said
    assert "--role AcrPull" in said


def _workspace(deployment: dict[str, Any]) -> str:
    return next(each["id"] for each in deployment["resources"] if each["type"] == "azure-native:operationalinsights:Workspace")
