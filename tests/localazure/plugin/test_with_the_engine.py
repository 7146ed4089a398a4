"""A small program of its own on the real engine: what the gRPC tests can't show is whether the engine understands the answers.

The project's own program and its life are in `tests/stack`.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import warm_python
from tests.support.embedded import SECOND_SUBSCRIPTION, SUBSCRIPTION, ServedAzure
from tests.support.small_stack import RUN, SmallStack
from tests.support.stack import connected_environment, connection_keys

PROGRAM = """
import pulumi
from pulumi_azure_native import authorization, managedidentity, resources, storage

config = pulumi.Config()
me = authorization.get_client_config()
group = resources.ResourceGroup("small", location="West Europe")
who = managedidentity.UserAssignedIdentity("who", resource_group_name=group.name)
store = storage.StorageAccount(
    "store",
    account_name=config.get("account"),
    resource_group_name=group.name,
    kind="StorageV2",
    sku={"name": "Standard_LRS"},
    allow_blob_public_access=config.get_bool("public") or False,
)
authorization.RoleAssignment(
    "reader",
    scope=store.id,
    principal_id=who.principal_id,
    principal_type="ServicePrincipal",
    role_definition_id=f"/subscriptions/{me.subscription_id}/providers/Microsoft.Authorization/roleDefinitions/"
    "acdd72a7-3385-48ef-bd42-f606fba81ae7",
)
pulumi.export("storeId", store.id)
pulumi.export("groupLocation", resources.get_resource_group_output(resource_group_name=group.name).location)
"""


class Connected(SmallStack):
    """With the embedded Azure."""

    def __init__(self, folder: Path, azure: ServedAzure, engine_bin: Path) -> None:
        super().__init__(folder, warm_python.warmed(connected_environment(azure, engine_bin)), PROGRAM)
        self.set(**connection_keys(azure))

    def set(self, **values: str) -> None:
        for key, value in values.items():
            self.run("config", "set", key, value)

    def resource(self, name: str) -> dict[str, Any]:
        exported = json.loads(self.run("stack", "export"))
        (found,) = (each for each in exported["deployment"]["resources"] if each["urn"].endswith(f"::{name}"))
        return found


@pytest.fixture
def stack(tmp_path: Path, azure: ServedAzure, engine_bin: Path) -> Connected:
    return Connected(tmp_path, azure, engine_bin)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_stack_lives_from_preview_to_destroy(stack: Connected) -> None:
    assert set(stack.operations().values()) == {"create"}
    stack.run("up", *RUN)
    assert json.loads(stack.run("stack", "output", "--json"))["groupLocation"] == "westeurope"
    stack.run("preview", "--expect-no-changes")
    stack.run("refresh", "--yes", "--expect-no-changes")

    stack.set(public="true")
    assert stack.operations() == {"store": "update"}
    stack.set(account="mystore1234")
    # A role assignment's scope is part of its id.
    assert stack.operations() == {"store": "replace", "reader": "replace"}
    stack.run("up", *RUN)
    stack.run("preview", "--expect-no-changes")
    stack.run("destroy", *RUN)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_lost_create_is_completed_and_an_import_changes_nothing(stack: Connected, azure: ServedAzure) -> None:
    lost = azure.command("fault", "lose-answer", "--method", "PUT", "--path", "*/storageAccounts/*", "--count", "0")
    assert lost.returncode == 0
    shown = stack.run("up", *RUN, expected=1)
    assert "the connection to Azure was lost after the request was sent" in shown
    assert azure.command("fault", "clear").returncode == 0
    half = stack.resource("store")
    assert half["initErrors"]
    stack.run("up", *RUN)
    assert stack.resource("store")["id"] == half["id"], "completed, not made again"
    stack.run("preview", "--expect-no-changes")

    stack.run("state", "delete", stack.resource("who")["urn"], "--yes", "--target-dependents")
    identity = f"{stack.resource('small')['id']}/providers/Microsoft.ManagedIdentity/userAssignedIdentities"
    listed = azure.get(identity, "2023-01-31").json()["value"]
    stack.run(
        "import",
        "azure-native:managedidentity:UserAssignedIdentity",
        "who",
        listed[0]["id"],
        "--yes",
        "--generate-code=false",
        "--protect=false",
    )
    assert stack.resource("who")["inputs"]["resourceName"] == listed[0]["name"]
    stack.run("destroy", *RUN)


@pytest.mark.slow
def test_a_real_subscription_is_refused_in_one_clear_message(stack: Connected) -> None:
    stack.run("config", "set", "azure-native:subscriptionId", "8a8b7d1c-0000-4000-8000-000000000001")
    shown = stack.run("preview", expected=1)
    assert f"subscription {SUBSCRIPTION} or {SECOND_SUBSCRIPTION}" in shown
    assert "Traceback" not in shown
